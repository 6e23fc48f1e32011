//! Pager: `less` of the system, in its restricted mode.
//!
//! It runs outside every sandbox. So neither the environment nor the caller names it, configures it, or gives it
//! another program to start.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Paths at which systems install `less`.
const PROGRAMS: [&str; 2] = ["/usr/bin/less", "/bin/less"];
/// Options that git uses, too: quit if the text fits on one screen, colours, no clearing; `--` ends them.
const OPTIONS: [&str; 2] = ["-FRX", "--"];
/// Variables of the caller that it gets: display settings, and nothing that names a file or a program.
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
/// Variables that it gets in addition. `LESSSECURE` turns off shell commands, editors, log files and other files
/// (less(1)); the null device replaces the key bindings of the caller's home directory.
const SET: [(&str, &str); 6] = [
    ("LESSSECURE", "1"),
    ("LESSHISTFILE", "-"),
    ("LESSKEY", "/dev/null"),
    ("LESSKEYIN", "/dev/null"),
    ("LESSKEY_SYSTEM", "/dev/null"),
    ("LESSKEYIN_SYSTEM", "/dev/null"),
];

/// Pager that waits for text.
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager. `None` if standard output is no terminal, or if the system has no `less`.
    pub(crate) fn start() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let program = PROGRAMS.map(Path::new).into_iter().find(|program| program.is_file())?;
        command(program).stdin(Stdio::piped()).spawn().ok().map(Self)
    }

    /// Passes the text to the pager, and waits until the user quits it. A user who quits early is not an error.
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
