//! Jobs and answers of byte workers, as they are sent.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Size of a job.
const JOB_BYTES: usize = 48;
/// Size of an answer.
pub(crate) const ANSWER_BYTES: usize = 40;
/// Most files of a job.
const FILES_MAX: usize = 2;

/// Job of a byte worker. An absent limit is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Kind of the work, as the embedding program knows it.
    pub work: u64,
    /// Size of the source.
    pub size: u64,
    /// Most bytes that are read and written, together.
    pub storage_max: Option<u64>,
    /// Largest size of the file that is written.
    pub size_max: Option<u64>,
    /// Most memory.
    pub memory_max: Option<u64>,
}

/// Answer of a byte worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The work is done; these bytes are the result.
    Done([u8; 32]),
    /// The worker stopped before it exceeded the bytes that it may read and write.
    OverStorage,
    /// The worker has more memory than it may.
    OverMemory,
    /// A system call failed with this error.
    Failed(i32),
}

/// An absent limit as it is sent.
const NO_LIMIT: u64 = u64::MAX;

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
        return Err(io::Error::other("too many files"));
    }
    match sendmsg(line, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)? {
        JOB_BYTES => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives a job and its files; `None` if the other end is closed.
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
    /// The bytes of it: a kind, an error, and what was computed.
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
