//! The pager: the only place where the command line starts another program.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// What git gives `less` too: quit if it all fits on one screen, colours, no clearing.
const LESS: &str = "FRX";

/// A pager that waits for text.
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager the user wants: `ACTUM_PAGER`, else `PAGER`, else `less`. `None` where
    /// standard output is no terminal, where the user wants none (an empty name, or `cat`), and
    /// where it cannot be started.
    pub(crate) fn start() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let pager = variable("ACTUM_PAGER").or_else(|| variable("PAGER"));
        let pager = pager.unwrap_or_else(|| "less".into());
        if pager.is_empty() || pager == "cat" {
            return None;
        }
        // As git does: the value is a command line, for example `less -S`.
        let mut command = shell(&pager);
        if variable("LESS").is_none() {
            command.env("LESS", LESS);
        }
        command.stdin(Stdio::piped()).spawn().ok().map(Self)
    }

    /// Passes the text to the pager, and waits until the reader has finished. Who stops reading has
    /// seen enough.
    pub(crate) fn show(mut self, text: &[u8]) -> io::Result<()> {
        let written = match self.0.stdin.take() {
            Some(mut pipe) => pipe.write_all(text),
            None => Ok(()),
        };
        let ended = self.0.wait();
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            Ok(()) | Err(_) => ended.map(drop),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user says which pager")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(clippy::disallowed_methods, reason = "a pager is a program, and the user names it")]
fn shell(command: &OsString) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}
