//! Failures of `actum protect`: the settings of a client cannot be changed, or its hook cannot be tested.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::reason::Reason;
use actum_core::path::Quoted;
use actum_hook::settings::SettingsError;
use actum_workspace::State;

use crate::failure::FailureKind;

/// Failure to change the settings of a client, or to test its hook.
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
    #[error("cannot determine the path of the running actum executable: {source}")]
    Program { source: io::Error },
    #[error("cannot determine the home directory of this user")]
    NoHome,
    #[error("cannot ask for confirmation of the new settings: standard input is not a terminal")]
    NotAsked,
    #[error("the change of the settings was declined")]
    Declined,
    #[error("cannot test the hook: `{program}` was not found in PATH")]
    NotFound { program: &'static str },
    #[error(
        "cannot test the hook with `{client}`: {what}; settings that were already written are kept"
    )]
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
            Self::Client { .. } => None, // the settings may already have been changed
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
                "run `actum protect CLIENT --print` to see the settings with the hook, and add it by hand"
            }
            Self::Program { .. } | Self::NoHome => "start actum from a login session of this user",
            Self::NotAsked => "pass `--yes` to change the settings without confirmation",
            Self::NotFound { .. } => {
                "install the client, or pass `--no-proof` to add the hook without testing it"
            }
            Self::Declined | Self::NoSettings { .. } => return Vec::new(),
            Self::Client { .. } => "run `actum protect CLIENT --check` to test the client again",
        };
        vec![hint.to_owned()]
    }
}
