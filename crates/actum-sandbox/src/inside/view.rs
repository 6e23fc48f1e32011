//! Mounts a view: an overlay (overlayfs) over a directory, which stores the command's changes in a
//! separate layer.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, XattrFlags, fchmod, fsetxattr, fstat, mkdirat, openat, unlinkat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, unmount,
};

use super::declared::{self, Found};
use super::root::NEW_ROOT;
use super::{Result, Trying};
use crate::host::Missing;
use crate::policy::View;

/// Opened directories that make up a view.
pub(super) struct Opened {
    /// Lower directories, uppermost first.
    lower: Vec<OwnedFd>,
    /// Directory that holds the upper layer, or `None` to keep that layer in memory.
    upper: Option<OwnedFd>,
}

/// View that was created and is ready to be mounted.
pub(super) struct Laid {
    /// Tree that the command will see, not yet attached to a mount point.
    pub(super) tree: OwnedFd,
    /// Upper layer, in which overlayfs stores the command's changes.
    pub(super) captures: OwnedFd,
}

/// Opens the directories of a view.
pub(super) fn open(view: &View) -> Result<Opened> {
    let layers = view.staged.iter().chain([&view.base]);
    let lower = layers.map(|path| directory(path)).collect::<Result<_>>()?;
    let upper = view.upper.as_ref().map(|path| directory(path)).transpose()?;
    Ok(Opened { lower, upper })
}

fn directory(path: &Path) -> Result<OwnedFd> {
    match declared::open(path)? {
        Found::Directory(opened) => Ok(opened),
        Found::File(_) | Found::Link(_) => Err(Missing::of_host(
            format!("create a view of `{}`", path.display()),
            "it is not a directory".to_owned(),
        )),
    }
}

/// Creates an in-memory file system of at most `size` bytes that is not yet attached to a mount point.
pub(super) fn memory(size: u64, mode: &str) -> Result<OwnedFd> {
    let doing = || "create an in-memory file system".to_owned();
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).trying(doing)?;
    fsconfig_set_string(&context, "size", size.to_string()).trying(doing)?;
    // `size` only limits file content, so limit the number of files as well.
    let files = size / 4096 + 1024;
    fsconfig_set_string(&context, "nr_inodes", files.to_string()).trying(doing)?;
    fsconfig_set_string(&context, "mode", mode).trying(doing)?;
    mounted(&context).trying(doing)
}

fn mounted(context: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    fsconfig_create(context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Creates an overlay over the directories of a view. Its upper layer is in the directory that the view
/// names, if the kernel can use it for that, and in memory otherwise. An in-memory layer is briefly
/// mounted below `root`, the new root, because overlayfs rejects file systems that are not mounted.
pub(super) fn lay(opened: Opened, view: &View, root: &OwnedFd) -> Result<Laid> {
    const PLACE: &str = ".captures";
    let doing = || format!("create a view of `{}`", view.base.display());
    // The upper layer determines the mode of the view's root, so give it the mode of the base.
    let base = opened.lower.last().map(fstat).transpose().trying(doing)?;
    let mode = base.map_or(Mode::RWXU, |stat| Mode::from_raw_mode(stat.st_mode));
    // Some file systems lack features that overlayfs needs, so fall back to memory if this fails.
    if let Some(Ok(laid)) = opened.upper.as_ref().map(|place| overlay(place, &opened, mode)) {
        return Ok(laid);
    }
    let memory = memory(view.max, "0700")?;
    mkdirat(root, PLACE, mode).trying(doing)?;
    move_mount(&memory, "", root, PLACE, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).trying(doing)?;
    let laid = overlay(&memory, &opened, mode).trying(doing)?;
    unmount(format!("{NEW_ROOT}/{PLACE}"), UnmountFlags::DETACH).trying(doing)?;
    unlinkat(root, PLACE, rustix::fs::AtFlags::REMOVEDIR).trying(doing)?;
    Ok(laid)
}

/// Creates an overlay and its two directories in `place`. Fails if the file system does not support user
/// extended attributes, which overlayfs needs to mark replaced directories.
fn overlay(place: &OwnedFd, opened: &Opened, mode: Mode) -> rustix::io::Result<Laid> {
    let layer = |name: &str| -> rustix::io::Result<OwnedFd> {
        mkdirat(place, name, Mode::RWXU)?;
        let made = openat(place, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        fchmod(&made, mode)?; // mkdirat(2) applies the umask
        Ok(made)
    };
    let (captures, work) = (layer("upper")?, layer("work")?);
    fsetxattr(&work, crate::layer::OPAQUE, b"y", XattrFlags::empty())?;
    // Pass directories by descriptor because paths may contain option separators such as `:`.
    let by_number = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let lower: Vec<_> = opened.lower.iter().map(by_number).collect();
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let options = [
        ("lowerdir", lower.join(":")),
        ("upperdir", by_number(&captures)),
        ("workdir", by_number(&work)),
    ];
    for (key, value) in options {
        fsconfig_set_string(&context, key, value)?;
    }
    // `userxattr` stores marks in attributes that ordinary users may set. `volatile` turns off syncing
    // because callers that need durable changes sync them themselves.
    for flag in ["userxattr", "volatile"] {
        fsconfig_set_flag(&context, flag)?;
    }
    Ok(Laid { tree: mounted(&context)?, captures })
}
