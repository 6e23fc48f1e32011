//! Paths that a policy declares. They are opened before the command starts, so that it cannot redirect them.
//!
//! Symbolic links within a path are not followed because an earlier command may have created them. If a
//! declared path is itself a symbolic link, only the link is exposed, and its target must be declared
//! as well.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;

use super::{Result, Trying};
use crate::host::Missing;
use crate::policy::SandboxPolicy;

/// File system entry found at a declared path.
pub(super) enum Found {
    Directory(OwnedFd),
    File(OwnedFd),
    /// A symbolic link with this target.
    Link(PathBuf),
}

/// Access that the command has to a path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    Write,
    /// A separate mount without further restrictions, so that the directory cannot be renamed.
    Pin,
    /// No writing, even though the path is below a writable directory.
    Keep,
}

/// Opens a declared path without following symbolic links.
pub(super) fn open(path: &Path) -> Result<Found> {
    let doing = || format!("open `{}`", path.display());
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match openat2(CWD, path, flags, Mode::empty(), resolve) {
        // A sandbox around this one, such as actum's own, may deny openat2(2).
        Err(Errno::NOSYS) => open_by_component(path),
        other => other,
    };
    let opened = match opened {
        Err(Errno::LOOP) => Err(Missing::of_host(
            doing(),
            "it leads through a symbolic link; use the resolved path instead".to_owned(),
        )),
        other => other.trying(doing),
    }?;
    let stat = statat(&opened, "", AtFlags::EMPTY_PATH).trying(doing)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Found::Directory(opened),
        FileType::Symlink => {
            let target = readlinkat(&opened, "", Vec::new()).trying(doing)?;
            Found::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
        }
        FileType::RegularFile
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Found::File(opened),
    })
}

/// Opens a path component by component and fails with ELOOP if a directory in it is a symbolic link. The
/// path must not contain `.` or `..`.
fn open_by_component(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, "/", flags | OFlags::DIRECTORY, Mode::empty())?;
    for component in path.components().skip(1) {
        let stat = statat(&at, "", AtFlags::EMPTY_PATH)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
        at = openat(&at, component.as_os_str(), flags, Mode::empty())?;
    }
    Ok(at)
}

/// Returns whether no entry exists at a path, not even a dangling symbolic link.
pub(crate) fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns the paths to mount in the private root, outer directories first. The base of a view is not
/// included.
pub(super) fn mounts(policy: &SandboxPolicy) -> Vec<(PathBuf, Use)> {
    let written: Vec<&PathBuf> = policy.written().collect();
    let inside = |path: &Path| written.iter().any(|tree| path.starts_with(tree));
    let mut uses: BTreeMap<&Path, Use> = BTreeMap::new();
    // Paths below a writable directory are already readable and executable there.
    for path in policy.read.iter().chain(&policy.exec).filter(|path| !inside(path)) {
        uses.insert(path, Use::Read);
    }
    let caches = policy.view.iter().flat_map(|view| &view.caches);
    for path in policy.write.iter().chain(caches) {
        uses.insert(path, Use::Write);
    }
    // Without a pin, the command could rename a parent of a protected path and put another directory in
    // its place. Mount points cannot be renamed. A view needs no pins because its renames do not reach
    // the host, and mounting a directory of the host would expose it.
    for path in &policy.deny_write {
        let trees = policy.write.iter().filter(|tree| path.starts_with(tree));
        let trees: Vec<&PathBuf> = trees.collect();
        let inside = |parent: &&Path| trees.iter().any(|tree| parent.starts_with(tree));
        for parent in path.ancestors().skip(1).filter(inside) {
            if !trees.iter().any(|tree| tree.as_path() == parent) {
                uses.entry(parent).or_insert(Use::Pin);
            }
        }
    }
    for path in &policy.deny_write {
        uses.insert(path, Use::Keep);
    }
    let mut mounts: Vec<_> = uses.into_iter().map(|(path, it)| (path.to_owned(), it)).collect();
    mounts.sort_by_key(|(path, _)| path.components().count());
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-16
    #[test]
    fn neither_open_method_follows_intermediate_symlinks() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        assert!(matches!(open(&root.join("real/inner")), Ok(Found::Directory(_))));
        let link = open(&root.join("link"));
        assert!(matches!(link, Ok(Found::Link(target)) if target == root.join("real")));
        let refused = open(&root.join("link/inner")).err().unwrap();
        assert!(refused.why.contains("leads through a symbolic link"), "{refused}");
        assert!(open_by_component(&root.join("real/inner")).is_ok());
        assert!(open_by_component(&root.join("link")).is_ok());
        assert_eq!(open_by_component(&root.join("link/inner")).err(), Some(Errno::LOOP));
        assert_eq!(open_by_component(&root.join("none")).err(), Some(Errno::NOENT));
    }

    /// AA-10
    #[test]
    fn protected_paths_are_mounted_after_pinned_parents() {
        let policy = SandboxPolicy {
            read: vec!["/usr".into(), "/work/vendor".into()],
            write: vec!["/work".into()],
            deny_write: vec!["/work/a/b/.git".into(), "/work/.env".into()],
            ..SandboxPolicy::new("/work")
        };
        let mounts: Vec<_> = mounts(&policy)
            .into_iter()
            .map(|(path, it)| (path.display().to_string(), it))
            .collect();
        let expected = [
            ("/usr", Use::Read),
            ("/work", Use::Write),
            ("/work/.env", Use::Keep),
            ("/work/a", Use::Pin),
            ("/work/a/b", Use::Pin),
            ("/work/a/b/.git", Use::Keep),
        ];
        assert_eq!(mounts, expected.map(|(path, it)| (path.to_owned(), it)));
    }
}
