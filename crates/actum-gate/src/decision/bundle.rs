//! All that a decision is made from, as a document that is kept.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use actum_core::receipt::PathEffect;
use actum_core::{Budget, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DECISION_SEMANTICS;

/// The largest number that a document can hold: 2^53 − 1. No run changes as many lines.
const LIMIT_MAX: u64 = (1 << 53) - 1;

/// What a change would do, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    format: String,
    semantics: u32,
    scope: Scope,
    budget: Budget,
    change: Vec<PathEffect>,
}

/// Bytes that are no bundle of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// It is not JSON of which every reader has the same idea.
    #[error("the bundle of a decision cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// It is of another format, or to be judged by other rules.
    #[error(
        "the bundle is a `{}` for version {} of the rules, and this program knows `{}` for version \
         {DECISION_SEMANTICS}",
        Cut(format.as_bytes(), 80),
        Cut(semantics.as_bytes(), 80),
        Bundle::FORMAT
    )]
    OtherVersion {
        /// Its format.
        format: String,
        /// The version of the rules, as it stands there.
        semantics: String,
    },
    /// Fields are missing, too many, or of another kind.
    #[error("the bundle of a decision cannot be read: {message}")]
    Shape {
        /// Which, and how.
        message: String,
    },
    /// It says more than this program reads from it, or in another form.
    #[error("the bundle of a decision is not in its canonical form")]
    NotCanonical,
}

impl Bundle {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.bundle/1";

    /// The bundle of a change. A limit beyond 2^53 − 1 is held at that.
    pub fn new(scope: Scope, budget: Budget, change: Vec<PathEffect>) -> Self {
        let held = |limit: Option<u64>| limit.map(|limit| limit.min(LIMIT_MAX));
        let Budget { max_files, max_loc } = budget;
        Self {
            format: Self::FORMAT.to_owned(),
            semantics: DECISION_SEMANTICS,
            scope,
            budget: Budget { max_files: held(max_files), max_loc: held(max_loc) },
            change,
        }
    }

    /// Where the change may be made.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How large it may be.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What it does to each path.
    pub fn change(&self) -> &[PathEffect] {
        &self.change
    }

    /// The canonical JSON of the bundle.
    ///
    /// # Errors
    /// `Number` for a file or a count of lines beyond 2^53 − 1.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Reads the canonical bytes of a bundle.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn read(bytes: &[u8]) -> Result<Self, BundleError> {
        let value = canonical::read(bytes)?;
        let format = value.get("format").and_then(Value::as_str).unwrap_or_default();
        let semantics = value.get("semantics").unwrap_or(&Value::Null);
        let is_known = semantics.as_u64() == Some(u64::from(DECISION_SEMANTICS));
        if format != Self::FORMAT || !is_known {
            let (format, semantics) = (format.to_owned(), semantics.to_string());
            return Err(BundleError::OtherVersion { format, semantics });
        }
        let shape = |error| BundleError::Shape { message: canonical::plainly(&error) };
        let bundle: Self = serde_json::from_value(value).map_err(shape)?;
        if bundle.to_vec()? != bytes {
            return Err(BundleError::NotCanonical);
        }
        Ok(bundle)
    }
}
