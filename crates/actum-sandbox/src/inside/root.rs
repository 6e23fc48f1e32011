//! Root directory of a command in tier N: an in-memory file system that contains only the declared paths,
//! at the same locations as on the host.

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

/// Mount point of the new root until it becomes the root. Only this mount namespace is affected, so other
/// processes can still see the directory below it.
pub(super) const NEW_ROOT: &str = "/tmp";
/// Mount options that limit the size of the root itself, which holds only the directories and links that
/// lead to the declared paths.
const ROOT_SIZE: &CStr = c"size=1m,nr_inodes=4096,mode=0755";
/// Size of the empty file system that covers a hidden directory: one page, which is the minimum.
const HIDDEN_SIZE: u64 = 4096;
/// Device that covers a hidden file. It cannot be opened because it is mounted with `nodev`.
const UNOPENED: &str = "/dev/null";
/// Symbolic links that programs expect in `/dev` in addition to devices, each as its target and path.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
];

/// Root directory that is still being filled with mounts.
struct NewRoot {
    root: OwnedFd,
    /// Directories created so far, as paths relative to the root.
    directories: BTreeSet<PathBuf>,
}

/// Entry to be created or mounted at a path of the new root.
struct Placed<'a> {
    path: &'a Path,
    what: MountSource,
    /// Whether the path is below another mounted tree. If so, no mount point is created because that would
    /// change a directory of the host.
    is_nested: bool,
    /// Whether the path is at or below a view, where files differ from those of the host.
    in_view: bool,
}

enum MountSource {
    Directory(OwnedFd),
    File(OwnedFd),
    Link(PathBuf),
}

/// Creates the new root and switches to it. The caller must be in a mount namespace of its own and have
/// its capabilities. Returns the layer that captures changes if the policy has a view.
pub(super) fn enter(policy: &SandboxPolicy) -> Result<Option<OwnedFd>> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).trying(|| "make all mounts private".to_owned())?;
    // Open all paths before the new root is mounted, because it may cover some of them.
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
        trees.push((path, MountSource::File(opened)));
    }
    mount("tmpfs", NEW_ROOT, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(ROOT_SIZE))
        .trying(|| "mount a private root".to_owned())?;
    let root =
        openat(CWD, NEW_ROOT, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .trying(|| "open the private root".to_owned())?;
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
    /// Mounts or creates all entries at their paths, outer directories first. Returns the layer that
    /// captures the changes in a view.
    fn fill(
        &mut self,
        trees: Vec<(&Path, MountSource)>,
        laid: Option<(&Path, Laid)>,
        scratch: Option<u64>,
    ) -> Result<Option<OwnedFd>> {
        let mut all = trees;
        let base = laid.as_ref().map(|(base, _)| *base);
        let captures = match laid {
            Some((base, Laid { tree, captures })) => {
                all.push((base, MountSource::Directory(tree)));
                Some(captures)
            }
            None => None,
        };
        if let Some(size) = scratch {
            let tree = view::memory(size, "1777")?;
            all.push((Path::new(SCRATCH), MountSource::Directory(tree)));
        }
        all.sort_by_key(|(path, _)| path.components().count());
        let paths: Vec<&Path> = all.iter().map(|(path, _)| *path).collect();
        for (path, what) in all {
            // Mount points may be created in the scratch directory because it is not part of the host.
            let holds =
                |tree: &&Path| *tree != path && path.starts_with(tree) && **tree != *SCRATCH;
            let is_nested = paths.iter().any(holds);
            let in_view = base.is_some_and(|base| path.starts_with(base));
            self.place(Placed { path, what, is_nested, in_view })?;
        }
        // If the policy declares `/dev`, it is the directory of the host, so add nothing to it.
        if paths.iter().any(|tree| Path::new("/dev").starts_with(tree)) {
            return Ok(captures);
        }
        self.make_directories(Path::new("dev"))?;
        let shared = scratch.map(|_| (SCRATCH, "dev/shm"));
        for (target, name) in DEVICE_LINKS.into_iter().chain(shared) {
            match symlinkat(target, &self.root, name) {
                Ok(()) | Err(Errno::EXIST) => {} // the policy declares this path
                Err(error) => return Err(error).trying(|| format!("create `/{name}`")),
            }
        }
        Ok(captures)
    }

    /// Mounts a fresh /proc, switches to the new root and detaches the old one.
    fn finish(mut self) -> Result<()> {
        self.make_directories(Path::new("proc"))?;
        fchdir(&self.root).trying(|| "enter the private root".to_owned())?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "proc", "proc", flags, None).trying(|| super::MOUNTS_PROC.to_owned())?;
        pivot_root(".", ".").trying(|| "switch to the private root".to_owned())?;
        unmount(".", UnmountFlags::DETACH).trying(|| "detach the root of the host".to_owned())?;
        chdir("/").trying(|| "enter the private root".to_owned())
    }

    /// Creates or mounts one entry at its path.
    fn place(&mut self, placed: Placed<'_>) -> Result<()> {
        let Placed { path, what, is_nested, in_view } = placed;
        let doing = || format!("mount `{}` in the private root", path.display());
        let inside = path.strip_prefix("/").unwrap_or(path);
        let parent = inside.parent().unwrap_or(Path::new(""));
        let tree = match what {
            MountSource::Directory(tree) => {
                if !is_nested {
                    self.make_directories(inside)?;
                }
                tree
            }
            MountSource::File(tree) => {
                if !is_nested {
                    self.make_directories(parent)?;
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                    match openat(&self.root, inside, flags, Mode::from_raw_mode(0o644)) {
                        Ok(_) | Err(Errno::EXIST) => {} // a device that is always mounted
                        Err(error) => return Err(error).trying(doing),
                    }
                }
                tree
            }
            MountSource::Link(_) if is_nested => return Ok(()), // the mounted tree already contains the link
            MountSource::Link(target) => {
                self.make_directories(parent)?;
                return symlinkat(target, &self.root, inside).trying(doing);
            }
        };
        // Check that the target is the entry that was opened before, because another process may have
        // replaced it on the host in the meantime.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let target = openat2(&self.root, inside, flags, Mode::empty(), resolve).trying(doing)?;
        if is_nested && !in_view {
            let [ours, theirs] = [&tree, &target].map(|fd| statat(fd, "", AtFlags::EMPTY_PATH));
            let (ours, theirs) = (ours.trying(doing)?, theirs.trying(doing)?);
            if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino) {
                let why = "it was replaced while the sandbox was being set up".to_owned();
                return Err(Missing::of_host(doing(), why));
            }
        }
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(tree.as_fd(), "", &target, "", flags).trying(doing)
    }

    /// Creates `path` and its parents as directories in the new root, unless they exist.
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
                        .trying(|| format!("create `/{}` in the private root", made.display()));
                }
            }
            self.directories.insert(made.clone());
        }
        Ok(())
    }
}

/// Covers the entry at a path below `root`: a directory with an empty one, and a file with one that cannot
/// be opened. Does nothing if the path does not exist.
fn hide(root: &OwnedFd, path: &Path) -> Result<()> {
    let doing = || format!("hide `{}`", path.display());
    let inside = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let target = match openat2(root, inside, flags, Mode::empty(), resolve) {
        Ok(target) => target,
        // The path does not exist, or it leads through a symbolic link to a different location.
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

/// Mounts /proc read-only, so that not even a command that runs as root can change settings of the kernel
/// through it (proc_sys(5)).
pub(super) fn make_proc_read_only() -> Result<()> {
    let doing = || "make /proc read-only".to_owned();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = openat(CWD, "/proc", flags, Mode::empty()).trying(doing)?;
    sys::set_mount_flags(&proc, READ_ONLY).trying(doing)
}

fn taking(path: &Path) -> String {
    format!("clone the mount of `{}` for the private root", path.display())
}

fn clone() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC
}

/// Clones the mounts at and below a declared path, with the access rights that the command has there.
/// Returns `None` for a protected path that does not exist.
fn tree(path: &Path, wanted: Use) -> Result<Option<MountSource>> {
    let opened = match declared::open(path) {
        // After the command has ended, the supervisor checks that this path is still absent.
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
        (Found::Directory(opened), _) => Ok(Some(MountSource::Directory(cloned(opened)?))),
        (Found::File(opened), _) => Ok(Some(MountSource::File(cloned(opened)?))),
        (Found::Link(target), Use::Read) => Ok(Some(MountSource::Link(target))),
        (Found::Link(_), Use::Write | Use::Pin | Use::Keep) => Err(Missing::of_host(
            taking(path),
            "it is a symbolic link; use the resolved path instead".to_owned(),
        )),
    }
}
