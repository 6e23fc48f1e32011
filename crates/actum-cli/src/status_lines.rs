//! Status lines for the protocol layer: to a descriptor that it opened, or to a FIFO that it reads. No path of a
//! regular file is opened here, so no file is appended to that the caller could not write itself.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use actum::reason::Reason;
use actum_core::path::Quoted;
use nix::fcntl::OFlag;

use crate::failure::{Failure, FailureKind};

/// Target that takes no status lines.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StatusTargetError {
    #[error("the descriptor {number} is not open for writing: {source}")]
    Descriptor { number: RawFd, source: io::Error },
    #[error("it is neither a FIFO nor a descriptor (`fd:3`)")]
    NotAFifo,
    #[error("{0}")]
    Unopened(io::Error),
}

/// Opens the target of status lines: `fd:N`, `/dev/fd/N`, or the path of a FIFO with a reader, relative to `start`.
///
/// A descriptor has to be inherited, so this comes before anything else is opened.
pub(crate) fn open(target: &OsStr, start: &Path) -> Result<File, Failure> {
    let opened = match descriptor(target) {
        Some(number) => actum_sandbox::inherited_for_writing(number)
            .map(File::from)
            .map_err(|source| StatusTargetError::Descriptor { number, source }),
        None => fifo(&start.join(target)),
    };
    Ok(opened.map_err(|why| StatusLinesFailure { target: target.to_owned(), why })?)
}

/// Returns the named descriptor.
fn descriptor(target: &OsStr) -> Option<RawFd> {
    let target = target.to_str()?;
    let number = target.strip_prefix("fd:").or_else(|| target.strip_prefix("/dev/fd/"))?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

fn fifo(path: &Path) -> Result<File, StatusTargetError> {
    let is_fifo = path.symlink_metadata().map(|found| found.file_type().is_fifo());
    if !is_fifo.map_err(StatusTargetError::Unopened)? {
        return Err(StatusTargetError::NotAFifo);
    }
    let opened = OpenOptions::new()
        .write(true)
        // A FIFO without a reader is an error; the open does not wait for one.
        .custom_flags(OFlag::O_NONBLOCK.bits() | OFlag::O_NOFOLLOW.bits())
        .open(path)
        .map_err(StatusTargetError::Unopened)?;
    // It may have been replaced meanwhile.
    match opened.metadata().map_err(StatusTargetError::Unopened)?.file_type().is_fifo() {
        true => Ok(opened),
        false => Err(StatusTargetError::NotAFifo),
    }
}

/// Status lines that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write status lines to `{}`: {why}", Quoted(target.as_bytes()))]
struct StatusLinesFailure {
    target: OsString,
    why: StatusTargetError,
}

impl FailureKind for StatusLinesFailure {
    fn reason(&self) -> Reason {
        Reason::OutputRefused
    }

    fn hints(&self) -> Vec<String> {
        vec!["`--status fd:3 3>FILE` has the shell open the file".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_named_by_its_number_alone() {
        let named = |target: &str| descriptor(OsStr::new(target));
        assert_eq!((named("fd:3"), named("/dev/fd/12")), (Some(3), Some(12)));
        for target in
            ["fd:", "fd:+3", "fd:3x", "fd:-1", "fd:99999999999", "3", "./fd:3", "/dev/fd/3/x"]
        {
            assert_eq!(named(target), None, "{target}");
        }
    }
}
