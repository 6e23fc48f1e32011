//! Request to end a command.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};

use crate::streams::is_any_ready;

/// Asks for a running command to be ended, once a descriptor is readable (an eventfd(2) or
/// signalfd(2), say). It is not read.
#[derive(Debug, Clone)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Makes a request that starts when this descriptor is readable.
    pub fn when_readable(descriptor: OwnedFd) -> Self {
        Self(Arc::new(descriptor))
    }

    /// Returns true if the request is made now.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn is_asked_for(&self) -> io::Result<bool> {
        is_any_ready(&mut [self.end()])
    }

    /// The descriptor, to be waited for.
    pub(crate) fn end(&self) -> PollFd<'_> {
        PollFd::new(&*self.0, PollFlags::IN)
    }
}
