//! `actum.catalog/1` and `actum.catalog-lint/1`: actions of the catalog.

use std::collections::BTreeMap;

use actum_core::{ActionName, Digest, RiskTier};
use actum_record::ledger::ActionState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Catalog>(), DocumentType::new::<CatalogLint>()];

/// Result of `actum catalog list`, and with one action that of `show`, `activate` and `retire`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Catalog {
    /// Digest of the whole catalog, as the ledger has it.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// The actions.
    pub actions: Vec<CatalogAction>,
}

/// Action of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogAction {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Version of the action; `null` where it has none.
    pub version: Option<String>,
    /// State of the action.
    #[schemars(with = "value::ActionState")]
    pub state: ActionState,
    /// Origin of the action.
    pub origin: ActionOrigin,
    /// Digest of the package. Absent for built-in actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub package: Option<Digest>,
    /// Description of the action; `null` where it has none.
    pub description: Option<String>,
    /// Lowest risk tier of its runs.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// True if it changes what others work with, so that it needs a rollback.
    pub impactful: bool,
    /// True if doing it twice differs from doing it once.
    pub side_effecting: bool,
    /// True if its effects cannot be undone.
    pub irreversible: bool,
    /// True if it may change files of the workspace.
    pub writes: bool,
    /// Name of the action for access policies. It is the same for all actions in this version.
    pub access: String,
    /// Rollback of the action.
    pub rollback: ActionRollback,
    /// JSON Schema of the input. Absent where actions are only listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Map<String, Value>>,
    /// JSON Schema of the output. Absent where actions are only listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Phrases by which users ask for a package, by language. Absent where actions are only listed, and if empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phrases: BTreeMap<String, Vec<String>>,
}

/// Origin of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionOrigin {
    /// Built in.
    Core,
    /// A plugin package.
    Package,
}

impl ActionOrigin {
    /// Returns the word in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Package => "package",
        }
    }
}

/// Rollback of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionRollback {
    /// The action has no effects to roll back.
    None,
    /// `actum undo` takes its run back.
    Undo,
    /// The package has its own rollback, and `actum undo` takes its run back.
    Package,
}

/// Result of `actum catalog lint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogLint {
    /// True if nothing is wrong. Where it is `false`, the command ends with code 4.
    pub sound: bool,
    /// Number of actions that were checked.
    pub actions: u64,
    /// Everything that is wrong.
    pub findings: Vec<CatalogFinding>,
}

/// One thing that is wrong with an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogFinding {
    /// Name of the action, or the file of a package that cannot be read.
    pub action: String,
    /// The finding as a sentence.
    pub message: String,
}

impl Document for Catalog {
    const FORMAT: &'static str = "actum.catalog/1";
}

impl Document for CatalogLint {
    const FORMAT: &'static str = "actum.catalog-lint/1";
}
