//! Reads and sets the owner, permission bits and extended attributes of files and directories.

use std::cell::Cell;
use std::io;

use actum_core::FileMode;

use crate::disk::{Disk, Stat, Xattr};

/// Owner, permission bits and extended attributes of a file, directory or symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits, or [`FileMode::LINK`] for a symbolic link.
    pub mode: FileMode,
    /// User ID of the owner.
    pub user: u32,
    /// Group ID.
    pub group: u32,
    /// Extended attributes including POSIX ACLs, ordered by name.
    pub xattrs: Vec<Xattr>,
}

impl Attributes {
    /// Returns true if these attributes grant permissions that `other` does not grant, or if the owner or group differs.
    pub(crate) fn is_more_open_than(&self, other: &Self) -> bool {
        self.mode.permits_more_than(other.mode)
            || (self.user, self.group) != (other.user, other.group)
    }
}

/// Presence of extended attributes that new files in a directory inherit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InheritedXattrs {
    /// New files inherit no extended attributes.
    Nothing,
    /// New files may inherit the ACL of the directory or labels of a security module.
    Something,
}

/// Name of the extended attributes in the error for attributes that cannot be preserved.
const XATTRS: &str = "extended attributes";
const OWNER: &str = "owner";
/// Name of a directory itself in the same error, if the directory could not be created.
pub(crate) const PLACE: &str = "directory entry";

/// Sets the owner, extended attributes and mode of a new file or directory, and returns its inode number.
///
/// # Errors
/// Returns the name of the attribute that could not be preserved, and the underlying error.
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

/// Sets attributes like [`set_attributes`], for one of several new files that inherit the same extended attributes from
/// their directory. `inherited` remembers whether there are any, which saves a system call for each further file.
///
/// # Errors
/// Returns the name of the attribute that could not be preserved, and the underlying error.
pub(crate) fn set_new_attributes<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    wanted: &Attributes,
    inherited: &Cell<Option<InheritedXattrs>>,
) -> Result<u64, (&'static str, io::Error)> {
    let present = match inherited.get() {
        Some(InheritedXattrs::Nothing) => Vec::new(),
        Some(InheritedXattrs::Something) | None => {
            disk.xattrs(handle).map_err(|error| (XATTRS, error))?
        }
    };
    let updated =
        if present.is_empty() { InheritedXattrs::Nothing } else { InheritedXattrs::Something };
    inherited.set(Some(updated));
    let stat = disk.stat(handle).map_err(|error| (OWNER, error))?;
    set_attributes_beside(disk, handle, &stat, wanted, &present)?;
    Ok(stat.inode)
}

/// Sets attributes like [`set_attributes`], for a file whose metadata and extended attributes are already known.
///
/// # Errors
/// Returns the name of the attribute that could not be preserved, and the underlying error.
pub(crate) fn set_attributes_beside<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    stat: &Stat,
    wanted: &Attributes,
    present: &[Xattr],
) -> Result<(), (&'static str, io::Error)> {
    // Current mode, or `None` if a call below may have changed it.
    let mut mode = Some(stat.mode);
    if (stat.user, stat.group) != (wanted.user, wanted.group) {
        disk.set_owner(handle, wanted.user, wanted.group).map_err(|error| (OWNER, error))?;
        mode = None; // changing the owner may clear mode bits
    }
    for (name, _) in present {
        // A new file has only two kinds of attributes: an inherited ACL, which is removed, and labels of a security
        // module, which belong to that module and are kept.
        let inherited = name.starts_with(b"system.posix_acl_");
        if inherited && !wanted.xattrs.iter().any(|(wanted, _)| wanted == name) {
            disk.remove_xattr(handle, name).map_err(|error| (XATTRS, error))?;
        }
    }
    for (name, value) in &wanted.xattrs {
        if !present.iter().any(|(n, v)| n == name && v == value) {
            disk.set_xattr(handle, name, value).map_err(|error| (XATTRS, error))?;
            mode = None; // setting an ACL can change the mode
        }
    }
    // A symbolic link does not have its own permission bits (symlink(7)).
    if mode != Some(wanted.mode) && !wanted.mode.is_link() {
        disk.set_mode(handle, wanted.mode).map_err(|error| ("mode", error))?;
        // The kernel can clear the set-group-ID bit without reporting an error (chmod(2)).
        if wanted.mode.is_set_group_id() {
            let kept = disk.stat(handle).map_err(|error| ("mode", error))?.mode;
            if kept != wanted.mode {
                return Err(("mode", io::ErrorKind::PermissionDenied.into()));
            }
        }
    }
    Ok(())
}

/// Sets attributes like [`set_attributes`], for a file that a command created. Removes unwanted extended attributes of
/// the file itself and those of overlayfs.
///
/// # Errors
/// Returns the name of the attribute that could not be preserved, and the underlying error.
pub(crate) fn set_taken_attributes<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    (stat, present): (&Stat, &[Xattr]),
    wanted: &Attributes,
) -> Result<(), (&'static str, io::Error)> {
    let is_own = |name: &[u8]| {
        [&b"user."[..], b"trusted.", b"security.capability"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    for (name, _) in present {
        if is_own(name) && !wanted.xattrs.iter().any(|(wanted, _)| wanted == name) {
            disk.remove_xattr(handle, name).map_err(|error| (XATTRS, error))?;
        }
    }
    set_attributes_beside(disk, handle, stat, wanted, present)
}

/// Creates a directory with the given name and attributes in the stage directory.
///
/// # Errors
/// Returns the name of the attribute that could not be preserved, and the underlying error.
pub(crate) fn make_directory<D: Disk>(
    disk: &D,
    stage: &D::Handle,
    name: &[u8],
    attributes: &Attributes,
) -> std::result::Result<(), (&'static str, io::Error)> {
    let made = disk.make_directory(stage, name, attributes.mode);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // left by an earlier attempt
        made => made.map_err(|error| (PLACE, error))?,
    }
    let directory = disk.open_directory(stage, name).map_err(|error| (PLACE, error))?;
    set_attributes(disk, &directory, attributes).map(drop)
}
