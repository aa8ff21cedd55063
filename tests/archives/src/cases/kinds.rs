//! What entries are: links, devices, modes, times, encryption.

use super::{Case, INVALID, archive, between, opens, plain, refused, warns};
use crate::made::{Part, field, stored};

const LINK: u32 = 0o120_777;

pub fn add(cases: &mut Vec<Case>) {
    links(cases);
    modes(cases);
    encryption(cases);
    times(cases);
}

fn links(cases: &mut Vec<Case>) {
    let link = |name: &str, target: &str| stored(name, target).mode(LINK);
    for target in ["a", "/etc", "..", "../../..", "/proc/self/root", "", "a\0b"] {
        let made = archive([plain(), link("link", target)]);
        warns(cases, format!("link to {target:?}"), made, "symbolic link");
    }
    // The classic: a link out of the workspace, then a file through it.
    let through = archive([link("link", "/tmp"), stored("link/zipfs-slip", "x")]);
    refused(cases, "file through a link", through, INVALID, "B1");
    let chain = archive([link("x", "."), link("x/y", ".."), stored("x/y/z", "")]);
    refused(cases, "chain of links", chain, INVALID, "B1");
    let cased = archive([link("Link", "/tmp"), stored("link/zipfs-slip", "x")]);
    warns(cases, "file through a link of another case", cased, "symbolic link");
    let loops = archive([link("a", "b"), link("b", "a")]);
    warns(cases, "links in a circle", loops, "symbolic link");
    refused(cases, "link and directory", archive([stored("d/", "").mode(LINK)]), INVALID, "A4");
}

fn modes(cases: &mut Vec<Case>) {
    for (name, mode) in [("character device", 0o020_666), ("block device", 0o060_666), ("socket", 0o140_666)] {
        refused(cases, name, between(plain().mode(mode)), INVALID, "device or a socket");
    }
    refused(cases, "directory by its mode", between(plain().mode(0o040_755)), INVALID, "A4");
    let dos = plain().with(|part| (part.made_by, part.attributes) = (20, 0x10));
    refused(cases, "directory by its attributes", between(dos), INVALID, "A4");
    refused(cases, "directory with contents", between(stored("d/", "x")), INVALID, "A4");
    for mode in [0o104_755, 0o102_777, 0o101_777, 0o107_777, 0o100_000, 0o100_200, 0o100_777] {
        opens(cases, format!("file of mode {mode:o}"), between(plain().mode(mode)));
    }
    let closed = archive([stored("d/", "").mode(0o040_000), stored("d/e/", "").mode(0o040_555), stored("d/e/f", "x")]);
    opens(cases, "directories that nobody may enter", closed);
    opens(cases, "pipe, as Info-ZIP writes for its input", between(plain().mode(0o010_600)));
}

fn encryption(cases: &mut Vec<Case>) {
    let mut bad = |name: &str, part: Part, says| refused(cases, name, between(part), INVALID, says);
    for bit in [0, 6, 13] {
        bad(&format!("encrypted by flag {bit}"), plain().both(|head| head.flags |= 1 << bit), "encrypted");
    }
    bad(
        "encrypted by AES",
        plain().both(|head| (head.method, head.extra) = (99, field(0x9901, &[2, 0, b'A', b'E', 3, 8, 0]))),
        "encrypted",
    );
    bad("encrypted by AES, in the extra field only", plain().both(|head| head.extra = field(0x9901, &[0; 7])), "encrypted");
    bad("patch of another file", plain().both(|head| head.flags |= 1 << 5), "patch");
}

/// Times from each field that has one. Which time each has is tested where files are looked at.
fn times(cases: &mut Vec<Case>) {
    let with = |extra: Vec<u8>| between(plain().both(|head| head.extra = extra.clone()));
    opens(cases, "time of Unix", with(field(0x5455, &[1, 0, 0xf1, 0x53, 0x65])));
    opens(cases, "time before 1970", with(field(0x5455, &[1, 0, 0, 0, 0x80])));
    opens(cases, "time without a time", with(field(0x5455, &[1])));
    let mut ntfs = vec![0, 0, 0, 0, 1, 0, 24, 0];
    ntfs.extend([0xff; 24]);
    opens(cases, "time of NTFS at the end of days", with(field(0x000a, &ntfs)));
}
