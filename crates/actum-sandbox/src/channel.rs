//! Channel over which the supervisor and its helper exchange messages and file descriptors.

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

/// Maximum size of a message, in bytes.
const MESSAGE_MAX: usize = 16 << 20;
/// Timeout for receiving a message that the helper must send next. Even under load, the helper starts within milliseconds, so a
/// process that stays silent for this long is not a helper.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of file descriptors sent with a message.
const DESCRIPTORS_MAX: usize = 4;

/// First message to the helper, which describes the command to start. The attached descriptors are standard input, output and
/// error of the command, followed by the file for entering its control group, if it has one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) plan: Plan,
    /// Program and arguments, or empty if the sandbox should only be tested.
    pub(crate) command: Vec<OsString>,
    /// Path of the scratch directory, as seen by the command.
    pub(crate) scratch: Option<PathBuf>,
    /// Whether standard input, output and error are a terminal, which becomes the controlling terminal of the command's session.
    /// It is sent separately because the serialized policy does not contain it.
    pub(crate) has_terminal: bool,
}

/// Message from the helper to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HelperMessage {
    /// The first process in the command's PID namespace was started. Its pidfd is attached.
    Init,
    /// The layer that captures the command's changes is ready. Its descriptor is attached.
    Captures,
    /// A step of the setup failed, so the command was not started.
    NotStarted(Missing),
    /// The command could not be executed. Contains the OS error code, if known.
    NotExecuted(Missing, Option<i32>),
    /// The command is running, or the setup succeeded if the sandbox is only tested.
    Running,
    /// The command and all processes that it started have ended.
    Ended(Report),
}

/// Report of the helper about the end of a command.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Exit status of the command, or `None` if the helper terminated it.
    pub(crate) ended: Option<Ended>,
    /// Policy violation because of which the command was terminated.
    pub(crate) violated: Option<Violation>,
    pub(crate) usage: Usage,
}

/// One end of the channel between the supervisor and its helper.
pub(crate) struct Channel(UnixStream);

impl Channel {
    /// Creates a channel. Returns the supervisor's end and the descriptor to pass to the helper.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        Ok((Self(ours), theirs.into()))
    }

    /// Creates the helper's end of a channel from the descriptor that was passed to it.
    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd.into())
    }

    /// Sends a message with file descriptors, which are attached to the length of the message that is sent first.
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

    /// Closes the channel for writing, which makes the helper terminate the command.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.0.shutdown(std::net::Shutdown::Write)
    }

    /// Receives the next message with its file descriptors. Returns `None` if the other end is closed.
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
            return Err(io::Error::other("the message is too long"));
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
