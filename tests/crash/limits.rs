//! Limits of the operating system, for real: files that may not grow, descriptors that run out.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use super::scene::{Act, Scene};
use super::stepper::each;

fn limit(scene: &Scene, resource: Resource, most: Option<u64>) {
    let pid = Pid::from_raw(scene.server.process().0 as i32);
    prlimit(pid, resource, Rlimit { current: most, maximum: None }).expect("the limit of a child can be set");
}

/// Every write that would pass the limit is cut short and the next one fails: a short write at every place.
#[test]
fn a_file_size_limit_is_an_error_and_not_the_end() {
    let sizes: Vec<u64> = (0..1400).step_by(if super::is_full() { 10 } else { 100 }).collect();
    each(&sizes, |&size| {
        let scene = Scene::prepare(Act::Sync);
        limit(&scene, Resource::Fsize, Some(size));
        let answer = scene.perform().expect("the server outlives it");
        limit(&scene, Resource::Fsize, None);
        if size < 300 {
            assert_eq!(answer["result"]["isError"], true, "{size} bytes: {answer}");
        }
        scene.server.call("zipfs_status", json!({})).value();
        scene.check(&format!("sync with files of {size} bytes at most"));
    });
}

#[test]
fn running_out_of_descriptors_is_an_error_and_not_the_end() {
    let spare: Vec<u64> = (0..16).step_by(if super::is_full() { 1 } else { 4 }).collect();
    each(&spare, |&spare| {
        let scene = Scene::prepare(Act::Sync);
        let (_, usual) = (0, rustix::process::getrlimit(Resource::Nofile).current);
        let open = scene.server.process().descriptors() as u64;
        prlimit(
            Pid::from_raw(scene.server.process().0 as i32),
            Resource::Nofile,
            Rlimit { current: Some(open + spare), maximum: usual },
        )
        .expect("the limit of a child can be set");
        let _ = scene.perform().expect("the server outlives it");
        prlimit(Pid::from_raw(scene.server.process().0 as i32), Resource::Nofile, Rlimit { current: usual, maximum: usual })
            .expect("the limit of a child can be set");
        scene.server.call("zipfs_status", json!({})).value();
        scene.check(&format!("sync with {spare} descriptors to spare"));
    });
}
