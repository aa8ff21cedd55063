//! What an entry is: file, directory or link. Three places can say it, and they must not contradict each other.

use crate::ambiguity::Ambiguity;
use crate::contract::EntryKind;

const UNIX: u16 = 3;
const DARWIN: u16 = 19;

pub const TYPE_MASK: u32 = 0o170_000;
pub const REGULAR: u32 = 0o100_000;
pub const DIRECTORY: u32 = 0o040_000;
pub const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const BLOCK_DEVICE: u32 = 0o060_000;
const SOCKET: u32 = 0o140_000;
/// MS-DOS's attribute of a directory.
pub const DOS_DIRECTORY: u32 = 0x10;

/// Whether the system that made the entry leaves Unix modes in the upper half of the attributes.
pub fn has_unix_mode(made_by: u16) -> bool {
    matches!(made_by >> 8, UNIX | DARWIN)
}

/// The kind and the permission bits of an entry. The error says what is wrong with the entry.
pub fn judge_kind(made_by: u16, attributes: u32, has_slash: bool) -> Result<(EntryKind, Option<u32>), String> {
    let mode = if has_unix_mode(made_by) { attributes >> 16 } else { 0 };
    let permissions = (mode != 0).then_some(mode & 0o7777);
    let kind = match (mode & TYPE_MASK, has_slash) {
        (LINK, true) => return Err(Ambiguity::Kind.says("is a link by its mode and a directory by its name")),
        (_, true) => EntryKind::Directory,
        (LINK, false) => EntryKind::Symlink,
        (DIRECTORY, false) => return Err(Ambiguity::Kind.says("is a directory by its mode and a file by its name")),
        (0, false) if attributes & DOS_DIRECTORY != 0 => {
            return Err(Ambiguity::Kind.says("is a directory by its attributes and a file by its name"));
        }
        (CHARACTER_DEVICE | BLOCK_DEVICE | SOCKET, false) => return Err("is a device or a socket, which is not supported".into()),
        // A pipe too: Info-ZIP writes that for what it read from its standard input. It becomes a file like any other.
        (_, false) => EntryKind::File,
    };
    Ok((kind, permissions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_from_name_and_mode() {
        let unix = |mode: u32, slash| judge_kind(UNIX << 8 | 20, mode << 16, slash);
        assert_eq!(unix(0o100_755, false), Ok((EntryKind::File, Some(0o755))));
        assert_eq!(unix(0o104_755, false), Ok((EntryKind::File, Some(0o4755))));
        assert_eq!(unix(0, false), Ok((EntryKind::File, None)));
        assert_eq!(unix(0o644, false), Ok((EntryKind::File, Some(0o644))));
        assert_eq!(unix(0o100_000, false), Ok((EntryKind::File, Some(0))));
        assert_eq!(unix(0o040_755, true), Ok((EntryKind::Directory, Some(0o755))));
        assert_eq!(unix(0o010_600, false), Ok((EntryKind::File, Some(0o600))));
        assert_eq!(unix(0o177_777, true), Ok((EntryKind::Directory, Some(0o7777))));
        assert_eq!(unix(0o120_777, false), Ok((EntryKind::Symlink, Some(0o777))));
        assert_eq!(judge_kind(0, 0o120_777 << 16, false), Ok((EntryKind::File, None)));
    }

    #[test]
    fn contradictions_and_devices_are_refused() {
        let unix = |mode: u32, slash| judge_kind(UNIX << 8, mode << 16, slash);
        for mode in [0o020_644, 0o060_644, 0o140_644, 0o040_755] {
            assert!(unix(mode, false).is_err(), "{mode:o}");
        }
        assert!(unix(0o120_777, true).is_err());
        assert!(judge_kind(0, DOS_DIRECTORY, false).is_err());
    }
}
