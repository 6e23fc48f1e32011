//! Results of commands about actum itself: shell completions, manual pages and the demo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Completions>(), DocumentType::new::<Man>(), DocumentType::new::<Demo>()];

/// Result of `actum completions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    /// Name of the shell.
    pub shell: String,
    /// Completion script for the shell.
    pub script: String,
}

/// Result of `actum man`. It has `pages` with `--directory`, and `page` otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Man {
    /// Result without `--directory`.
    Page {
        /// Manual page in roff format.
        page: String,
    },
    /// Result with `--directory`.
    Pages {
        /// Names of the created files.
        pages: Vec<String>,
    },
}

/// Result of `actum demo`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demo {
    /// Directory of the demo project, or `null` if it was removed.
    pub directory: Option<String>,
    /// Checks of the demo project against its expected state.
    pub checks: Vec<DemoCheck>,
}

/// Check of the demo project against its expected state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DemoCheck {
    /// Expectation as a sentence.
    pub what: String,
    /// Whether the expectation was met.
    pub held: bool,
}

impl Document for Completions {
    const FORMAT: &'static str = "actum.completions/1";
}

impl Document for Man {
    const FORMAT: &'static str = "actum.man/1";
}

impl Document for Demo {
    const FORMAT: &'static str = "actum.demo/1";
}
