//! Output of status lines for the calling program, to an inherited descriptor or to a FIFO. Regular files are never
//! opened here, so that the caller cannot append to a file to which it has no write access.

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

/// Reason why status lines cannot be written to a target.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StatusTargetError {
    #[error("descriptor {number} is not open for writing: {source}")]
    Descriptor { number: RawFd, source: io::Error },
    #[error("expected a FIFO or a descriptor such as `fd:3`")]
    NotAFifo,
    #[error("{0}")]
    Unopened(io::Error),
}

/// Opens the target of status lines: `fd:N`, `/dev/fd/N`, or the path of a FIFO with a reader, relative to `start`.
///
/// This must be called before any other file is opened, so that `N` can only be a descriptor that the process
/// inherited.
pub(crate) fn open(target: &OsStr, start: &Path) -> Result<File, Failure> {
    let opened = match descriptor(target) {
        Some(number) => actum_sandbox::inherited_for_writing(number)
            .map(File::from)
            .map_err(|source| StatusTargetError::Descriptor { number, source }),
        None => fifo(&start.join(target)),
    };
    Ok(opened.map_err(|why| StatusLinesFailure { target: target.to_owned(), why })?)
}

/// Parses `fd:N` or `/dev/fd/N`.
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
        // With `O_NONBLOCK`, opening a FIFO without a reader fails instead of waiting for one.
        .custom_flags(OFlag::O_NONBLOCK.bits() | OFlag::O_NOFOLLOW.bits())
        .open(path)
        .map_err(StatusTargetError::Unopened)?;
    // The path may have been replaced in the meantime, so check the open file as well.
    match opened.metadata().map_err(StatusTargetError::Unopened)?.file_type().is_fifo() {
        true => Ok(opened),
        false => Err(StatusTargetError::NotAFifo),
    }
}

/// Failure to open the target of status lines.
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
        vec!["to write to a file, let the shell open it: `--status fd:3 3>FILE`".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_descriptor_is_named_only_by_its_number() {
        let named = |target: &str| descriptor(OsStr::new(target));
        assert_eq!((named("fd:3"), named("/dev/fd/12")), (Some(3), Some(12)));
        for target in
            ["fd:", "fd:+3", "fd:3x", "fd:-1", "fd:99999999999", "3", "./fd:3", "/dev/fd/3/x"]
        {
            assert_eq!(named(target), None, "{target}");
        }
    }
}
