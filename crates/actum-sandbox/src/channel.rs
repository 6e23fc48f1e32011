//! Messages between the supervisor and its helper, and the descriptors that they hand over.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::Missing;
use crate::outcome::{Ended, Usage, Violation};
use crate::plan::Plan;

/// The largest message, in bytes.
const MESSAGE_MAX: usize = 16 << 20;
/// Limit of the wait for a message of the helper when it is its turn. Under load a start takes
/// milliseconds; a process that is silent for so long is no helper.
const PATIENCE: Duration = Duration::from_secs(60);
/// Limit of the descriptors that come with one message.
const DESCRIPTORS_MAX: usize = 4;

/// Task of the helper. Standard input, output and error of the command come with it, and, if it has
/// a control group, the file to enter it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) plan: Plan,
    /// The program and its arguments; empty if the sandbox is only to be tried.
    pub(crate) command: Vec<OsString>,
    /// The scratch directory, as the command sees it.
    pub(crate) scratch: Option<PathBuf>,
    /// True if the three files are a terminal, which becomes that of its session. No policy states
    /// it.
    pub(crate) has_terminal: bool,
}

/// Message of the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HelperMessage {
    /// The first process of the command's own PID namespace was started; its pidfd is attached.
    Init,
    /// The layer that captures the changes of the command in its view; its descriptor is attached.
    Captures,
    /// A step of the set-up failed. The command was not started.
    NotStarted(Missing),
    /// The command could not be executed; with it the number of the error.
    NotExecuted(Missing, Option<i32>),
    /// The command is running, or the set-up that was to be tried has worked.
    Running,
    /// The command ended, and with it all that it started.
    Ended(Report),
}

/// Report of the supervising process about the end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// End of the command; `None` if it was ended.
    pub(crate) ended: Option<Ended>,
    /// Violation that it was ended for.
    pub(crate) violated: Option<Violation>,
    pub(crate) usage: Usage,
}

/// One end of the line between the two.
pub(crate) struct Channel(UnixStream);

impl Channel {
    /// Both ends.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        Ok((Self(ours), theirs.into()))
    }

    /// The end that was handed over.
    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd.into())
    }

    /// Sends a message with descriptors: its length first, and with that the descriptors.
    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let bytes = serde_json::to_vec(message)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?.to_le_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors))
        {
            return Err(io::Error::other("too many descriptors"));
        }
        let sent = sendmsg(&self.0, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
        if sent != length.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        (&self.0).write_all(&bytes)
    }

    /// Closes the channel for writing, on which the helper ends the command.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.0.shutdown(std::net::Shutdown::Write)
    }

    /// Receives the next message with its descriptors; `None` if the other end is closed.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut length = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
            match recvmsg(&self.0, &mut [IoSliceMut::new(&mut length)], &mut ancillary, flags) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        if received.bytes == 0 {
            return Ok(None);
        }
        if received.bytes != length.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        if length > MESSAGE_MAX {
            return Err(io::Error::other("a message that is too long"));
        }
        let mut bytes = vec![0; length];
        (&self.0).read_exact(&mut bytes)?;
        Ok(Some((serde_json::from_slice(&bytes)?, descriptors)))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
