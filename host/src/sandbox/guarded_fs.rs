//! `wasi:filesystem` as guests get it: wasmtime's own, with a quota in front of what grows and a refusal of what links.
//!
//! A guest that may write could otherwise fill the disk, and could leave a link in the workspace that leads out of it: no guest
//! can follow such a link, but a person or a program that works on the same directory can.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use wasmtime::Result;
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, FsPerms, OpenMode, WasiFilesystemCtxView, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, Filesize, Host,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::Capability;
use super::guest::Guest;
use super::metered::{Metered, charge};
use super::plain_reads;
use super::witness::Reach;
use crate::workspace::quota::{Allowance, Usage};

/// Where guests find their directory.
pub const MOUNT_POINT: &str = "/workspace";

/// Tells the linker that these calls work on [`Guarded`].
pub struct HasGuarded;

impl HasData for HasGuarded {
    type Data<'a> = Guarded<'a>;
}

/// What is left to tell of a directory.
struct Listing(std::vec::IntoIter<std::io::Result<DirectoryEntry>>);

/// A guest's view of the filesystem.
pub struct Guarded<'a>(pub &'a mut Guest);

type File = Resource<Descriptor>;

impl Guarded<'_> {
    fn wasi(&mut self) -> WasiFilesystemCtxView<'_> {
        self.0.filesystem()
    }

    /// Which granted directory a handle is in; `None` for the workspace.
    fn place(&self, fd: &File) -> Option<usize> {
        self.0.places.get(&fd.rep()).copied()
    }

    fn allowance(&self, place: Option<usize>) -> Option<Arc<Mutex<Allowance>>> {
        match place {
            Some(index) => self.0.call.equipment.directories.get(index)?.allowance.clone(),
            None => self.0.call.mount.as_ref()?.allowance.clone(),
        }
    }

    /// Charges, if there is a quota. Without one the directory is read-only, and wasmtime refuses the operation itself.
    fn charge(&self, place: Option<usize>, needed: Usage) -> FsResult<()> {
        match self.allowance(place) {
            Some(allowance) => charge(&allowance, needed).map_err(|_| ErrorCode::Quota.into()),
            None => Ok(()),
        }
    }

    fn refund(&self, place: Option<usize>, unused: Usage) {
        if let Some(allowance) = self.allowance(place) {
            allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).refund(unused);
        }
    }

    fn freed(&self, place: Option<usize>, freed: Usage) {
        if let Some(allowance) = self.allowance(place) {
            allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).free(freed);
        }
    }

    fn note(&self, writes: bool) {
        self.0.note(|| if writes { Reach::Write } else { Reach::Read });
    }

    /// Puts into the record that something in a granted directory is used; the workspace has its own part of the record.
    fn uses(&self, place: Option<usize>, writes: bool) {
        let Some(directory) = place.and_then(|index| self.0.call.equipment.directories.get(index)) else { return };
        match (writes, &directory.allowance) {
            (false, _) => self.0.call.uses.note(Capability::Directory, format!("read {}", directory.guest_path)),
            (true, Some(_)) => self.0.call.uses.note(Capability::Directory, format!("write {}", directory.guest_path)),
            // It is about to be refused.
            (true, None) => {}
        }
    }

    fn open_file(&self, fd: &File) -> FsResult<Arc<std::fs::File>> {
        match self.0.table.get(fd)? {
            Descriptor::File(file) => Ok(file.file.clone()),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    fn length(&self, fd: &File) -> FsResult<u64> {
        Ok(self.open_file(fd)?.metadata()?.len())
    }

    /// What a path leads to. Looking without following is one system call; only a link needs the second look.
    async fn what_would_open(&mut self, fd: &File, flags: PathFlags, path: &str) -> FsResult<DescriptorStat> {
        let at = || Resource::new_borrow(fd.rep());
        let stat = self.wasi().stat_at(at(), PathFlags::empty(), path.to_owned()).await?;
        if stat.type_ == DescriptorType::SymbolicLink && flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return self.wasi().stat_at(at(), flags, path.to_owned()).await;
        }
        Ok(stat)
    }

    /// Opens what is plainly a file or a directory below this one, to read it.
    fn open_plain(&mut self, fd: &File, path: &str, how: OpenFlags, flags: DescriptorFlags) -> FsResult<Option<File>> {
        let Descriptor::Dir(dir) = self.0.table.get(fd)? else { return Ok(None) };
        let to_change_below = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        let opened = if how == OpenFlags::empty() && flags == DescriptorFlags::READ {
            let file = plain_reads::open_file(&dir.dir, path)?;
            file.map(|file| Descriptor::File(wasmtime_wasi::filesystem::File::new(file, dir.perms, OpenMode::READ, true)))
        } else if how == OpenFlags::DIRECTORY && (flags == DescriptorFlags::READ || flags == to_change_below) {
            let below = plain_reads::open_directory(&dir.dir, path);
            below.map(|below| Descriptor::Dir(Dir::new(below, dir.perms, OpenMode::READ, true)))
        } else {
            None
        };
        let Some(opened) = opened else { return Ok(None) };
        let opened = self.0.table.push(opened)?;
        if let Some(place) = self.place(fd) {
            self.0.places.insert(opened.rep(), place);
        }
        Ok(Some(opened))
    }

    /// Stat without following, for the accounts.
    async fn look(&mut self, fd: &File, path: &str) -> Option<DescriptorStat> {
        let fd = Resource::new_borrow(fd.rep());
        self.wasi().stat_at(fd, PathFlags::empty(), path.to_owned()).await.ok()
    }

    fn meter(
        &mut self,
        fd: &File,
        stream: Resource<DynOutputStream>,
        position: Option<u64>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let Some(allowance) = self.allowance(self.place(fd)) else { return Ok(stream) };
        let file = self.open_file(fd)?;
        let inner = self.0.table.delete(stream)?;
        let metered: DynOutputStream = Box::new(Metered::new(inner, file, position, allowance));
        Ok(self.0.table.push(metered)?)
    }
}

impl preopens::Host for Guarded<'_> {
    /// Directories are given as handles; no path of the host is ever looked up for a guest.
    fn get_directories(&mut self) -> Result<Vec<(File, String)>> {
        let mut given = Vec::new();
        if let Some(mount) = &self.0.call.mount {
            let dir = preopen(&mount.dir, mount.allowance.is_some())?;
            given.push((self.0.table.push(dir)?, MOUNT_POINT.to_owned()));
        }
        for (index, directory) in self.0.call.equipment.directories.iter().enumerate() {
            let handle = self.0.table.push(preopen(&directory.dir, directory.allowance.is_some())?)?;
            self.0.places.insert(handle.rep(), index);
            given.push((handle, directory.guest_path.clone()));
        }
        Ok(given)
    }
}

fn preopen(dir: &cap_std::fs::Dir, writable: bool) -> Result<Descriptor> {
    let (perms, mode) = match writable {
        true => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        false => (FsPerms::ReadOnly, OpenMode::READ),
    };
    Ok(Descriptor::Dir(Dir::new(dir.try_clone()?.into_std_file(), perms, mode, true)))
}

impl Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FsError) -> Result<ErrorCode> {
        self.wasi().convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> Result<Option<ErrorCode>> {
        let quota = self.0.table.get(&error)?.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        if quota == Some(Errno::DQUOT.raw_os_error()) {
            return Ok(Some(ErrorCode::Quota));
        }
        self.wasi().filesystem_error_code(error)
    }
}

impl HostDescriptor for Guarded<'_> {
    async fn open_at(
        &mut self,
        fd: File,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<File> {
        let changes = OpenFlags::CREATE | OpenFlags::TRUNCATE;
        let writes = open_flags.intersects(changes) || flags.contains(DescriptorFlags::WRITE);
        self.note(writes);
        if let Some(opened) = self.open_plain(&fd, &path, open_flags, flags)? {
            self.uses(self.place(&fd), writes);
            return Ok(opened);
        }
        let mut created = Usage::default();
        let mut cut = 0;
        if open_flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
            created.files = 1;
        } else {
            // A pipe or a device that somebody put into the workspace would hold the thread in `open`, where no deadline
            // reaches it. Test: `security::hostile::fifo_does_not_hold_the_host`.
            match self.what_would_open(&fd, path_flags, &path).await {
                Ok(stat) => match stat.type_ {
                    DescriptorType::RegularFile => cut = stat.size,
                    DescriptorType::Directory | DescriptorType::SymbolicLink => {}
                    _ => return Err(ErrorCode::NotPermitted.into()),
                },
                Err(_) if open_flags.contains(OpenFlags::CREATE) => created.files = 1,
                Err(error) => return Err(error),
            }
        }
        let place = self.place(&fd);
        self.charge(place, created)?;
        match self.wasi().open_at(fd, path_flags, path, open_flags, flags).await {
            Ok(file) => {
                self.uses(place, writes);
                if open_flags.contains(OpenFlags::TRUNCATE) {
                    self.refund(place, Usage { bytes: cut, files: 0 });
                }
                if let Some(place) = place {
                    self.0.places.insert(file.rep(), place);
                }
                Ok(file)
            }
            Err(error) => {
                self.refund(place, created);
                Err(error)
            }
        }
    }

    async fn write(&mut self, fd: File, buffer: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let end = offset.saturating_add(buffer.len() as u64);
        let growth = end.saturating_sub(self.length(&fd)?);
        self.charge(self.place(&fd), Usage { bytes: growth, files: 0 })?;
        self.wasi().write(fd, buffer, offset).await
    }

    fn write_via_stream(&mut self, fd: File, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi().write_via_stream(Resource::new_borrow(fd.rep()), offset)?;
        self.meter(&fd, stream, Some(offset))
    }

    fn append_via_stream(&mut self, fd: File) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi().append_via_stream(Resource::new_borrow(fd.rep()))?;
        self.meter(&fd, stream, None)
    }

    async fn set_size(&mut self, fd: File, size: Filesize) -> FsResult<()> {
        let file = self.open_file(&fd)?;
        let before = file.metadata()?;
        let place = self.place(&fd);
        self.charge(place, Usage { bytes: size.saturating_sub(before.len()), files: 0 })?;
        self.wasi().set_size(fd, size).await?;
        // What a deleted file weighed was credited with its deletion.
        if before.nlink() > 0 {
            self.refund(place, Usage { bytes: before.len().saturating_sub(size), files: 0 });
        }
        Ok(())
    }

    async fn create_directory_at(&mut self, fd: File, path: String) -> FsResult<()> {
        self.note(true);
        let (one, place) = (Usage { bytes: 0, files: 1 }, self.place(&fd));
        self.uses(place, true);
        self.charge(place, one)?;
        let made = self.wasi().create_directory_at(fd, path).await;
        if made.is_err() {
            self.refund(place, one);
        }
        made
    }

    async fn unlink_file_at(&mut self, fd: File, path: String) -> FsResult<()> {
        self.note(true);
        let (before, place) = (self.look(&fd, &path).await, self.place(&fd));
        self.uses(place, true);
        self.wasi().unlink_file_at(fd, path).await?;
        let bytes = before.filter(|stat| stat.type_ == DescriptorType::RegularFile).map_or(0, |stat| stat.size);
        self.freed(place, Usage { bytes, files: 1 });
        Ok(())
    }

    async fn remove_directory_at(&mut self, fd: File, path: String) -> FsResult<()> {
        self.note(true);
        let place = self.place(&fd);
        self.uses(place, true);
        self.wasi().remove_directory_at(fd, path).await?;
        self.freed(place, Usage { bytes: 0, files: 1 });
        Ok(())
    }

    /// No credit for what a rename replaces: renaming a file to itself replaces nothing, and would be free money. The next count
    /// of the session's files finds what was really freed.
    async fn rename_at(&mut self, fd: File, old_path: String, new_fd: File, new_path: String) -> FsResult<()> {
        self.note(true);
        self.uses(self.place(&fd), true);
        // From one to another would carry what is in one quota, and under one grant, into the other.
        if self.place(&fd) != self.place(&new_fd) {
            return Err(ErrorCode::CrossDevice.into());
        }
        // The same link means another place elsewhere, perhaps one outside.
        if self.look(&fd, &old_path).await.is_some_and(|stat| stat.type_ == DescriptorType::SymbolicLink) {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.wasi().rename_at(fd, old_path, new_fd, new_path).await
    }

    async fn link_at(&mut self, _: File, _: PathFlags, _: String, _: File, _: String) -> FsResult<()> {
        self.note(true);
        Err(ErrorCode::NotPermitted.into())
    }

    async fn symlink_at(&mut self, _: File, _: String, _: String) -> FsResult<()> {
        self.note(true);
        Err(ErrorCode::NotPermitted.into())
    }

    fn read_via_stream(&mut self, fd: File, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.wasi().read_via_stream(fd, offset)
    }

    async fn advise(&mut self, fd: File, offset: Filesize, len: Filesize, advice: Advice) -> FsResult<()> {
        self.wasi().advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: File) -> FsResult<()> {
        self.wasi().sync_data(fd).await
    }

    async fn get_flags(&mut self, fd: File) -> FsResult<DescriptorFlags> {
        self.wasi().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: File) -> FsResult<DescriptorType> {
        self.wasi().get_type(fd).await
    }

    async fn set_times(&mut self, fd: File, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        self.note(true);
        self.wasi().set_times(fd, accessed, modified).await
    }

    async fn read(&mut self, fd: File, len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        let bytes = match self.0.table.get(&fd)? {
            Descriptor::File(file) => plain_reads::read_at(&file.file, len, offset)?,
            Descriptor::Dir(_) => return self.wasi().read(fd, len, offset).await,
        };
        let at_end = bytes.is_empty();
        Ok((bytes, at_end))
    }

    async fn read_directory(&mut self, fd: File) -> FsResult<Resource<DirectoryEntryStream>> {
        self.note(false);
        self.uses(self.place(&fd), false);
        let entries = match self.0.table.get(&fd)? {
            Descriptor::Dir(dir) => plain_reads::list(&dir.dir)?,
            Descriptor::File(_) => return self.wasi().read_directory(fd).await,
        };
        let listing = self.0.table.push(Listing(entries.into_iter()))?;
        // In the table it is ours; the guest knows it by its number.
        Ok(Resource::new_own(listing.rep()))
    }

    async fn sync(&mut self, fd: File) -> FsResult<()> {
        self.wasi().sync(fd).await
    }

    async fn stat(&mut self, fd: File) -> FsResult<DescriptorStat> {
        self.wasi().stat(fd).await
    }

    async fn stat_at(&mut self, fd: File, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.note(false);
        self.wasi().stat_at(fd, flags, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: File,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.wasi().set_times_at(fd, flags, path, accessed, modified).await
    }

    async fn readlink_at(&mut self, fd: File, path: String) -> FsResult<String> {
        self.note(false);
        self.wasi().readlink_at(fd, path).await
    }

    async fn is_same_object(&mut self, a: File, b: File) -> Result<bool> {
        self.wasi().is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: File) -> FsResult<MetadataHashValue> {
        self.wasi().metadata_hash(fd).await
    }

    async fn metadata_hash_at(&mut self, fd: File, flags: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.wasi().metadata_hash_at(fd, flags, path).await
    }

    fn drop(&mut self, fd: File) -> Result<()> {
        // The number is given to another handle next.
        if !self.0.places.is_empty() {
            self.0.places.remove(&fd.rep());
        }
        HostDescriptor::drop(&mut self.wasi(), fd)
    }
}

impl HostDirectoryEntryStream for Guarded<'_> {
    async fn read_directory_entry(&mut self, stream: Resource<DirectoryEntryStream>) -> FsResult<Option<DirectoryEntry>> {
        let listing = self.0.table.get_mut(&Resource::<Listing>::new_borrow(stream.rep()))?;
        Ok(listing.0.next().transpose()?)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> Result<()> {
        self.0.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}
