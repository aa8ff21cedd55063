//! The same reading as others: names, sizes and checksums of what we let in, by Python's zipfile and by Info-ZIP.
//!
//! `ZIPFS_CORPUS` may name a directory with more archives, searched to its bottom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use zipfs_archive_zip::contract::Entry;
use zipfs_test_archives::all;

use crate::memory::listing;

/// Size and checksum.
type Facts = (u64, u32);

/// Lists archives as lines of hexadecimal name, size and checksum, each archive behind a line with its path.
const PYTHON: &str = "
import sys, zipfile
for path in sys.stdin.read().split('\\0'):
    print('>', path)
    try:
        for info in zipfile.ZipFile(path).infolist():
            raw = info.orig_filename.encode('utf-8' if info.flag_bits & 0x800 else 'cp437')
            print(raw.hex() or '-', info.file_size, info.CRC)
    except Exception as error:
        print('!', type(error).__name__)
";

/// All archives that we let in, written into files.
fn accepted(dir: &Path) -> Vec<(PathBuf, Vec<Entry>)> {
    let mut archives: Vec<(String, Vec<u8>)> = all().into_iter().map(|case| (case.name, case.bytes)).collect();
    if let Some(corpus) = std::env::var_os("ZIPFS_CORPUS") {
        collect(Path::new(&corpus), &mut archives);
    }
    let mut accepted = Vec::new();
    for (number, (name, bytes)) in archives.iter().enumerate() {
        let Ok(listing) = listing(bytes) else { continue };
        let plain: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).take(60).collect();
        let path = dir.join(format!("{number}-{plain}.zip"));
        std::fs::write(&path, bytes).unwrap();
        accepted.push((path, listing.entries));
    }
    accepted
}

fn collect(dir: &Path, archives: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, archives);
        } else if path.extension().is_none_or(|extension| extension != "tsv") {
            archives.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn python_reads_the_same() {
    let dir = scratch("python");
    let accepted = accepted(&dir);
    let paths: Vec<String> = accepted.iter().map(|(path, _)| path.display().to_string()).collect();
    let Some(output) = run(Command::new("python3").args(["-c", PYTHON]), paths.join("\0").as_bytes()) else {
        return eprintln!("SKIPPED python_reads_the_same: there is no python3");
    };
    let mut theirs: BTreeMap<&str, Result<BTreeMap<Vec<u8>, Facts>, &str>> = BTreeMap::new();
    let mut current = "";
    for line in output.lines() {
        if let Some(path) = line.strip_prefix("> ") {
            current = path;
            theirs.insert(path, Ok(BTreeMap::new()));
        } else if let Some(error) = line.strip_prefix("! ") {
            theirs.insert(current, Err(error));
        } else if let Some(Ok(entries)) = theirs.get_mut(current) {
            let [name, size, crc] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            entries.insert(unhex(name), (size.parse().unwrap(), crc.parse().unwrap()));
        }
    }
    let mut differences = Vec::new();
    for (path, entries) in &accepted {
        let ours: BTreeMap<Vec<u8>, Facts> =
            entries.iter().map(|entry| (entry.raw_name.clone(), (entry.size, entry.crc32))).collect();
        match &theirs[path.display().to_string().as_str()] {
            Ok(theirs) if *theirs == ours => {}
            // It takes the directory's signature for a part of the directory.
            Err("BadZipFile") if path.display().to_string().contains("signed_directory") => {}
            other => differences.push(format!("{}: {other:?}", path.display())),
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(accepted.len() > 80, "{} archives", accepted.len());
    // None: a name without the UTF-8 flag is code page 437 for Python and perhaps UTF-8 for us, but the bytes are the same.
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), accepted.len(), differences.join("\n"));
}

#[test]
fn info_zip_reads_the_same() {
    let dir = scratch("info-zip");
    let accepted = accepted(&dir);
    let mut differences = Vec::new();
    for (path, entries) in &accepted {
        let Some(output) = run(Command::new("unzip").arg("-v").arg(path), b"") else {
            return eprintln!("SKIPPED info_zip_reads_the_same: there is no unzip");
        };
        // Names are shown changed where a terminal could not show them, so sizes and checksums are compared, in order.
        let theirs: Vec<Facts> = output.lines().filter_map(facts).collect();
        let ours: Vec<Facts> = entries.iter().map(|entry| (entry.size, entry.crc32)).collect();
        if theirs != ours && !is_excused(path, entries) {
            differences.push(format!("{}: ours {ours:?}, theirs {theirs:?}", path.display()));
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), accepted.len(), differences.join("\n"));
}

/// Where Info-ZIP is known to read less than there is.
fn is_excused(path: &Path, entries: &[Entry]) -> bool {
    // It says that an archive without entries is empty, in a sentence.
    entries.is_empty()
        // It has no rule for a directory's signature and counts the offset of the directory from the end.
        || path.display().to_string().contains("signed_directory")
}

/// Length and checksum of a line of `unzip -v`: length, method, size, ratio, date, time, checksum, name.
fn facts(line: &str) -> Option<Facts> {
    let fields: Vec<&str> = line.split_whitespace().take(7).collect();
    let crc = fields.get(6).filter(|crc| crc.len() == 8)?;
    Some((fields[0].parse().ok()?, u32::from_str_radix(crc, 16).ok()?))
}

/// Standard output, or nothing if there is no such program.
fn run(command: &mut Command, input: &[u8]) -> Option<String> {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(input).unwrap();
    Some(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned())
}

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("zipfs-others-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn unhex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
