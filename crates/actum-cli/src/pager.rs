//! Pages long output with the system's `less` in its restricted mode.
//!
//! The pager runs outside any sandbox. Therefore, neither the environment nor the caller can choose the program, configure
//! it, or make it start a different program.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Paths at which operating systems install `less`.
const PROGRAMS: [&str; 2] = ["/usr/bin/less", "/bin/less"];
/// Options for `less`, as used by git: quit if the text fits on one screen, pass colours through, and do not clear the
/// screen. `--` ends the options.
const OPTIONS: [&str; 2] = ["-FRX", "--"];
/// Environment variables that the pager inherits. They are display settings, and none of them names a file or a program.
const KEPT: [&str; 9] = [
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "COLUMNS",
    "LINES",
];
/// Environment variables that are set for the pager. `LESSSECURE` disables shell commands, editors, log files and access to
/// other files (less(1)). The null device replaces the key bindings in the caller's home directory.
const SET: [(&str, &str); 6] = [
    ("LESSSECURE", "1"),
    ("LESSHISTFILE", "-"),
    ("LESSKEY", "/dev/null"),
    ("LESSKEYIN", "/dev/null"),
    ("LESSKEY_SYSTEM", "/dev/null"),
    ("LESSKEYIN_SYSTEM", "/dev/null"),
];

/// Running pager that waits for its text.
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager. Returns `None` if standard output is not a terminal, or if `less` is missing or cannot be started.
    pub(crate) fn start() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let program = PROGRAMS.map(Path::new).into_iter().find(|program| program.is_file())?;
        command(program).stdin(Stdio::piped()).spawn().ok().map(Self)
    }

    /// Sends the text to the pager, and waits until the user quits it. Quitting before the end of the text is not an error.
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

#[expect(clippy::disallowed_methods, reason = "a fixed program, with chosen variables")]
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    let kept = KEPT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.args(OPTIONS).env_clear().envs(kept).envs(SET);
    command
}
