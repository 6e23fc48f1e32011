//! Request to stop a running command, raised through a file descriptor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};

use crate::streams::is_any_ready;

/// Request to stop a running command, which is raised as soon as a descriptor becomes readable, such as an
/// eventfd(2) or signalfd(2). The descriptor is never read.
#[derive(Debug, Clone)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Creates a request that is raised as soon as `descriptor` is readable.
    pub fn when_readable(descriptor: OwnedFd) -> Self {
        Self(Arc::new(descriptor))
    }

    /// Returns whether the request is raised.
    ///
    /// # Errors
    /// Returns an error if the descriptor cannot be polled.
    pub fn is_asked_for(&self) -> io::Result<bool> {
        is_any_ready(&mut [self.end()])
    }

    /// Returns the descriptor in the form that poll(2) needs to wait for the request.
    pub(crate) fn end(&self) -> PollFd<'_> {
        PollFd::new(&*self.0, PollFlags::IN)
    }
}
