//! Reads passphrases from a terminal, a file or standard input. No other module reads a passphrase.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_core::{ShellWord, path::Quoted};
use actum_ledger::Passphrase;
use actum_ledger::keys::{PASSPHRASE_BYTES_MAX, PassphraseError};
use actum_record::signer::KeyRole;
use zeroize::Zeroizing;

use crate::failure::{Failure, FailureKind};
use crate::session::Session;
use crate::{input, signals};
use actum::reason::Reason;

/// Permission bits of the group and of other users, none of which a passphrase file may have.
const OTHERS: u32 = 0o077;
/// Character with which the terminal library replaces invalid UTF-8.
const NO_TEXT: char = '\u{fffd}';

/// Reason why a passphrase could not be read or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassphraseFailure {
    #[error("a passphrase is required, but there is no terminal to ask for it")]
    NoTerminal,
    #[error("the passphrase of the old key is required, but there is no terminal to ask for it")]
    NoTerminalForOld,
    #[error(
        "cannot use the passphrase file `{}`: other users can access it, because its mode is {mode:04o} instead of 0600",
        Quoted(path.as_os_str().as_bytes())
    )]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("cannot read the passphrase from {input}: {source}")]
    Unreadable { input: String, source: io::Error },
    #[error("cannot use the passphrase from {input}: {source}")]
    Unusable { input: String, source: PassphraseError },
    #[error("cannot use the passphrase: the typed text is not valid UTF-8")]
    NoText,
    #[error("the two passphrases do not match")]
    Different,
    #[error("the {role} key has no passphrase, so it does not prove that the operator is present")]
    KeyWithoutPassphrase { role: KeyRole },
}

/// Reads a passphrase from `file`, or from standard input if `file` is `-`. Without a file, prompts for it on the terminal,
/// without echo. The path is relative to the directory of the command, and a line break at the end is removed.
pub(crate) fn read(
    session: &Session,
    prompt: &str,
    file: Option<&Path>,
) -> Result<Passphrase, Failure> {
    match file.filter(|file| !is_terminal(file)) {
        Some(file) if file == Path::new("-") => {
            let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            from_input(stdin.and_then(line), "standard input".to_owned())
        }
        Some(file) => read_file(&session.start, file),
        None => ask(prompt),
    }
}

/// Reads the passphrase for a new key. On a terminal, the user must type it twice.
pub(crate) fn read_new(session: &Session, file: Option<&Path>) -> Result<Passphrase, Failure> {
    let passphrase = read(session, "New passphrase: ", file)?;
    if file.is_none_or(is_terminal) && !ask("Repeat the passphrase: ")?.is(&passphrase) {
        return Err(PassphraseFailure::Different.into());
    }
    Ok(passphrase)
}

/// Returns whether standard input is a terminal on which the user can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Returns whether `file` selects standard input and that is a terminal, where reading it directly would echo the input.
fn is_terminal(file: &Path) -> bool {
    file == Path::new("-") && can_ask()
}

fn ask(prompt: &str) -> Result<Passphrase, Failure> {
    if !can_ask() {
        return Err(PassphraseFailure::NoTerminal.into());
    }
    let typed = {
        // If the process were killed during the prompt, the terminal would stay without echo.
        let kept = signals::keep_terminal();
        kept.and_then(|_kept| rpassword::prompt_password(prompt).map(Zeroizing::new))
    };
    let typed = match typed {
        Ok(typed) if typed.contains(NO_TEXT) => return Err(PassphraseFailure::NoText.into()),
        Ok(typed) => Ok(Zeroizing::new(typed.as_bytes().to_vec())),
        Err(error) => Err(error),
    };
    from_input(typed, "the terminal".to_owned())
}

fn read_file(start: &Path, file: &Path) -> Result<Passphrase, Failure> {
    let input = format!("`{}`", Quoted(file.as_os_str().as_bytes()));
    let opened = input::open(&start.join(file)).and_then(|file| {
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        Ok((file, mode))
    });
    match opened {
        Ok((_, mode)) if mode & OTHERS != 0 => {
            Err(PassphraseFailure::TooOpen { path: file.to_owned(), mode }.into())
        }
        Ok((file, _)) => from_input(line(file), input),
        Err(source) => Err(PassphraseFailure::Unreadable { input, source }.into()),
    }
}

/// Reads an input without the line break at its end. If the input is too long for a passphrase, reads only enough of it to
/// detect that.
fn line(mut from: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // Allocated at its full size, because growing the buffer would leave copies of the passphrase in memory.
    let mut bytes = Zeroizing::new(vec![0; PASSPHRASE_BYTES_MAX + "\r\n?".len()]);
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    for end in [b'\n', b'\r'] {
        if bytes.last() != Some(&end) {
            break;
        }
        bytes.pop();
    }
    Ok(bytes)
}

fn from_input(read: io::Result<Zeroizing<Vec<u8>>>, input: String) -> Result<Passphrase, Failure> {
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(source) => return Err(PassphraseFailure::Unreadable { input, source }.into()),
    };
    Passphrase::new(bytes).map_err(|source| PassphraseFailure::Unusable { input, source }.into())
}

impl FailureKind for PassphraseFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::NoTerminal | Self::NoTerminalForOld => Reason::PassphraseNeeded,
            Self::Unreadable { .. } => Reason::InputUnreadable,
            Self::TooOpen { .. }
            | Self::Unusable { .. }
            | Self::NoText
            | Self::Different
            | Self::KeyWithoutPassphrase { .. } => Reason::PassphraseUnusable,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoTerminal => {
                "run the command in a terminal, or pipe the passphrase from a password manager to `--passphrase-file -`"
            }
            Self::NoTerminalForOld => {
                "pass `--old-passphrase-file FILE`, or `--old-passphrase-lost` if the passphrase is lost"
            }
            Self::TooOpen { path, .. } => {
                return vec![format!(
                    "run `chmod 600 {}`, but note that other users may have read the passphrase",
                    ShellWord::path(path.as_os_str().as_bytes())
                )];
            }
            Self::Unusable { .. } | Self::NoText => {
                "a passphrase is one line of text with at most 1024 bytes"
            }
            Self::Different => "type the same passphrase twice",
            Self::KeyWithoutPassphrase { role } => {
                return vec![format!(
                    "run `actum key rotate {role}` to replace it with a passphrase-protected key, which becomes valid after \
                     a day"
                )];
            }
            Self::Unreadable { .. } => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trailing_line_break_is_not_part_of_a_passphrase() {
        for (text, kept) in [
            ("secret", "secret"),
            ("secret\n", "secret"),
            ("secret\r\n", "secret"),
            ("secret\n\n", "secret\n"),
            ("secret\r", "secret\r"),
            (" secret \n", " secret "),
            ("\n", ""),
            ("", ""),
        ] {
            assert_eq!(line(text.as_bytes()).unwrap().as_slice(), kept.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn reading_a_passphrase_stops_past_its_limit() {
        for (length, ends, is_usable) in
            [(1024, "", true), (1024, "\n", true), (1024, "\r\n", true), (1025, "\n", false)]
        {
            let read = line(format!("{}{ends}", "x".repeat(length)).as_bytes());
            let passphrase = from_input(read, String::new());
            assert_eq!(passphrase.is_ok(), is_usable, "{length} {ends:?}");
        }
        assert_eq!(line(io::repeat(b'x')).unwrap().len(), 1027);
    }
}
