//! Compares the content of files in a layer with the files of the lower directories.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::{COMPARED_MAX, Layer, Node, Place, Result, ResultExt};

impl Layer {
    /// Compares the content of a file in the layer with the lower file at the same path.
    pub(super) fn compare_content(
        &self,
        (upper, lower): (&OwnedFd, &[OwnedFd]),
        name: &CStr,
        node: &Node,
        at: &Place,
    ) -> Result<Compared> {
        let Node::File { size, .. } = node else { return Ok(Compared::Same) };
        if *size > COMPARED_MAX {
            return Ok(Compared::Other);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut new =
            openat(upper, name, flags, Mode::empty()).map(File::from).doing("open", &at.path)?;
        for directory in lower {
            let mut old = match openat(directory, name, flags, Mode::empty()) {
                Ok(old) => File::from(old),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error).doing("open", &at.path),
            };
            return Ok(match same(&mut new, &mut old).doing("read", &at.path)? {
                false => Compared::Other,
                true if self.changed_meanwhile(&old).doing("inspect", &at.path)? => {
                    Compared::SameMeanwhile
                }
                true => Compared::Same,
            });
        }
        Ok(Compared::Other)
    }
}

/// Result of comparing an entry of the layer with the lower entry at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    /// The files are equal, or the entry is not a file.
    Same,
    /// The files are equal, but another process changed the lower file while the command ran. The command
    /// may have overwritten content that it never read.
    SameMeanwhile,
    /// The files differ, or are too large to compare.
    Other,
}

fn same(new: &mut File, old: &mut File) -> io::Result<bool> {
    const STEP: usize = 64 << 10;
    let (mut a, mut b) = (vec![0; STEP], vec![0; STEP]);
    loop {
        let read = new.read(&mut a)?;
        let part = b.get_mut(..read).unwrap_or_default();
        match old.read_exact(part) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        if a.get(..read) != b.get(..read) {
            return Ok(false);
        }
        if read == 0 {
            return Ok(old.read(&mut a)? == 0);
        }
    }
}
