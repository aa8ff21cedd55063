//! Tries to make the host believe that less is written than is: each trick is followed by a file that must not fit any more.

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use zipfs_guests::{Attempts, harmless, root};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

/// Two of these are more than the session may hold.
const LARGE: u64 = 6 << 20;

struct Accounts;

impl Plugin for Accounts {
    fn about() -> About {
        About::new("accounts", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime = Tool::new("accounts", "Cheats with sizes. Returns {attempts}.", accounts).writes();
        vec![crime, harmless("accounts_ok")]
    }
}

zipfs_sdk::export!(Accounts);

fn accounts(_: NoArguments) -> Result<Attempts, Error> {
    let root = root()?;
    let mut attempts = Attempts::default();
    let failed = |error: ErrorCode| Error::internal("NOT_PREPARED", error.name());
    // It stays after the call, so that what one call gained the next one would have.
    let base = create(&root, "base").map_err(failed)?;
    base.set_size(LARGE).map_err(failed)?;

    for _ in 0..10 {
        root.rename_at("base", &root, "base").map_err(failed)?;
    }
    attempts.note("after renaming a file to itself", one_more(&root));

    let gone = create(&root, "gone").map_err(failed)?;
    gone.set_size(1 << 20).map_err(failed)?;
    root.unlink_file_at("gone").map_err(failed)?;
    gone.set_size(0).map_err(failed)?;
    attempts.note("after shrinking a deleted file", one_more(&root));
    drop(gone);

    let streamed = create(&root, "streamed").map_err(failed)?;
    streamed.set_size(1 << 19).map_err(failed)?;
    let stream = streamed.write_via_stream(0).map_err(failed)?;
    let _ = stream.blocking_write_and_flush(b"x");
    streamed.set_size(0).map_err(failed)?;
    let block = [7; 4096];
    let flooded = (0..LARGE / 4096).try_for_each(|_| stream.blocking_write_and_flush(&block).map_err(|_| "refused"));
    attempts.note("through a stream that remembers a longer file", flooded);
    drop(stream);
    root.unlink_file_at("streamed").map_err(failed)?;
    attempts.note("after all of it", one_more(&root));
    Ok(attempts)
}

fn create(root: &Descriptor, name: &str) -> Result<Descriptor, ErrorCode> {
    let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    root.open_at(PathFlags::empty(), name, flags, DescriptorFlags::READ | DescriptorFlags::WRITE)
}

/// Another file as large as the one that is there.
fn one_more(root: &Descriptor) -> Result<(), ErrorCode> {
    let file = create(root, "more")?;
    let grown = file.set_size(LARGE);
    root.unlink_file_at("more")?;
    grown
}
