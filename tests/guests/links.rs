//! Tries to leave the workspace: links that lead out, and paths that do.

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use zipfs_guests::{Attempts, harmless, root};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct Links;

impl Plugin for Links {
    fn about() -> About {
        About::new("links", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("links", "Tries to leave the workspace. Returns {attempts}.", links).writes(), harmless("links_ok")]
    }
}

zipfs_sdk::export!(Links);

fn links(_: NoArguments) -> Result<Attempts, Error> {
    let root = root()?;
    let made = create(&root, "links.txt").and_then(|()| root.create_directory_at("links"));
    match made {
        Ok(()) | Err(ErrorCode::Exist) => {}
        Err(error) => return Err(Error::internal("NOT_CREATED", error.name())),
    }
    // What an earlier call left would make this one fail, and look like a refusal.
    for left in ["up", "around", "absolute", "twin", "stolen"] {
        let _ = root.unlink_file_at(&format!("links/{left}"));
    }
    let mut attempts = Attempts::default();
    let mut note = |what: &str, result: Result<(), ErrorCode>| attempts.note(what, result.map_err(|error| error.name()));

    note("symlink to ../x", root.symlink_at("../x", "links/up"));
    note("symlink to links/../../x", root.symlink_at("links/../../x", "links/around"));
    note("symlink to /etc/passwd", root.symlink_at("/etc/passwd", "links/absolute"));
    note("symlink in ..", root.symlink_at("links.txt", "../x"));
    note("hard link inside", root.link_at(PathFlags::empty(), "links.txt", &root, "links/twin"));
    note("hard link of ../x", root.link_at(PathFlags::empty(), "../x", &root, "links/stolen"));
    note("hard link to ../x", root.link_at(PathFlags::empty(), "links.txt", &root, "../x"));
    note("rename to ../x", root.rename_at("links.txt", &root, "../x"));
    note("rename to /x", root.rename_at("links.txt", &root, "/x"));
    note("rename of ../x", root.rename_at("../x", &root, "links/stolen"));
    note("open ..", open(&root, ".."));
    note("open ../", open(&root, "../"));
    note("open links/../..", open(&root, "links/../.."));
    note("open links/../../x", open(&root, "links/../../x"));
    note("open /", open(&root, "/"));
    note("open /etc/passwd", open(&root, "/etc/passwd"));
    // A slash at the end says that it is a directory, which a file is not.
    note("open links.txt/", open(&root, "links.txt/"));
    note("open links.txt/../../x", open(&root, "links.txt/../../x"));
    note("create ../x", create(&root, "../x"));
    note("create links/../../x", create(&root, "links/../../x"));
    note("create /x", create(&root, "/x"));
    note("create x/", create(&root, "x/"));
    note("mkdir ../x", root.create_directory_at("../x"));
    note("unlink ../x", root.unlink_file_at("../x"));
    note("rmdir ..", root.remove_directory_at(".."));
    Ok(attempts)
}

fn open(root: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ).map(drop)
}

fn create(root: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop)
}
