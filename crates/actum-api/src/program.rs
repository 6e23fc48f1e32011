//! The program itself: completions of shells, manual pages, and the demo.

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
    /// Script for the shell.
    pub script: String,
}

/// Result of `actum man`: has `page`, or with `--directory` `pages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Man {
    /// Without `--directory`.
    Page {
        /// The manual page, in roff.
        page: String,
    },
    /// With `--directory`.
    Pages {
        /// Names of the files that were written.
        pages: Vec<String>,
    },
}

/// Result of `actum demo`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demo {
    /// Directory of the demo's project; `null` where it was removed.
    pub directory: Option<String>,
    /// Comparisons of the project with its expected state.
    pub checks: Vec<DemoCheck>,
}

/// Comparison of the demo's project with its expected state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DemoCheck {
    /// The expectation as a sentence.
    pub what: String,
    /// True if it holds.
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
