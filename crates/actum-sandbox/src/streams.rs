//! Forwards bytes to a command's standard input and reads its standard output and error.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::policy::Stdin;

/// Output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Supervisor's end of a command's standard input, with the bytes to be written to it.
pub(crate) struct Feed {
    pub(crate) pipe: OwnedFd,
    /// Bytes that have not been written to the pipe yet.
    pub(crate) bytes: Vec<u8>,
    /// Whether more bytes may follow from the supervisor's standard input. The command does not inherit
    /// that descriptor because it could write to a terminal through it, or change flags that other
    /// processes share.
    pub(crate) has_more: bool,
}

/// Creates the standard input of a command. Returns the command's end and, unless the input is empty, the
/// supervisor's end.
pub(crate) fn input(stdin: &Stdin) -> io::Result<(OwnedFd, Option<Feed>)> {
    let (bytes, has_more) = match stdin {
        // For a terminal, the caller opens both ends itself.
        Stdin::Empty | Stdin::Terminal => {
            return Ok((std::fs::File::open("/dev/null")?.into(), None));
        }
        Stdin::Inherited => (Vec::new(), true),
        Stdin::Bytes(bytes) => (bytes.clone(), false),
    };
    let (read, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok((read, Some(Feed { pipe, bytes, has_more })))
}

impl Feed {
    /// Reads available bytes from the supervisor's standard input without blocking.
    pub(crate) fn refill(&mut self) -> io::Result<()> {
        const STEP: usize = 64 << 10;
        let mut reader = [PollFd::new(&self.pipe, PollFlags::empty())];
        if is_any_ready(&mut reader)? {
            self.has_more = false; // the command closed its standard input
            return Ok(());
        }
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if !is_any_ready(&mut ready)? {
            return Ok(());
        }
        self.bytes.resize(STEP, 0);
        let read = rustix::io::read(&stdin, &mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.has_more = false,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            // Standard input may be a closed terminal or connection, a directory, or not open at all.
            // Treat all of these as the end of input.
            Err(_) => self.has_more = false,
        }
        Ok(())
    }
}

/// Supervisor's end of one of the command's outputs, with the bytes read so far.
pub(crate) struct Stream {
    pub(crate) output: Output,
    pub(crate) pipe: Option<OwnedFd>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u64,
    /// Whether the bytes are kept. Output of a terminal is only shown to the user.
    is_kept: bool,
}

impl Stream {
    pub(crate) fn new(output: Output, pipe: OwnedFd) -> Self {
        Self { output, pipe: Some(pipe), bytes: Vec::new(), count: 0, is_kept: true }
    }

    /// Creates a stream that passes its bytes on without keeping them, and therefore has no limit.
    pub(crate) fn passing(output: Output, pipe: OwnedFd) -> Self {
        Self { is_kept: false, ..Self::new(output, pipe) }
    }

    /// Creates a stream that is closed from the start.
    pub(crate) fn closed(output: Output) -> Self {
        Self { output, pipe: None, bytes: Vec::new(), count: 0, is_kept: true }
    }

    pub(crate) fn kept(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Reads the available bytes and passes them to `sink`. If the stream would keep more than `max` bytes,
    /// drops the rest, closes the pipe and returns true.
    pub(crate) fn read(
        &mut self,
        max: u64,
        sink: &mut impl FnMut(Output, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<bool> {
        const STEP: usize = 64 << 10;
        let mut buffer = Vec::new();
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        while let Some(pipe) = &self.pipe {
            let mut ready = [PollFd::new(pipe, PollFlags::IN)];
            if !is_any_ready(&mut ready)? {
                return Ok(false);
            }
            buffer.resize(STEP, 0);
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = match self.is_kept {
                        true => max.saturating_sub(self.bytes.len()),
                        false => usize::MAX,
                    };
                    let bytes = buffer.get(..count.min(room)).unwrap_or_default();
                    let is_over = sink(self.output, bytes).is_break();
                    if self.is_kept {
                        self.bytes.extend_from_slice(bytes);
                    }
                    self.count += count as u64;
                    if is_over {
                        self.pipe = None; // the sink wants no more bytes
                    } else if count > room {
                        self.pipe = None;
                        return Ok(true);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                // Reading from a terminal fails with EIO once no process has its other end open.
                Err(Errno::IO) => self.pipe = None,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// Returns whether any of the descriptors is ready, without waiting.
pub(crate) fn is_any_ready(ends: &mut [PollFd<'_>]) -> io::Result<bool> {
    loop {
        match poll(ends, Some(&Timespec::default())) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
