//! View: one directory laid over another (overlayfs), so that the changes of a command go into a
//! layer of its own.

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

/// Directories of a view, uppermost first.
pub(super) struct Opened {
    lower: Vec<OwnedFd>,
    /// Directory for the layer over them; memory without one.
    upper: Option<OwnedFd>,
}

/// A view that was made.
pub(super) struct Laid {
    /// Tree that the command sees, mounted nowhere yet.
    pub(super) tree: OwnedFd,
    /// Layer that captures the changes.
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
            format!("make a view of `{}`", path.display()),
            "it is no directory".to_owned(),
        )),
    }
}

/// A file system in memory of no more than `size` bytes, mounted nowhere yet.
pub(super) fn memory(size: u64, mode: &str) -> Result<OwnedFd> {
    let doing = || "make a file system in memory".to_owned();
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).trying(doing)?;
    fsconfig_set_string(&context, "size", size.to_string()).trying(doing)?;
    // Each file takes memory besides its content, which `size` does not count.
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

/// Lays a layer over the directories of a view: on a disk if the view names a directory that the
/// kernel can use, else in memory. The latter is mounted in `root`, the new root, for a moment:
/// overlayfs refuses a file system that is not mounted.
pub(super) fn lay(opened: Opened, view: &View, root: &OwnedFd) -> Result<Laid> {
    const PLACE: &str = ".captures";
    let doing = || format!("make a view of `{}`", view.base.display());
    // The uppermost layer gets the mode of the base.
    let base = opened.lower.last().map(fstat).transpose().trying(doing)?;
    let mode = base.map_or(Mode::RWXU, |stat| Mode::from_raw_mode(stat.st_mode));
    // Some file systems lack features that overlayfs needs.
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

/// Makes the two directories of an overlay in `place`, and the overlay. Fails if they cannot have
/// marks, without which a directory could not be replaced by another.
fn overlay(place: &OwnedFd, opened: &Opened, mode: Mode) -> rustix::io::Result<Laid> {
    let layer = |name: &str| -> rustix::io::Result<OwnedFd> {
        mkdirat(place, name, Mode::RWXU)?;
        let made = openat(place, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        fchmod(&made, mode)?; // whatever the umask is
        Ok(made)
    };
    let (captures, work) = (layer("upper")?, layer("work")?);
    fsetxattr(&work, crate::layer::OPAQUE, b"y", XattrFlags::empty())?;
    // Paths may hold separators of options. Descriptors do not.
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
    // Marks that an ordinary user may set, and no syncs: a caller that needs the changes durable syncs them.
    for flag in ["userxattr", "volatile"] {
        fsconfig_set_flag(&context, flag)?;
    }
    Ok(Laid { tree: mounted(&context)?, captures })
}
