//! Works in directories besides the workspace: reads, writes, and tries every way from one to the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use zipfs_guests::{Attempts, Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Role, Tool};

struct Places;

impl Plugin for Places {
    fn about() -> About {
        About::new("places", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("places_read", "Reads a file by its path. Returns {text}.", read).uses("directory").reads(),
            Tool::new("places_write", "Writes a file by its path. Returns {text}.", write).uses("directory").writes(),
            Tool::new("places_write_read_only", "The same, declared to change nothing.", write).uses("directory"),
            Tool::new("places_undeclared", "Reads without declaring it.", read),
            Tool::new("places_list", "The directories there are. Returns {paths}.", list).uses("directory").writes(),
            Tool::new("places_across", "Tries to get from one to the other. Returns {attempts}.", across)
                .uses("directory")
                .writes(),
            Tool::new("places_fill", "Writes /out/full until it is refused. Returns {taken, error}.", fill)
                .uses("directory")
                .role(Role::Operator)
                .destructive(true),
            harmless("places_ok"),
        ]
    }
}

zipfs_sdk::export!(Places);

#[derive(Deserialize, JsonSchema)]
struct At {
    path: String,
    #[serde(default)]
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Text {
    text: String,
}

fn read(at: At) -> Result<Text, Error> {
    let text = std::fs::read_to_string(&at.path).map_err(|error| Error::not_found("NOT_READ", error.to_string()))?;
    Ok(Text { text })
}

fn write(at: At) -> Result<Text, Error> {
    std::fs::write(&at.path, &at.text).map_err(|error| Error::forbidden("NOT_WRITTEN", error.to_string()))?;
    Ok(Text { text: at.text })
}

#[derive(Serialize, JsonSchema)]
struct Paths {
    paths: Vec<String>,
}

fn list(_: NoArguments) -> Result<Paths, Error> {
    Ok(Paths { paths: get_directories().into_iter().map(|(_, path)| path).collect() })
}

fn place(wanted: &str) -> Result<Descriptor, Error> {
    let found = get_directories().into_iter().find(|(_, path)| path == wanted);
    found.map(|(handle, _)| handle).ok_or_else(|| Error::not_found("NO_DIRECTORY", format!("There is no {wanted}.")))
}

/// `/docs` is for reading and holds `secret.txt`, `link` and `dir-link`; `/out` and `/workspace` are for writing.
fn across(_: NoArguments) -> Result<Attempts, Error> {
    let (docs, out, workspace) = (place("/docs")?, place("/out")?, place("/workspace")?);
    let none = PathFlags::empty();
    let follow = PathFlags::SYMLINK_FOLLOW;
    let mut attempts = Attempts::default();
    let mut note = |what: &str, result: Result<(), ErrorCode>| attempts.note(what, result.map_err(|error| error.name()));

    note("truncate what is read-only", docs.open_at(none, "secret.txt", OpenFlags::TRUNCATE, DescriptorFlags::empty()).map(drop));
    note("truncate and read", docs.open_at(none, "secret.txt", OpenFlags::TRUNCATE, DescriptorFlags::READ).map(drop));
    note("truncate through a link", docs.open_at(follow, "link", OpenFlags::TRUNCATE, DescriptorFlags::READ).map(drop));
    note("hard link from read-only to writable", docs.link_at(none, "secret.txt", &out, "stolen"));
    note("hard link to the workspace", docs.link_at(none, "secret.txt", &workspace, "stolen"));
    note("rename from read-only to writable", docs.rename_at("secret.txt", &out, "stolen"));
    note("rename to the workspace", docs.rename_at("secret.txt", &workspace, "stolen"));
    note("rename into read-only", out.rename_at("mine.txt", &docs, "planted"));
    note("rename between two that may be written", out.rename_at("mine.txt", &workspace, "moved"));
    note("rename back", workspace.rename_at("a.txt", &out, "moved"));
    note("rename of a link with a slash", docs.rename_at("dir-link/", &out, "stolen-dir"));
    note("rename of a link in what may be written, with a slash", out.rename_at("dir-link/", &out, "renamed"));
    note("rename to a name with a slash", out.rename_at("mine.txt", &out, "renamed/"));
    note("open a link that leads out", out.open_at(follow, "dir-link", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    note("open it with a slash", out.open_at(follow, "dir-link/", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    note(
        "open it without following, with a slash",
        out.open_at(none, "dir-link/", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop),
    );
    note(
        "open a chain of links with a slash in the target",
        out.open_at(follow, "chain", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop),
    );
    // A link whose target ends in a slash, to a link that leads out.
    note("open the chain with a slash", out.open_at(follow, "chain/", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    note("open the chain without following", out.open_at(none, "chain", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    note("the same with a slash", out.open_at(none, "chain/", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    let through = "chain/outside.txt";
    note("open through the chain", out.open_at(follow, through, OpenFlags::empty(), DescriptorFlags::READ).map(drop));
    note("open through it without following", out.open_at(none, through, OpenFlags::empty(), DescriptorFlags::READ).map(drop));
    note("stat through it", out.stat_at(follow, through).map(drop));
    note("truncate through it", out.open_at(none, through, OpenFlags::TRUNCATE, DescriptorFlags::WRITE).map(drop));
    note("create through it", out.open_at(none, "chain/planted", OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop));
    note("a directory through it", out.create_directory_at("chain/planted"));
    note("delete through it", out.unlink_file_at(through));
    note("rename out of it", out.rename_at(through, &out, "stolen"));
    note("rename into it", out.rename_at("mine.txt", &out, "chain/planted"));
    note("rename it with a slash", out.rename_at("chain/", &out, "renamed"));
    note("create through a dangling link", out.open_at(follow, "dangling", OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop));
    note("open above", out.open_at(follow, "..", OpenFlags::DIRECTORY, DescriptorFlags::READ).map(drop));
    note(
        "open the other by its path",
        out.open_at(follow, "../docs/secret.txt", OpenFlags::empty(), DescriptorFlags::READ).map(drop),
    );
    note("a symbolic link", out.symlink_at("../docs", "planted"));
    note(
        "times of what is read-only",
        docs.set_times_at(
            none,
            "secret.txt",
            wasip2::filesystem::types::NewTimestamp::Now,
            wasip2::filesystem::types::NewTimestamp::Now,
        ),
    );
    Ok(attempts)
}

fn fill(_: NoArguments) -> Result<Stopped, Error> {
    use std::io::Write;
    let mut file = std::fs::File::create("/out/full").map_err(|error| Error::forbidden("NOT_WRITTEN", error.to_string()))?;
    let block = vec![b'x'; 64 << 10];
    until_refused(|_| file.write(&block).map(|written| written as u64))
}
