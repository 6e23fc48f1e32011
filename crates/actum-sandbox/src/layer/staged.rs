//! Layer of staged changes, which is created outside of the sandbox and visible inside it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, XattrFlags, fchmod, fsetxattr, fstat,
    mkdirat, mknodat, openat, openat2, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::{LayerError, OPAQUE, Result, ResultExt};
use crate::scratch::Scratch;

/// Directory of staged changes that can be used as a read-only layer over the base of a view.
#[derive(Debug)]
pub struct StagedLayer {
    root: OwnedFd,
    base: OwnedFd,
    path: PathBuf,
    /// Temporary directory that contains the layer and is removed when the layer is dropped.
    _temporary: Option<Scratch>,
}

impl StagedLayer {
    /// Creates an empty layer at `path`, which must not exist yet, for a view of `base`.
    ///
    /// # Errors
    /// Returns [`LayerError::Io`] if the directory cannot be created or `base` cannot be opened.
    pub fn create(path: &Path, base: &Path) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let base = openat(CWD, base, flags, Mode::empty()).doing("open", base)?;
        std::fs::DirBuilder::new().mode(0o700).create(path).doing("create", path)?;
        let root = openat(CWD, path, flags, Mode::empty()).doing("open", path)?;
        fchmod(&root, mode_of(&base, path)?).doing("set the mode of", path)?;
        Ok(Self { root, base, path: path.to_owned(), _temporary: None })
    }

    /// Creates an empty layer in a temporary directory of the host, which is removed when the returned value
    /// is dropped.
    ///
    /// # Errors
    /// Returns [`LayerError::Io`] if a directory cannot be created or `base` cannot be opened.
    pub fn temporary(base: &Path) -> Result<Self> {
        let scratch = Scratch::new().doing("create", Path::new(crate::SCRATCH))?;
        let made = Self::create(&scratch.path().join("staged"), base)?;
        Ok(Self { _temporary: Some(scratch), ..made })
    }

    /// Returns the path of the layer, for use as [`View::staged`](crate::View::staged).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stages a file with the given content and mode. Replaces any existing entry in the layer.
    ///
    /// # Errors
    /// Returns [`LayerError`] if the path is invalid, or if reading `content` or writing the file fails.
    pub fn file(&self, path: &Path, mut content: impl Read, mode: u32) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&parent, name, flags, Mode::RUSR | Mode::WUSR).doing("create", path)?;
        let mut file = File::from(file);
        io::copy(&mut content, &mut file).and_then(|_| file.flush()).doing("write", path)?;
        file.set_permissions(std::fs::Permissions::from_mode(mode)).doing("set the mode of", path)
    }

    /// Stages a new, empty directory. Replaces any existing entry in the layer, and hides the content of
    /// a directory at this path in the base.
    ///
    /// # Errors
    /// Returns [`LayerError`] if the path is invalid or the directory cannot be created.
    pub fn directory(&self, path: &Path, mode: u32) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        mkdirat(&parent, name, Mode::RWXU).doing("create", path)?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let made = openat(&parent, name, flags, Mode::empty()).doing("open", path)?;
        fsetxattr(&made, OPAQUE, b"y", XattrFlags::empty()).doing("mark", path)?;
        fchmod(&made, Mode::from_raw_mode(mode)).doing("set the mode of", path)
    }

    /// Stages new permissions for a directory without changing its content.
    ///
    /// # Errors
    /// Returns [`LayerError`] if the path is invalid or the mode cannot be set.
    pub fn permissions(&self, path: &Path, mode: u32) -> Result<()> {
        let (directory, _) = self.parent(&path.join("inside"))?;
        fchmod(&directory, Mode::from_raw_mode(mode)).doing("set the mode of", path)
    }

    /// Stages a symbolic link to `target`. Replaces any existing entry in the layer.
    ///
    /// # Errors
    /// Returns [`LayerError`] if the path is invalid or the link cannot be created.
    pub fn symlink(&self, path: &Path, target: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        symlinkat(target, &parent, name).doing("create", path)
    }

    /// Stages the deletion of a path and everything below it.
    ///
    /// # Errors
    /// Returns [`LayerError`] if the path is invalid or the deletion cannot be recorded.
    pub fn delete(&self, path: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        mknodat(&parent, name, FileType::CharacterDevice, Mode::empty(), 0).doing("mark", path)
    }

    /// Removes the layer's entry at a name, including everything below it.
    fn clear(&self, parent: &OwnedFd, name: &Path, path: &Path) -> Result<()> {
        let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error).doing("inspect", path),
        };
        match FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            // Only this process writes to the layer, so no directory in the path can be a symbolic
            // link.
            true => std::fs::remove_dir_all(self.path.join(path)).doing("replace", path),
            false => unlinkat(parent, name, AtFlags::empty()).doing("replace", path),
        }
    }

    /// Returns the parent directory of a path in the layer, and the last name of the path. Missing
    /// directories are created with the modes that they have in the base.
    fn parent<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a Path)> {
        let plain = |component: Component<'_>| matches!(component, Component::Normal(_));
        let name = path.file_name().filter(|_| path.components().all(plain));
        let name = name.ok_or_else(|| LayerError::Path(path.to_owned()))?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let mut at = PathBuf::from(".");
        let mut parent = openat(&self.root, ".", flags, Mode::empty()).doing("open", path)?;
        for component in path.parent().into_iter().flat_map(Path::components) {
            at.push(component);
            let made = mkdirat(&parent, component.as_os_str(), Mode::RWXU);
            let step =
                openat(&parent, component.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty());
            parent = step.doing("open", &at)?;
            match made {
                Ok(()) => {
                    let below = openat2(&self.base, &at, flags, Mode::empty(), resolve);
                    if let Ok(below) = below {
                        fchmod(&parent, mode_of(&below, &at)?).doing("set the mode of", &at)?;
                    }
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error).doing("create", &at),
            }
        }
        Ok((parent, Path::new(name)))
    }
}

fn mode_of(directory: &OwnedFd, path: &Path) -> Result<Mode> {
    fstat(directory).map(|stat| Mode::from_raw_mode(stat.st_mode)).doing("inspect", path)
}
