//! Root that a command of tier N sees: a file system in memory that holds the declared paths at
//! their own places, and nothing else.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, statat, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use super::declared::{self, Found, Use};
use super::view::Laid;
use super::{Result, Trying, view};
use crate::host::Missing;
use crate::policy::{SandboxPolicy, View};
use crate::{SCRATCH, sys};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_SET_ID: u64 = libc::MOUNT_ATTR_NOSUID;
const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;

/// Mount point of the new root before it becomes the root. In a mount namespace of our own it hides
/// nothing from other processes.
pub(super) const NEW_ROOT: &str = "/tmp";
/// Limit of what is written into the root itself: directories and links on the way to the declared
/// paths.
const ROOT_SIZE: &CStr = c"size=1m,nr_inodes=4096,mode=0755";
/// Size of the empty directory over a hidden one: a page, the least.
const HIDDEN_SIZE: u64 = 4096;
/// Stand-in for a hidden file: a device, which cannot be opened where it is mounted without
/// devices.
const UNOPENED: &str = "/dev/null";
/// Links that programs expect in `/dev` besides the devices.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
];

/// The new root while it is filled.
struct NewRoot {
    root: OwnedFd,
    /// Directories that are made already, by their paths from the root.
    directories: BTreeSet<PathBuf>,
}

/// Entry to be put at a path of the new root.
struct Placed<'a> {
    path: &'a Path,
    what: What,
    /// True if another tree holds its path: nothing is made there then, since that tree is the
    /// host's.
    is_nested: bool,
    /// True if it is a view or in one, where files are other files than those of the host.
    in_view: bool,
}

enum What {
    Directory(OwnedFd),
    File(OwnedFd),
    Link(PathBuf),
}

/// Makes the root and moves into it, in a mount namespace of our own, with its capabilities.
/// Returns the layer that captures the changes of a view.
pub(super) fn enter(policy: &SandboxPolicy) -> Result<Option<OwnedFd>> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).trying(|| "keep mounts to itself".to_owned())?;
    // All is opened before the new root hides any of it.
    let mounts = declared::mounts(policy);
    let opened = policy.view.as_ref().map(view::open).transpose()?;
    let mut trees = Vec::new();
    for (path, it) in &mounts {
        trees.extend(tree(path, *it)?.map(|what| (path.as_path(), what)));
    }
    if let Some(View { base, before: Some(before), .. }) = &policy.view {
        trees.extend(tree(base, Use::Read)?.map(|what| (before.as_path(), what)));
    }
    let devices: Vec<_> = super::devices(policy).collect();
    for path in &devices {
        let opened = open_tree(CWD, path, clone()).trying(|| taking(path))?;
        trees.push((path, What::File(opened)));
    }
    mount("tmpfs", NEW_ROOT, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(ROOT_SIZE))
        .trying(|| "mount a root of its own".to_owned())?;
    let root =
        openat(CWD, NEW_ROOT, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .trying(|| "open the root of its own".to_owned())?;
    let laid = match (opened, &policy.view) {
        (Some(opened), Some(view)) => {
            let laid = view::lay(opened, view, &root)?;
            Some((view.base.as_path(), laid))
        }
        _ => None,
    };
    let mut new = NewRoot { root, directories: BTreeSet::new() };
    let captures = new.fill(trees, laid, policy.scratch)?;
    for path in policy.hidden() {
        hide(&new.root, &path)?;
    }
    new.finish()?;
    Ok(captures)
}

impl NewRoot {
    /// Puts everything at its path, outer directories first.
    fn fill(
        &mut self,
        trees: Vec<(&Path, What)>,
        laid: Option<(&Path, Laid)>,
        scratch: Option<u64>,
    ) -> Result<Option<OwnedFd>> {
        let mut all = trees;
        let base = laid.as_ref().map(|(base, _)| *base);
        let captures = match laid {
            Some((base, Laid { tree, captures })) => {
                all.push((base, What::Directory(tree)));
                Some(captures)
            }
            None => None,
        };
        if let Some(size) = scratch {
            let tree = view::memory(size, "1777")?;
            all.push((Path::new(SCRATCH), What::Directory(tree)));
        }
        all.sort_by_key(|(path, _)| path.components().count());
        let paths: Vec<&Path> = all.iter().map(|(path, _)| *path).collect();
        for (path, what) in all {
            // Nothing in the scratch directory belongs to the host.
            let holds =
                |tree: &&Path| *tree != path && path.starts_with(tree) && **tree != *SCRATCH;
            let is_nested = paths.iter().any(holds);
            let in_view = base.is_some_and(|base| path.starts_with(base));
            self.place(Placed { path, what, is_nested, in_view })?;
        }
        // A declared `/dev` is the host's, in which nothing is made.
        if paths.iter().any(|tree| Path::new("/dev").starts_with(tree)) {
            return Ok(captures);
        }
        self.make_directories(Path::new("dev"))?;
        let shared = scratch.map(|_| (SCRATCH, "dev/shm"));
        for (target, name) in DEVICE_LINKS.into_iter().chain(shared) {
            match symlinkat(target, &self.root, name) {
                Ok(()) | Err(Errno::EXIST) => {} // the policy has put something there
                Err(error) => return Err(error).trying(|| format!("make `/{name}`")),
            }
        }
        Ok(captures)
    }

    /// Mounts a fresh /proc, and makes this the root.
    fn finish(mut self) -> Result<()> {
        self.make_directories(Path::new("proc"))?;
        fchdir(&self.root).trying(|| "enter the root of its own".to_owned())?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "proc", "proc", flags, None).trying(|| super::MOUNTS_PROC.to_owned())?;
        pivot_root(".", ".").trying(|| "make it the root".to_owned())?;
        unmount(".", UnmountFlags::DETACH).trying(|| "leave the root of the host".to_owned())?;
        chdir("/").trying(|| "enter the root of its own".to_owned())
    }

    /// Puts one thing at its path.
    fn place(&mut self, placed: Placed<'_>) -> Result<()> {
        let Placed { path, what, is_nested, in_view } = placed;
        let doing = || format!("mount `{}` in the root of its own", path.display());
        let inside = path.strip_prefix("/").unwrap_or(path);
        let parent = inside.parent().unwrap_or(Path::new(""));
        let tree = match what {
            What::Directory(tree) => {
                if !is_nested {
                    self.make_directories(inside)?;
                }
                tree
            }
            What::File(tree) => {
                if !is_nested {
                    self.make_directories(parent)?;
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                    match openat(&self.root, inside, flags, Mode::from_raw_mode(0o644)) {
                        Ok(_) | Err(Errno::EXIST) => {} // a device that all have
                        Err(error) => return Err(error).trying(doing),
                    }
                }
                tree
            }
            What::Link(_) if is_nested => return Ok(()), // it is there, as part of what holds it
            What::Link(target) => {
                self.make_directories(parent)?;
                return symlinkat(target, &self.root, inside).trying(doing);
            }
        };
        // The target must be the directory that was opened before: another process may have
        // replaced a directory of the host meanwhile.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let target = openat2(&self.root, inside, flags, Mode::empty(), resolve).trying(doing)?;
        if is_nested && !in_view {
            let [ours, theirs] = [&tree, &target].map(|fd| statat(fd, "", AtFlags::EMPTY_PATH));
            let (ours, theirs) = (ours.trying(doing)?, theirs.trying(doing)?);
            if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino) {
                let why = "it was replaced while the sandbox was made".to_owned();
                return Err(Missing::of_host(doing(), why));
            }
        }
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(tree.as_fd(), "", &target, "", flags).trying(doing)
    }

    /// Makes the missing directories that lead to `path`.
    fn make_directories(&mut self, path: &Path) -> Result<()> {
        let mut made = PathBuf::new();
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            made.push(name);
            if self.directories.contains(&made) {
                continue;
            }
            match mkdirat(&self.root, &made, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => {
                    return Err(error)
                        .trying(|| format!("make `/{}` in the root of its own", made.display()));
                }
            }
            self.directories.insert(made.clone());
        }
        Ok(())
    }
}

/// Covers the entry at a path below `root`: a directory with an empty one, a file with one that
/// cannot be opened. A path that is missing there need not be hidden.
fn hide(root: &OwnedFd, path: &Path) -> Result<()> {
    let doing = || format!("hide `{}`", path.display());
    let inside = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let target = match openat2(root, inside, flags, Mode::empty(), resolve) {
        Ok(target) => target,
        // It is missing, or a link that leads elsewhere is in its place.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(error) => return Err(error).trying(doing),
    };
    let found = statat(&target, "", AtFlags::EMPTY_PATH).trying(doing)?;
    let cover = match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => return Ok(()),
        FileType::Directory => view::memory(HIDDEN_SIZE, "0555")?,
        FileType::RegularFile
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => open_tree(CWD, UNOPENED, clone()).trying(doing)?,
    };
    sys::set_mount_flags(&cover, NO_SET_ID | NO_DEVICES | READ_ONLY).trying(doing)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(cover.as_fd(), "", &target, "", flags).trying(doing)
}

/// Makes the parts of /proc that change the kernel read-only for the command, and for root in it
/// (proc_sys(5)).
pub(super) fn make_proc_read_only() -> Result<()> {
    let doing = || "make /proc read-only".to_owned();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = openat(CWD, "/proc", flags, Mode::empty()).trying(doing)?;
    sys::set_mount_flags(&proc, READ_ONLY).trying(doing)
}

fn taking(path: &Path) -> String {
    format!("take `{}` into the root of its own", path.display())
}

fn clone() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC
}

/// Copies the mounts at a declared path and below, with the rights that the command has there.
fn tree(path: &Path, wanted: Use) -> Result<Option<What>> {
    let opened = match declared::open(path) {
        // A path that must stay absent is looked for afterwards.
        Err(_) if matches!(wanted, Use::Keep | Use::Pin) && declared::is_absent(path) => {
            return Ok(None);
        }
        other => other?,
    };
    let attributes = match wanted {
        Use::Read | Use::Keep => NO_SET_ID | NO_DEVICES | READ_ONLY,
        Use::Write | Use::Pin => NO_SET_ID | NO_DEVICES,
    };
    let cloned = |opened: OwnedFd| -> Result<OwnedFd> {
        let flags = clone() | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = open_tree(&opened, "", flags).trying(|| taking(path))?;
        sys::set_mount_flags(&tree, attributes).trying(|| taking(path))?;
        Ok(tree)
    };
    match (opened, wanted) {
        (Found::Directory(opened), _) => Ok(Some(What::Directory(cloned(opened)?))),
        (Found::File(opened), _) => Ok(Some(What::File(cloned(opened)?))),
        (Found::Link(target), Use::Read) => Ok(Some(What::Link(target))),
        (Found::Link(_), Use::Write | Use::Pin | Use::Keep) => Err(Missing::of_host(
            taking(path),
            "it is a symbolic link; give the path behind it".to_owned(),
        )),
    }
}
