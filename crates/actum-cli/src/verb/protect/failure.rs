//! Failures to change the settings of a client, or to prove its hook.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum_core::path::Quoted;
use actum_hook::settings::SettingsError;
use actum_workspace::State;

use crate::failure::FailureKind;

/// Failure of `actum protect`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtectFailure {
    #[error("cannot change the settings `{}`: {source}", Quoted(path.as_os_str().as_bytes()))]
    Settings { path: PathBuf, source: SettingsError },
    #[error("{source}")]
    NoSettings { source: SettingsError },
    #[error("cannot use the settings `{}`: {what}", Quoted(path.as_os_str().as_bytes()))]
    File { path: PathBuf, what: &'static str },
    #[error("cannot {action} the settings `{}`: {source}", Quoted(path.as_os_str().as_bytes()))]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    #[error("cannot find this program: {source}")]
    Program { source: io::Error },
    #[error("no home directory of this user is known")]
    NoHome,
    #[error("cannot ask whether the settings may be changed: standard input is not a terminal")]
    NotAsked,
    #[error("the settings stay as they are")]
    Declined,
    #[error("there is no `{program}` in PATH to try the hook with")]
    NotFound { program: &'static str },
    #[error("cannot try `{client}`: {what}; the settings stay as they were written")]
    Client { client: &'static str, what: String },
}

impl FailureKind for ProtectFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Settings { .. }
            | Self::NoSettings { .. }
            | Self::File { .. }
            | Self::Io { .. } => Reason::ClientSettingsUnusable,
            Self::Program { .. } | Self::NoHome => Reason::ClientSettingsUnusable,
            Self::NotAsked | Self::Declined => Reason::ConfirmationNeeded,
            Self::NotFound { .. } | Self::Client { .. } => Reason::ClientNotProven,
        }
    }

    fn state(&self) -> Option<String> {
        match self {
            Self::Client { .. } => None, // the settings may have been changed before
            Self::Settings { .. }
            | Self::NoSettings { .. }
            | Self::File { .. }
            | Self::Io { .. }
            | Self::Program { .. }
            | Self::NoHome
            | Self::NotAsked
            | Self::NotFound { .. }
            | Self::Declined => Some(State::Unchanged.to_string()),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Settings { .. } | Self::File { .. } | Self::Io { .. } => {
                "`actum protect CLIENT --print` shows the settings with the hook; put it in by hand"
            }
            Self::Program { .. } | Self::NoHome => "start actum from a login of this user",
            Self::NotAsked => "`--yes` changes them without asking",
            Self::NotFound { .. } => {
                "install the client, or put the hook in without a trial by `--no-proof`"
            }
            Self::Declined | Self::NoSettings { .. } => return Vec::new(),
            Self::Client { .. } => {
                "the settings call the hook; `actum protect CLIENT --check` tries the client again"
            }
        };
        vec![hint.to_owned()]
    }
}
