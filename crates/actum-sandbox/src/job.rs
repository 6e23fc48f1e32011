//! Binary format of the jobs sent to byte workers and of their answers.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Size of an encoded job, in bytes.
const JOB_BYTES: usize = 48;
/// Size of an encoded answer, in bytes.
pub(crate) const ANSWER_BYTES: usize = 40;
/// Maximum number of files in a job.
const FILES_MAX: usize = 2;

/// Job for a byte worker. A limit of `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Kind of work, as a number defined by the embedding program.
    pub work: u64,
    /// Size of the source file, in bytes.
    pub size: u64,
    /// Maximum total number of bytes read and written.
    pub storage_max: Option<u64>,
    /// Maximum size of the written file, in bytes.
    pub size_max: Option<u64>,
    /// Maximum memory of the worker, in bytes.
    pub memory_max: Option<u64>,
}

/// Answer of a byte worker to its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The work is done, with these bytes as the result.
    Done([u8; 32]),
    /// The worker stopped because the limit on bytes read and written was reached.
    OverStorage,
    /// The worker uses more memory than the job allows.
    OverMemory,
    /// A system call failed with this error number.
    Failed(i32),
}

/// Encoding of an absent limit.
const NO_LIMIT: u64 = u64::MAX;

/// Sends a job with the descriptors of its files.
pub(crate) fn send_job(line: &UnixStream, job: &Job, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let Job { work, size, storage_max, size_max, memory_max } = *job;
    let numbers = [
        work,
        size,
        storage_max.unwrap_or(NO_LIMIT),
        size_max.unwrap_or(NO_LIMIT),
        memory_max.unwrap_or(NO_LIMIT),
        0,
    ];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files for one job"));
    }
    match sendmsg(line, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)? {
        JOB_BYTES => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives a job and its files. Returns `None` if the other end of the socket was closed.
pub(crate) fn receive_job(line: impl AsFd) -> io::Result<Option<(Job, Vec<OwnedFd>)>> {
    let mut bytes = [0; JOB_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
        match recvmsg(&line, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    let (numbers, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    let &[work, size, storage, size_max, memory, _] = numbers.as_slice() else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if received.bytes != JOB_BYTES || !rest.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let limit = |number: u64| (number != NO_LIMIT).then_some(number);
    let job = Job {
        work,
        size,
        storage_max: limit(storage),
        size_max: limit(size_max),
        memory_max: limit(memory),
    };
    Ok(Some((job, files)))
}

impl Answer {
    /// Encodes the answer as its kind, an error number and the result.
    pub(crate) fn to_bytes(self) -> [u8; ANSWER_BYTES] {
        let (kind, error, computed) = match self {
            Self::Done(computed) => (1u32, 0, computed),
            Self::OverStorage => (2, 0, [0; 32]),
            Self::OverMemory => (3, 0, [0; 32]),
            Self::Failed(error) => (4, error, [0; 32]),
        };
        let mut bytes = [0; ANSWER_BYTES];
        let parts = kind.to_le_bytes().into_iter().chain(error.to_le_bytes()).chain(computed);
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; ANSWER_BYTES]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk::<4>()?;
        let (error, computed) = rest.split_first_chunk::<4>()?;
        let computed: [u8; 32] = computed.try_into().ok()?;
        match u32::from_le_bytes(*kind) {
            1 => Some(Self::Done(computed)),
            2 => Some(Self::OverStorage),
            3 => Some(Self::OverMemory),
            4 => Some(Self::Failed(i32::from_le_bytes(*error))),
            _ => None,
        }
    }
}
