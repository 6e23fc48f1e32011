//! Failures to write, read or test a package.

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
    #[error("the operator's policy does not let code of plugins run")]
    NotAllowed,
    #[error("{0}")]
    Name(ActionNameError),
    #[error("`{0}` is an action of actum itself; choose another name")]
    CoreName(ActionName),
    #[error("`{}` is there already", Quoted(.0.as_os_str().as_bytes()))]
    Exists(PathBuf),
    #[error("the input {input} is no JSON object (line {line}, column {column})")]
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
            Self::Plugin(error) => match error.said() {
                "" => Vec::new(),
                said => vec![format!("it wrote: {}", Harmless(said.as_bytes()))],
            },
            Self::NotAllowed => vec![format!(
                "`allowPluginCodeExecution = true` under `[plugins]` in {} lets it, for all packages",
                operators_policy::widening()
            )],
            Self::Exists(_) => {
                vec!["`actum plugin lint DIR` checks a package that is there".to_owned()]
            }
            Self::Name(_) | Self::CoreName(_) | Self::Input { .. } => Vec::new(),
        }
    }

    fn state(&self) -> Option<String> {
        let says_state =
            matches!(self, Self::Plugin(PluginError::Command(error)) if error.says_state());
        (!says_state).then(|| State::Unchanged.to_string())
    }
}
