//! Streams of a command: bytes for its standard input, and bytes from its outputs.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::policy::Stdin;

/// Output of the command that bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Source of the command's standard input.
pub(crate) struct Feed {
    pub(crate) pipe: OwnedFd,
    /// Bytes that are still to be written to it.
    pub(crate) bytes: Vec<u8>,
    /// True if more comes from our own standard input. The command never gets that itself: it could
    /// write to a terminal by it, and set flags that others share.
    pub(crate) has_more: bool,
}

/// Returns the command's end of its standard input, and the feed of it.
pub(crate) fn input(stdin: &Stdin) -> io::Result<(OwnedFd, Option<Feed>)> {
    let (bytes, has_more) = match stdin {
        // Both ends of a terminal are made with the terminal.
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
    /// Reads from our standard input, if it has anything.
    pub(crate) fn refill(&mut self) -> io::Result<()> {
        const STEP: usize = 64 << 10;
        let mut reader = [PollFd::new(&self.pipe, PollFlags::empty())];
        if is_any_ready(&mut reader)? {
            self.has_more = false; // it has no reader left
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
            // A terminal or a peer that went away, a directory, no file at all: the input has
            // ended.
            Err(_) => self.has_more = false,
        }
        Ok(())
    }
}

/// One of the command's outputs.
pub(crate) struct Stream {
    pub(crate) output: Output,
    pub(crate) pipe: Option<OwnedFd>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u64,
    /// True if the bytes are kept. Those from a terminal are for the user before it.
    is_kept: bool,
}

impl Stream {
    pub(crate) fn new(output: Output, pipe: OwnedFd) -> Self {
        Self { output, pipe: Some(pipe), bytes: Vec::new(), count: 0, is_kept: true }
    }

    /// Makes a stream that keeps nothing, and so has no limit.
    pub(crate) fn passing(output: Output, pipe: OwnedFd) -> Self {
        Self { is_kept: false, ..Self::new(output, pipe) }
    }

    /// Makes a stream that gets no bytes.
    pub(crate) fn closed(output: Output) -> Self {
        Self { output, pipe: None, bytes: Vec::new(), count: 0, is_kept: true }
    }

    pub(crate) fn kept(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Reads the available bytes; returns whether they are more than `max`, of which the rest is
    /// dropped.
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
                        self.pipe = None; // it has no reader
                    } else if count > room {
                        self.pipe = None;
                        return Ok(true);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                // A terminal ends so once no process has it open.
                Err(Errno::IO) => self.pipe = None,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// Returns true if any of these is ready now.
pub(crate) fn is_any_ready(ends: &mut [PollFd<'_>]) -> io::Result<bool> {
    loop {
        match poll(ends, Some(&Timespec::default())) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
