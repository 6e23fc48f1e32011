//! A layer of staged changes, made outside of the sandbox and seen in it.

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

/// A directory that holds staged changes as a layer over a base.
#[derive(Debug)]
pub struct StagedLayer {
    root: OwnedFd,
    base: OwnedFd,
    path: PathBuf,
    /// Removed with the layer.
    _temporary: Option<Scratch>,
}

impl StagedLayer {
    /// Makes an empty layer at `path`, which must be free, for a view of `base`.
    ///
    /// # Errors
    /// [`LayerError::Io`]
    pub fn create(path: &Path, base: &Path) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let base = openat(CWD, base, flags, Mode::empty()).doing("open", base)?;
        std::fs::DirBuilder::new().mode(0o700).create(path).doing("make", path)?;
        let root = openat(CWD, path, flags, Mode::empty()).doing("open", path)?;
        fchmod(&root, mode_of(&base, path)?).doing("set the mode of", path)?;
        Ok(Self { root, base, path: path.to_owned(), _temporary: None })
    }

    /// Makes an empty layer among the temporary files of the host, which is removed with this.
    ///
    /// # Errors
    /// [`LayerError::Io`]
    pub fn temporary(base: &Path) -> Result<Self> {
        let scratch = Scratch::new().doing("make", Path::new(crate::SCRATCH))?;
        let made = Self::create(&scratch.path().join("staged"), base)?;
        Ok(Self { _temporary: Some(scratch), ..made })
    }

    /// Path of the layer, for a view.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stages a file with its content and mode, in place of any existing entry.
    ///
    /// # Errors
    /// [`LayerError`]
    pub fn file(&self, path: &Path, mut content: impl Read, mode: u32) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&parent, name, flags, Mode::RUSR | Mode::WUSR).doing("make", path)?;
        let mut file = File::from(file);
        io::copy(&mut content, &mut file).and_then(|_| file.flush()).doing("write", path)?;
        file.set_permissions(std::fs::Permissions::from_mode(mode)).doing("set the mode of", path)
    }

    /// Stages a new, empty directory, in place of any existing entry. Nothing of the base shows
    /// through.
    ///
    /// # Errors
    /// [`LayerError`]
    pub fn directory(&self, path: &Path, mode: u32) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        mkdirat(&parent, name, Mode::RWXU).doing("make", path)?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let made = openat(&parent, name, flags, Mode::empty()).doing("open", path)?;
        fsetxattr(&made, OPAQUE, b"y", XattrFlags::empty()).doing("mark", path)?;
        fchmod(&made, Mode::from_raw_mode(mode)).doing("set the mode of", path)
    }

    /// Stages other permissions of a directory, and changes nothing else of it.
    ///
    /// # Errors
    /// [`LayerError`]
    pub fn permissions(&self, path: &Path, mode: u32) -> Result<()> {
        let (directory, _) = self.parent(&path.join("inside"))?;
        fchmod(&directory, Mode::from_raw_mode(mode)).doing("set the mode of", path)
    }

    /// Stages a symbolic link.
    ///
    /// # Errors
    /// [`LayerError`]
    pub fn symlink(&self, path: &Path, target: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        symlinkat(target, &parent, name).doing("make", path)
    }

    /// Stages that a path is gone, with all that it holds.
    ///
    /// # Errors
    /// [`LayerError`]
    pub fn delete(&self, path: &Path) -> Result<()> {
        let (parent, name) = self.parent(path)?;
        self.clear(&parent, name, path)?;
        mknodat(&parent, name, FileType::CharacterDevice, Mode::empty(), 0).doing("mark", path)
    }

    /// Removes the layer's entry at a name, with all that it holds.
    fn clear(&self, parent: &OwnedFd, name: &Path, path: &Path) -> Result<()> {
        let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error).doing("look at", path),
        };
        match FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            // Only we write below the layer, so no link can be in the place of a directory on the
            // way.
            true => std::fs::remove_dir_all(self.path.join(path)).doing("replace", path),
            false => unlinkat(parent, name, AtFlags::empty()).doing("replace", path),
        }
    }

    /// Returns the directory of the layer that holds a path, and the path's last name. Missing
    /// directories are made like those of the base.
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
                Err(error) => return Err(error).doing("make", &at),
            }
        }
        Ok((parent, Path::new(name)))
    }
}

fn mode_of(directory: &OwnedFd, path: &Path) -> Result<Mode> {
    fstat(directory).map(|stat| Mode::from_raw_mode(stat.st_mode)).doing("look at", path)
}
