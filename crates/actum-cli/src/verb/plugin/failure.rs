//! Errors that occur when a package is created, read or tested.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::plugin::PluginError;
use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, ActionNameError};
use actum_workspace::State;

use crate::failure::{Failure, FailureKind};
use crate::operators_policy;
use actum::reason::{self, Reason};

#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginFailure {
    #[error(transparent)]
    Plugin(#[from] PluginError),
    #[error("the operator's policy does not allow plugin code to run")]
    NotAllowed,
    #[error("{0}")]
    Name(ActionNameError),
    #[error("`{0}` is the name of a built-in action; choose a different name")]
    CoreName(ActionName),
    #[error("`{}` already exists", Quoted(.0.as_os_str().as_bytes()))]
    Exists(PathBuf),
    #[error("the input {input} is not a JSON object (line {line}, column {column})")]
    Input { input: String, line: usize, column: usize },
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        PluginFailure::Plugin(error).into()
    }
}

impl FailureKind for PluginFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Plugin(error) => reason::of_plugin(error),
            Self::NotAllowed => Reason::PluginCodeNotAllowed,
            Self::Name(_) | Self::CoreName(_) => Reason::Usage,
            Self::Exists(_) => Reason::PathExists,
            Self::Input { .. } => Reason::InputMalformed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Plugin(error) => match error.output_excerpt() {
                "" => Vec::new(),
                output => vec![format!("the plugin printed: {}", Harmless(output.as_bytes()))],
            },
            Self::NotAllowed => vec![format!(
                "set `allowPluginCodeExecution = true` under `[plugins]` in {} to allow it for all packages",
                operators_policy::widening()
            )],
            Self::Exists(_) => {
                vec!["run `actum plugin lint DIR` to check an existing package".to_owned()]
            }
            Self::Name(_) | Self::CoreName(_) | Self::Input { .. } => Vec::new(),
        }
    }

    fn state(&self) -> Option<String> {
        let includes_state =
            matches!(self, Self::Plugin(PluginError::Command(error)) if error.includes_state());
        (!includes_state).then(|| State::Unchanged.to_string())
    }
}
