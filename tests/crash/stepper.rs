//! Stepping through the system calls of a running server with strace: each call of each kind is once the one that ends it, or
//! fails, or lies.
//!
//! strace counts for each kind of call and each thread by itself. So it is attached after the server has started: everything that
//! a session goes through happens on one thread then, whose counts begin with the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// What leaves a trace on disk, or takes a lock.
pub const DURABLE: &str = "openat,openat2,unlinkat,write,pwrite64,copy_file_range,fsync,fdatasync,ftruncate,linkat,renameat,\
    renameat2,mkdirat,flock,fchmod,fchmodat,fchown,utimensat,fsetxattr,ioctl";

/// All of that, and what only looks.
pub const ALL: &str = "openat,openat2,unlinkat,write,pwrite64,copy_file_range,fsync,fdatasync,ftruncate,linkat,renameat,\
    renameat2,mkdirat,flock,fchmod,fchmodat,fchown,utimensat,fsetxattr,ioctl,statx,newfstatat,getdents64,pread64,close,lseek,\
    flistxattr,fcntl,fstat,readlinkat";

/// The k-th call of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub call: String,
    pub number: usize,
}

/// strace, attached to a process.
pub struct Tracer {
    strace: Child,
    log: PathBuf,
}

impl Tracer {
    /// Attaches, and waits until every thread is under its eyes. `inject` is what strace's `-e inject=` takes.
    pub fn attach(process: u32, calls: &str, inject: Option<&str>, log: &Path) -> Tracer {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(log).args(["-p", &process.to_string(), "-e", &format!("trace={calls}")]);
        if let Some(inject) = inject {
            command.args(["-e", &format!("inject={inject}")]);
        }
        let strace = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("strace runs");
        let until = Instant::now() + Duration::from_secs(20);
        while !is_traced(process) {
            assert!(Instant::now() < until, "strace cannot attach to {process}");
            std::thread::sleep(Duration::from_millis(2));
        }
        Tracer { strace, log: log.to_owned() }
    }

    /// Lets the process go, and says what it called. If the process has ended, strace sees that by itself; interrupted in the
    /// middle of that it would wait for ever.
    pub fn detach(mut self, has_ended: bool) -> String {
        let began = Instant::now();
        while let Ok(None) = self.strace.try_wait() {
            if began.elapsed() > Duration::from_secs(5) {
                let _ = self.strace.kill();
            } else if !has_ended {
                let _ = kill_process(Pid::from_child(&self.strace), Signal::INT);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

fn is_traced(process: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return true };
    threads.flatten().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        !status.contains("TracerPid:\t0\n")
    })
}

/// The points that a log shows: for each kind of call, up to the most that any thread made.
pub fn points(log: &str) -> Vec<Point> {
    let mut made: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        if call.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            *made.entry((thread, call)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    for ((_, call), count) in made {
        let most = most.entry(call).or_default();
        *most = count.max(*most);
    }
    most.into_iter().flat_map(|(call, count)| (1..=count).map(move |number| Point { call: call.into(), number })).collect()
}

/// Does something for each item, on a few threads: most of the time is spent waiting for processes to start and end.
pub fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        work(item);
                    }
                })
            })
            .collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

#[test]
fn points_are_counted_for_each_kind_of_call_on_the_busiest_thread() {
    let log = "10 fsync(3) = 0\n11 fsync(3) = 0\n11 fsync(4 <unfinished ...>\n11 <... fsync resumed>) = 0\n11 renameat(1) = 0\n";
    let named: Vec<(String, usize)> = points(log).into_iter().map(|point| (point.call, point.number)).collect();
    assert_eq!(named, [("fsync".into(), 1), ("fsync".into(), 2), ("renameat".into(), 1)]);
}
