//! A walk through a workspace that never follows a link and holds one directory open at a time.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

/// Something found on the way.
pub struct Seen<'a> {
    pub path: &'a str,
    pub metadata: &'a Metadata,
    /// For directories: whether nothing is in it.
    pub is_empty: bool,
}

/// Visits everything beneath `root`. Directories are kept by their path, not open: an archive can have more of them than a process
/// may have files. Returns what cannot be named as text; only programs outside can make such names.
pub fn walk(root: &Dir, mut visit: impl FnMut(Seen<'_>)) -> io::Result<Vec<String>> {
    let mut unnamed = Vec::new();
    let mut pending: Vec<(String, Option<Metadata>)> = vec![(String::new(), None)];
    while let Some((path, own)) = pending.pop() {
        let dir = if path.is_empty() { root.try_clone() } else { root.open_dir_nofollow(&path) };
        let dir = match dir {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut is_empty = true;
        for entry in dir.entries()? {
            let entry = entry?;
            is_empty = false;
            let name = entry.file_name();
            let joined = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let Some(name) = name.to_str() else {
                unnamed.push(joined(&name.to_string_lossy()));
                continue;
            };
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let below = joined(name);
            match metadata.is_dir() {
                true => pending.push((below, Some(metadata))),
                false => visit(Seen { path: &below, metadata: &metadata, is_empty: false }),
            }
        }
        if let Some(metadata) = own {
            visit(Seen { path: &path, metadata: &metadata, is_empty });
        }
    }
    Ok(unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_directories_need_few_descriptors() {
        let temporary = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        for number in 0..3000 {
            root.create_dir(format!("d{number}")).unwrap();
        }
        std::os::unix::fs::symlink("/", temporary.path().join("d7/out")).unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        let (mut seen, mut most) = (0, 0);
        walk(&root, |_| {
            seen += 1;
            if seen % 500 == 0 {
                most = most.max(open());
            }
        })
        .unwrap();
        assert_eq!(seen, 3001);
        // Other tests of this process open files too.
        assert!(most < before + 200, "{most} descriptors, {before} before");
    }
}
