//! The root that a command of tier N sees: a file system in memory that holds what was declared, at
//! its own paths, and nothing else.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use super::{Result, Trying};
use crate::policy::SandboxPolicy;
use crate::sys;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_SET_ID: u64 = libc::MOUNT_ATTR_NOSUID;
const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;

/// Where the new root is mounted before it becomes the root. In a mount namespace of our own that
/// hides nothing from anybody else.
const NEW_ROOT: &str = "/tmp";
/// How large what is written into the root itself may become: directories and links on the way to
/// what was declared.
const ROOT_SIZE: &CStr = c"size=1m,nr_inodes=4096,mode=0755";

/// A directory or file of the host that the root is to hold.
struct Declared {
    path: PathBuf,
    tree: OwnedFd,
    is_directory: bool,
}

/// Makes the root and moves into it. In a mount namespace of our own, with its capabilities.
pub(super) fn enter(policy: &SandboxPolicy) -> Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).trying(|| "keep mounts to itself".to_owned())?;
    let trees = declared(policy)?;
    let devices = super::DEVICES.map(device);
    mount("tmpfs", NEW_ROOT, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(ROOT_SIZE))
        .trying(|| "mount a root of its own".to_owned())?;
    let root =
        openat(CWD, NEW_ROOT, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .trying(|| "open the root of its own".to_owned())?;
    for tree in &trees {
        place(&root, tree)?;
    }
    for device in devices {
        place(&root, &device?)?;
    }
    make_directories(&root, Path::new("proc"))?;
    fchdir(&root).trying(|| "enter the root of its own".to_owned())?;
    mount(
        "proc",
        "proc",
        "proc",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )
    .trying(|| "mount a fresh /proc".to_owned())?;
    pivot_root(".", ".").trying(|| "make it the root".to_owned())?;
    unmount(".", UnmountFlags::DETACH).trying(|| "leave the root of the host".to_owned())?;
    chdir("/").trying(|| "enter the root of its own".to_owned())
}

/// What the policy declares, opened before anything hides it; outer directories come first.
fn declared(policy: &SandboxPolicy) -> Result<Vec<Declared>> {
    let mut wanted: Vec<(&PathBuf, u64)> = Vec::new();
    let flags = NO_SET_ID | NO_DEVICES;
    wanted.extend(policy.read.iter().chain(&policy.exec).map(|path| (path, flags | READ_ONLY)));
    wanted.extend(policy.write.iter().map(|path| (path, flags)));
    wanted.extend(policy.deny_write.iter().map(|path| (path, flags | READ_ONLY)));
    wanted.sort_by_key(|(path, _)| path.components().count());
    wanted.into_iter().map(|(path, flags)| open(path, flags)).collect()
}

fn open(path: &Path, flags: u64) -> Result<Declared> {
    let doing = || format!("take `{}` into the root of its own", path.display());
    let recursive = OpenTreeFlags::AT_RECURSIVE;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | recursive;
    let tree = open_tree(CWD, path, clone).trying(doing)?;
    sys::set_mount_flags(&tree, flags).trying(doing)?;
    let stat = statat(&tree, "", AtFlags::EMPTY_PATH).trying(doing)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Ok(Declared { path: path.to_owned(), tree, is_directory })
}

fn device(name: &str) -> Result<Declared> {
    let path = Path::new("/dev").join(name);
    let doing = || format!("take `{}` into the root of its own", path.display());
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, &path, clone).trying(doing)?;
    Ok(Declared { path: path.clone(), tree, is_directory: false })
}

/// Mounts one tree at its path below `root`.
fn place(root: &OwnedFd, declared: &Declared) -> Result<()> {
    let Declared { path, tree, is_directory } = declared;
    let doing = || format!("mount `{}` in the root of its own", path.display());
    let inside = path.strip_prefix("/").unwrap_or(path);
    if *is_directory {
        make_directories(root, inside)?;
    } else {
        make_directories(root, inside.parent().unwrap_or(Path::new("")))?;
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        // Where a directory that holds it is mounted already the file is there.
        drop(openat(root, inside, flags, Mode::from_raw_mode(0o644)));
    }
    move_mount(tree, "", root, inside, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).trying(doing)
}

/// Makes the directories that lead to `path`, as far as they are not there.
fn make_directories(root: &OwnedFd, path: &Path) -> Result<()> {
    let mut made = PathBuf::new();
    for component in path.components() {
        let Component::Normal(name) = component else { continue };
        made.push(name);
        match mkdirat(root, &made, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => {
                return Err(error)
                    .trying(|| format!("make `/{}` in the root of its own", made.display()));
            }
        }
    }
    Ok(())
}
