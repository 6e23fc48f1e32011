//! Terminal of its own for an interactive command: input typed at ours goes to it, and its output
//! comes back (pty(7)).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// Delay until the command learns that our terminal got another size.
pub(crate) const SIZE_STEP: Duration = Duration::from_millis(100);

/// Our side of the command's terminal. While it lives, our own passes on each key as it is pressed.
pub(crate) struct Terminal {
    ours: OwnedFd,
    /// Our own terminal as it was.
    before: Termios,
    size: Winsize,
}

impl Terminal {
    /// Makes a terminal like the one at our standard input. Returns the command's side of it.
    pub(crate) fn open() -> io::Result<(Self, OwnedFd)> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let size = tcgetwinsize(&stdin)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        // Opening it by its number could open another one in another mount namespace.
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        tcsetattr(&theirs, OptionalActions::Now, &before)?;
        tcsetwinsize(&theirs, size)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut raw = before.clone();
        raw.make_raw();
        let terminal = Self { ours, before, size };
        tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        Ok((terminal, theirs))
    }

    /// Another handle of our side.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        Ok(fcntl_dupfd_cloexec(&self.ours, 0)?)
    }

    /// Sets the size of the command's terminal to the present size of ours.
    pub(crate) fn follow_size(&mut self) {
        let Ok(size) = tcgetwinsize(io::stdin()) else { return };
        let known = (self.size.ws_row, self.size.ws_col);
        if (size.ws_row, size.ws_col) != known && tcsetwinsize(&self.ours, size).is_ok() {
            self.size = size;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no reset.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
