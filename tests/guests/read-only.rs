//! Says that it only reads, and then tries every way to change `a.txt` and what is around it.

use wasip2::filesystem::types::{DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use zipfs_guests::{Attempts, harmless, root};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct ReadOnly;

impl Plugin for ReadOnly {
    fn about() -> About {
        About::new("read-only", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("read_only", "Tries to change a.txt. Returns {attempts}.", read_only).reads(), harmless("read_only_ok")]
    }
}

zipfs_sdk::export!(ReadOnly);

fn read_only(_: NoArguments) -> Result<Attempts, Error> {
    let root = root()?;
    let open = |path, how, rights| root.open_at(PathFlags::empty(), path, how, rights);
    let read = open("a.txt", OpenFlags::empty(), DescriptorFlags::READ);
    let read = read.map_err(|error| Error::not_found("PATH_NOT_FOUND", format!("'a.txt' cannot be read: {}.", error.name())))?;
    let now = NewTimestamp::Now;
    let mut attempts = Attempts::default();
    let mut note = |what: &str, result: Result<(), ErrorCode>| attempts.note(what, result.map_err(|error| error.name()));

    note("open to write", open("a.txt", OpenFlags::empty(), DescriptorFlags::WRITE).map(drop));
    note("open to read and write", open("a.txt", OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE).map(drop));
    note("truncate", open("a.txt", OpenFlags::TRUNCATE, DescriptorFlags::READ).map(drop));
    note("truncate and write", open("a.txt", OpenFlags::TRUNCATE, DescriptorFlags::WRITE).map(drop));
    note("write", read.write(b"changed", 0).map(drop));
    note("write by stream", read.write_via_stream(0).map(drop));
    note("append by stream", read.append_via_stream().map(drop));
    note("set size", read.set_size(0));
    note("set times", read.set_times(now, now));
    note("set times by path", root.set_times_at(PathFlags::empty(), "a.txt", now, now));
    note("create", open("new.txt", OpenFlags::CREATE, DescriptorFlags::READ).map(drop));
    note("create to write", open("new.txt", OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop));
    note("mkdir", root.create_directory_at("new"));
    note("rename", root.rename_at("a.txt", &root, "b.txt"));
    note("hard link", root.link_at(PathFlags::empty(), "a.txt", &root, "b.txt"));
    note("symlink", root.symlink_at("a.txt", "b.txt"));
    note("unlink", root.unlink_file_at("a.txt"));
    let reopened = open(".", OpenFlags::DIRECTORY, DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY);
    note("mkdir by a handle that wishes for more", reopened.and_then(|dir| dir.create_directory_at("new")));
    Ok(attempts)
}
