//! Pseudo-terminal for an interactive command (pty(7)). Input typed at the user's terminal is forwarded to the command,
//! and the command's output is copied back.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// Maximum delay until the command's terminal follows a size change of the user's terminal.
pub(crate) const SIZE_STEP: Duration = Duration::from_millis(100);

/// Our side of the command's pseudo-terminal. As long as it exists, the user's terminal is in raw mode, so that each
/// key is passed on as soon as it is pressed.
pub(crate) struct Terminal {
    ours: OwnedFd,
    /// Settings of the user's terminal, which are restored on drop.
    before: Termios,
    /// Last size that was set for both terminals.
    size: Winsize,
}

impl Terminal {
    /// Creates a pseudo-terminal with the settings and size of the terminal at standard input, and switches the latter
    /// to raw mode. Returns our side and the command's side.
    pub(crate) fn open() -> io::Result<(Self, OwnedFd)> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let size = tcgetwinsize(&stdin)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        // In another mount namespace, opening the terminal by its number could open a different one.
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

    /// Duplicates the descriptor of our side of the pseudo-terminal.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        Ok(fcntl_dupfd_cloexec(&self.ours, 0)?)
    }

    /// Resizes the command's terminal if the size of the user's terminal has changed.
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
        // An error is ignored because it means that the user's terminal no longer exists.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
