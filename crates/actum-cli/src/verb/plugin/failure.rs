//! Why a package could not be written, read or tried out.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum::plugin::PluginError;
use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, ActionNameError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy;
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

impl From<PluginFailure> for Failure {
    fn from(source: PluginFailure) -> Self {
        Self::Plugin { source: Box::new(source) }
    }
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        PluginFailure::Plugin(error).into()
    }
}

impl PluginFailure {
    /// Whether the message says the state of the workspace.
    pub(crate) fn says_state(&self) -> bool {
        match self {
            Self::Plugin(PluginError::Command(error)) => error.says_state(),
            Self::Plugin(_)
            | Self::NotAllowed
            | Self::Name(_)
            | Self::CoreName(_)
            | Self::Exists(_)
            | Self::Input { .. } => false,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        Exit::Refused
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Plugin(error) => reason::of_plugin(error),
            Self::NotAllowed => Reason::PluginCodeNotAllowed,
            Self::Name(_) | Self::CoreName(_) => Reason::Usage,
            Self::Exists(_) => Reason::PathExists,
            Self::Input { .. } => Reason::InputMalformed,
        }
    }

    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::Plugin(error) => match error.said() {
                "" => Vec::new(),
                said => vec![format!("it wrote: {}", Harmless(said.as_bytes()))],
            },
            Self::NotAllowed => vec![format!(
                "`allowPluginCodeExecution = true` under `[plugins]` in {} lets it, for all packages",
                policy::widening()
            )],
            Self::Exists(_) => {
                vec!["`actum plugin lint DIR` checks a package that is there".to_owned()]
            }
            Self::Name(_) | Self::CoreName(_) | Self::Input { .. } => Vec::new(),
        }
    }
}
