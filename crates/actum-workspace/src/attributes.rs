//! Owner, permission bits and extended attributes of files and directories, and setting them.

use std::cell::Cell;
use std::io;

use actum_core::FileMode;

use crate::disk::{Disk, Stat, Xattr};

/// Owner, permission bits and extended attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits, or [`FileMode::LINK`].
    pub mode: FileMode,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Extended attributes ordered by name, POSIX ACLs among them.
    pub xattrs: Vec<Xattr>,
}

impl Attributes {
    /// Tests if they have more permission bits than `other`, or another owner or group.
    pub(crate) fn is_more_open_than(&self, other: &Self) -> bool {
        self.mode.permits_more_than(other.mode)
            || (self.user, self.group) != (other.user, other.group)
    }
}

/// Extended attributes that a new file has before it is given any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InheritedXattrs {
    /// None.
    Nothing,
    /// An ACL of the directory, or labels of a security module.
    Something,
}

/// Names of attributes that could not be kept, in errors.
const XATTRS: &str = "extended attributes";
const OWNER: &str = "owner";
/// Name of the directory itself, if it could not be made.
pub(crate) const PLACE: &str = "place";

/// Sets owner, extended attributes and mode of a new file or directory. Returns its inode number.
///
/// # Errors
/// Name of the attribute that could not be kept, and the reason.
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

/// Sets attributes as [`set_attributes`] does, for a new file in a directory whose files all inherit the same
/// attributes. `inherited` records those of the first file; listing attributes that are known to be empty would cost a
/// call for each file.
///
/// # Errors
/// Name of the attribute that could not be kept, and the reason.
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
    let told =
        if present.is_empty() { InheritedXattrs::Nothing } else { InheritedXattrs::Something };
    inherited.set(Some(told));
    let stat = disk.stat(handle).map_err(|error| (OWNER, error))?;
    set_attributes_beside(disk, handle, &stat, wanted, &present)?;
    Ok(stat.inode)
}

/// Sets attributes as [`set_attributes`] does, for a file whose facts and extended attributes are known.
///
/// # Errors
/// Name of the attribute that could not be kept, and the reason.
pub(crate) fn set_attributes_beside<D: Disk>(
    disk: &D,
    handle: &D::Handle,
    stat: &Stat,
    wanted: &Attributes,
    present: &[Xattr],
) -> Result<(), (&'static str, io::Error)> {
    // `None` where a call below may have changed it.
    let mut mode = Some(stat.mode);
    if (stat.user, stat.group) != (wanted.user, wanted.group) {
        disk.set_owner(handle, wanted.user, wanted.group).map_err(|error| (OWNER, error))?;
        mode = None; // changing the owner may clear bits
    }
    for (name, _) in present {
        // A new file has no other attributes, except an inherited ACL and the labels of a security module, which belong
        // to the module.
        let inherited = name.starts_with(b"system.posix_acl_");
        if inherited && !wanted.xattrs.iter().any(|(wanted, _)| wanted == name) {
            disk.remove_xattr(handle, name).map_err(|error| (XATTRS, error))?;
        }
    }
    for (name, value) in &wanted.xattrs {
        if !present.iter().any(|(n, v)| n == name && v == value) {
            disk.set_xattr(handle, name, value).map_err(|error| (XATTRS, error))?;
            mode = None; // an ACL shows in the mode
        }
    }
    // A link has no permission bits of its own (symlink(7)).
    if mode != Some(wanted.mode) && !wanted.mode.is_link() {
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

/// Sets attributes as [`set_attributes`] does, for a file that a command made: removes its own extended attributes and
/// the marks of overlayfs.
///
/// # Errors
/// Name of the attribute that could not be kept, and the reason.
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

/// Makes a directory of this name in the stage directory, with all its attributes.
pub(crate) fn make_directory<D: Disk>(
    disk: &D,
    stage: &D::Handle,
    name: &[u8],
    attributes: &Attributes,
) -> std::result::Result<(), (&'static str, io::Error)> {
    let made = disk.make_directory(stage, name, attributes.mode);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // of an earlier try
        made => made.map_err(|error| (PLACE, error))?,
    }
    let directory = disk.open_directory(stage, name).map_err(|error| (PLACE, error))?;
    set_attributes(disk, &directory, attributes).map(drop)
}
