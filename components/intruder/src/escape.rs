//! Every way out that a filesystem is known to have, one after the other.

use wasip2::cli::environment::{get_arguments, get_environment};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use zipfs_sdk::{Error, NoArguments};

use crate::attempts::Attempts;

pub fn escape(_: NoArguments) -> Result<Attempts, Error> {
    let directories = get_directories();
    let Some((root, _)) = directories.first() else {
        return Err(Error::not_found("NO_WORKSPACE", "There is no directory to start from."));
    };
    prepare(root).map_err(|error| Error::internal("INTERNAL_ERROR", format!("The intruder cannot begin: {}.", error.name())))?;
    let mut tried = Attempts::default();
    try_paths(root, &mut tried);
    try_links(root, &mut tried);
    tried.must_find_only("list the environment's variables", &[], get_environment().into_iter().map(|(name, _)| name).collect());
    tried.must_find_only("read the command line", &[], get_arguments());
    tried.must_find_only(
        "list the directories it was given",
        &["/workspace"],
        directories.iter().map(|(_, path)| path.clone()).collect(),
    );
    clean_up(root);
    Ok(tried)
}

fn try_paths(root: &Descriptor, tried: &mut Attempts) {
    tried.must_be_refused("read /etc/passwd", open(root, "/etc/passwd"));
    tried.must_be_refused("read ../../../../../../../../etc/passwd", open(root, "../../../../../../../../etc/passwd"));
    tried.must_be_refused("read /proc/self/environ", open(root, "/proc/self/environ"));
    tried.must_be_refused("list the directory above, where other sessions are", open(root, ".."));
    tried.must_be_refused("list the directory above, by a detour", open(root, "intruder/../.."));
    tried.must_be_refused("create a file above", create(root, "../loot"));
    tried.must_be_refused("create a directory above", root.create_directory_at("../intruder"));
    tried.must_be_refused("move a file out of the workspace", root.rename_at("intruder/loot", root, "../loot"));
    tried.must_be_refused("delete the directory above", root.remove_directory_at(".."));
}

/// Each link has a name of its own: if one were made, the next must not fail because of it.
fn try_links(root: &Descriptor, tried: &mut Attempts) {
    let link = |target: &str, name: &str| root.symlink_at(target, &format!("intruder/{name}"));
    tried.must_be_refused("follow a link to /", link("/", "a").and_then(|()| open(root, "intruder/a/etc/passwd")));
    tried.must_be_refused("follow a link to ../..", link("../..", "b").and_then(|()| open(root, "intruder/b")));
    tried.must_be_refused("leave a link to / for a person to follow", link("/", "c"));
    tried.must_be_refused("leave a link to ../.. for a person to follow", link("../..", "d"));
    tried.must_be_refused(
        "link /etc/passwd into the workspace",
        root.link_at(PathFlags::empty(), "/etc/passwd", root, "intruder/e"),
    );
    tried.must_be_refused("link a file out of the workspace", root.link_at(PathFlags::empty(), "intruder/loot", root, "../loot"));
}

/// A directory for detours and links, and something to carry out.
fn prepare(root: &Descriptor) -> Result<(), ErrorCode> {
    match root.create_directory_at("intruder") {
        Ok(()) | Err(ErrorCode::Exist) => create(root, "intruder/loot"),
        Err(error) => Err(error),
    }
}

fn clean_up(root: &Descriptor) {
    for name in ["loot", "a", "b", "c", "d", "e"] {
        let _ = root.unlink_file_at(&format!("intruder/{name}"));
    }
    let _ = root.remove_directory_at("intruder");
}

fn open(root: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ).map(drop)
}

fn create(root: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop)
}
