//! New content on its way: in memory while it is small, in a staged file once it is not.

use std::cell::Cell;
use std::io;

use actum_core::text::LineCounter;
use actum_core::{Digest, FileMode, Hasher};

use crate::disk::{Disk, Stat, Xattr};
use crate::journal::record::Attributes;

/// The largest content, in bytes, that is held in memory and recorded in the journal.
pub const INLINE_BYTES_MAX: usize = 1 << 20;
/// Pieces smaller than this are gathered before they are written.
const GATHER: usize = 64 << 10;

/// Content that has been written completely.
pub(crate) struct Written<H> {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// How many lines it has; `None` where it is binary.
    pub(crate) lines: Option<u64>,
    pub(crate) store: Store<H>,
}

/// Where written content is.
pub(crate) enum Store<H> {
    Memory(Vec<u8>),
    /// In a file of this name in the stage directory.
    Staged(Vec<u8>, H),
}

/// Takes in content piece by piece and hashes it. What goes wrong is told at the end.
pub(crate) struct Sink<'a, D: Disk> {
    disk: &'a D,
    stage: &'a D::Handle,
    name: Vec<u8>,
    hasher: Hasher,
    lines: LineCounter,
    size: u64,
    /// All content while there is no file; then what is not yet written to it.
    gathered: Vec<u8>,
    file: Option<(D::Handle, u64)>,
    failed: Option<io::Error>,
}

impl<'a, D: Disk> Sink<'a, D> {
    /// A sink that uses the name `name` in `stage` if it needs a file.
    pub(crate) fn new(disk: &'a D, stage: &'a D::Handle, name: Vec<u8>) -> Self {
        let (hasher, lines) = (Hasher::new(), LineCounter::default());
        let (gathered, file, failed) = (Vec::new(), None, None);
        Self { disk, stage, name, hasher, lines, size: 0, gathered, file, failed }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.try_write(bytes).err();
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lines.feed(bytes);
        self.size = self.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let total = self.gathered.len().saturating_add(bytes.len());
        if self.file.is_none() {
            if total <= INLINE_BYTES_MAX {
                self.gathered.extend_from_slice(bytes);
                return Ok(());
            }
            self.hasher.update(&self.gathered);
            let create = || self.disk.create(self.stage, &self.name, FileMode::PRIVATE);
            let file = match create() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.disk.unlink(self.stage, &self.name)?; // of an earlier try
                    create()?
                }
                created => created?,
            };
            self.file = Some((file, 0));
        }
        self.hasher.update(bytes);
        if bytes.len() < GATHER && total <= INLINE_BYTES_MAX {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.put(&gathered)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((file, offset)) = &mut self.file {
            self.disk.write_at(file, bytes, *offset)?;
            *offset = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// # Errors
    /// The first that any write met.
    pub(crate) fn finish(mut self) -> io::Result<Written<D::Handle>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.file.is_some() {
            self.flush()?;
        } else {
            self.hasher.update(&self.gathered);
        }
        let store = match self.file {
            Some((file, _)) => Store::Staged(self.name, file),
            None => Store::Memory(self.gathered),
        };
        let (digest, lines) = (self.hasher.finish(), self.lines.finish());
        Ok(Written { digest, size: self.size, lines, store })
    }
}

/// What a new file in a directory has of extended attributes before it is given any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inherited {
    /// None.
    Nothing,
    /// An ACL of the directory, or labels of a security module.
    Something,
}

/// As [`set_attributes`], for a file that was just made in a directory whose files all inherit the same; `inherited` is
/// what the first of them told. Listing what is known to be nothing would be a call for each file.
///
/// # Errors
/// What could not be kept, and why.
pub(crate) fn set_new_attributes<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    wanted: &Attributes,
    inherited: &Cell<Option<Inherited>>,
) -> Result<u64, (&'static str, io::Error)> {
    let present = match inherited.get() {
        Some(Inherited::Nothing) => Vec::new(),
        Some(Inherited::Something) | None => {
            disk.xattrs(handle).map_err(|error| (XATTRS, error))?
        }
    };
    let told = if present.is_empty() { Inherited::Nothing } else { Inherited::Something };
    inherited.set(Some(told));
    let stat = disk.stat(handle).map_err(|error| (OWNER, error))?;
    set_attributes_beside(disk, handle, &stat, wanted, &present)?;
    Ok(stat.inode)
}

/// Gives a new file or directory its owner, extended attributes and mode; gives its inode number.
///
/// # Errors
/// What could not be kept, and why.
pub(crate) fn set_attributes<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    wanted: &Attributes,
) -> Result<u64, (&'static str, io::Error)> {
    let present = disk.xattrs(handle).map_err(|error| (XATTRS, error))?;
    let stat = disk.stat(handle).map_err(|error| (OWNER, error))?;
    set_attributes_beside(disk, handle, &stat, wanted, &present)?;
    Ok(stat.inode)
}

/// Names of what could not be kept.
const XATTRS: &str = "extended attributes";
const OWNER: &str = "owner";

/// As [`set_attributes`], for a file whose facts and extended attributes are known.
///
/// # Errors
/// What could not be kept, and why.
pub(crate) fn set_attributes_beside<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    stat: &Stat,
    wanted: &Attributes,
    present: &[Xattr],
) -> Result<(), (&'static str, io::Error)> {
    let mut mode = stat.mode;
    if (stat.user, stat.group) != (wanted.user, wanted.group) {
        disk.set_owner(handle, wanted.user, wanted.group).map_err(|error| (OWNER, error))?;
        mode = FileMode::new(0); // changing the owner may clear bits
    }
    for (name, _) in present {
        // A new file has no other attributes but an inherited ACL and the labels of a security
        // module, which are the module's business.
        let inherited = name.starts_with(b"system.posix_acl_");
        if inherited && !wanted.xattrs.iter().any(|(wanted, _)| wanted == name) {
            disk.remove_xattr(handle, name).map_err(|error| (XATTRS, error))?;
        }
    }
    for (name, value) in &wanted.xattrs {
        if !present.iter().any(|(n, v)| n == name && v == value) {
            disk.set_xattr(handle, name, value).map_err(|error| (XATTRS, error))?;
            mode = FileMode::new(0); // an ACL shows in the mode
        }
    }
    if mode != wanted.mode {
        disk.set_mode(handle, wanted.mode).map_err(|error| ("mode", error))?;
        // The kernel may clear set-group-ID without an error (chmod(2)).
        if wanted.mode.is_set_group_id() {
            let kept = disk.stat(handle).map_err(|error| ("mode", error))?.mode;
            if kept != wanted.mode {
                return Err(("mode", io::ErrorKind::PermissionDenied.into()));
            }
        }
    }
    Ok(())
}
