//! `actum.catalog/1` and `actum.catalog-lint/1`: actions in the catalog.

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

/// Result of `actum catalog list`, and also of `show`, `activate` and `retire`, which return a single action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Catalog {
    /// Digest of the entire catalog, as recorded in the ledger.
    #[schemars(with = "value::Digest")]
    pub digest: Digest,
    /// Actions in the catalog.
    pub actions: Vec<CatalogAction>,
}

/// Action in the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogAction {
    /// Name of the action.
    #[schemars(with = "value::ActionName")]
    pub name: ActionName,
    /// Version of the action, or `null` if it has none.
    pub version: Option<String>,
    /// State of the action.
    #[schemars(with = "value::ActionState")]
    pub state: ActionState,
    /// Origin of the action.
    pub origin: ActionOrigin,
    /// Digest of the plugin package. Absent for built-in actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub package: Option<Digest>,
    /// Description of the action, or `null` if it has none.
    pub description: Option<String>,
    /// Minimum risk tier of the action's runs.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Whether the action changes things that others work with, so that it needs a rollback plan.
    pub impactful: bool,
    /// Whether running the action twice has a different effect than running it once.
    pub side_effecting: bool,
    /// Whether the effects of the action cannot be undone.
    pub irreversible: bool,
    /// Whether the action may change files in the workspace.
    pub writes: bool,
    /// Name of the action in access policies. In this version, all actions share the same name.
    pub access: String,
    /// Method by which the action is rolled back.
    pub rollback: ActionRollback,
    /// JSON Schema of the action's input. Absent in lists of actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Map<String, Value>>,
    /// JSON Schema of the action's output. Absent in lists of actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Phrases with which users ask for the package, by language. Absent in lists of actions and if empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phrases: BTreeMap<String, Vec<String>>,
}

/// Origin of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionOrigin {
    /// The action is built into actum.
    Core,
    /// The action comes from a plugin package.
    Package,
}

impl ActionOrigin {
    /// Returns the value used in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Package => "package",
        }
    }
}

/// Method by which an action is rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionRollback {
    /// The action has no effects to roll back.
    None,
    /// `actum undo` undoes the run of the action.
    Undo,
    /// The package has its own rollback, and `actum undo` undoes the run of the action.
    Package,
}

/// Result of `actum catalog lint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogLint {
    /// Whether the check found no problems. If `false`, the command exits with code 4.
    pub sound: bool,
    /// Number of actions that were checked.
    pub actions: u64,
    /// Problems found in the catalog.
    pub findings: Vec<CatalogFinding>,
}

/// Problem found in an action of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogFinding {
    /// Name of the action, or path of a package file that cannot be read.
    pub action: String,
    /// Description of the problem as a sentence.
    pub message: String,
}

impl Document for Catalog {
    const FORMAT: &'static str = "actum.catalog/1";
}

impl Document for CatalogLint {
    const FORMAT: &'static str = "actum.catalog-lint/1";
}
