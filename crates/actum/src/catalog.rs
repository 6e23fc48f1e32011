//! Catalog of actions and their states (AA-9, AA-13).
//!
//! The core actions are built in. The ledger has the operator's decisions about them and about packages. Each change is
//! signed by an approval key, follows the previous change, and names the whole resulting catalog. Only the newest
//! change counts; if it is not proven, no catalog is in force.

mod change;
mod core;
mod input_schema;
mod lint;
mod snapshot;
mod standing;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use actum_access::AccessAction;
use actum_action::{Manifest, Phrases};
use actum_core::{ActionName, Digest, RiskTier};
use actum_ledger::Log;
use actum_record::keyring::Keyring;
use actum_record::ledger::ActionState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::error::CatalogError;
pub use change::Step;
pub use input_schema::InputSchema;
pub use lint::{Lint, lint_manifest};
pub use standing::Standing;

/// Catalog: all actions, by name. Clones share them, and the snapshot.
#[derive(Debug, Clone)]
pub struct Catalog {
    contents: Arc<Contents>,
}

#[derive(Debug)]
struct Contents {
    actions: Actions,
    /// Document of the catalog, created on first use.
    snapshot: OnceLock<Vec<u8>>,
}

type Actions = BTreeMap<ActionName, Arc<Registered>>;

/// Action of the catalog. The fields are in the order of their names, as a snapshot has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// Action as access policies see it.
    #[serde(with = "snapshot::access")]
    pub access: AccessAction,
    /// Human-readable description.
    pub description: Option<String>,
    /// Effects on the environment.
    pub flags: Flags,
    /// JSON Schema of the input.
    pub input_schema: InputSchema,
    /// Name.
    pub name: ActionName,
    /// Source of the action.
    pub origin: Origin,
    /// JSON Schema of the output.
    pub output_schema: Map<String, Value>,
    /// Phrases by which users ask for a package. Absent for a core action, and for a package without any.
    #[serde(default, skip_serializing_if = "Phrases::is_empty")]
    pub phrases: Phrases,
    /// Rollback method.
    pub rollback: RollbackKind,
    /// State of the action.
    pub state: ActionState,
    /// Minimum risk tier of its runs.
    pub tier: RiskTier,
    /// Version, if declared.
    pub version: Option<String>,
}

/// Source of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Origin {
    /// Built in.
    Core,
    /// Package, of which every byte was checked when it was registered.
    Package {
        /// Digest of the package.
        digest: Digest,
    },
}

/// Effects of an action on its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// Changes shared state, so it needs a rollback plan.
    pub impactful: bool,
    /// Cannot be undone.
    pub irreversible: bool,
    /// Leaves a lasting effect, so two executions differ from one.
    pub side_effecting: bool,
    /// May change files of the workspace, so the rules for writing R2 actions apply (AA-3, AA-11).
    pub writes: bool,
}

/// Rollback method of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackKind {
    /// Nothing to roll back.
    None,
    /// Undone like every run, from its images.
    Undo,
    /// Rolled back by the package's own code, and undone like every run.
    Package,
}

/// Package to register: its manifest, and the digest of all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Content of `action.json`.
    pub manifest: Manifest,
    /// Digest of the package.
    pub digest: Digest,
}

impl Catalog {
    /// Returns the catalog in force.
    ///
    /// # Errors
    /// [`CatalogError`]; also if the newest change is not proven, whatever made it.
    pub fn in_force(log: &dyn Log, keyring: &Keyring) -> Result<Self, CatalogError> {
        Standing::read(log, keyring)?.in_force()
    }

    fn new(actions: Actions) -> Self {
        Self { contents: Arc::new(Contents { actions, snapshot: OnceLock::new() }) }
    }

    /// Returns the action of that name in any state.
    pub fn find(&self, name: &ActionName) -> Option<&Arc<Registered>> {
        self.contents.actions.get(name)
    }

    /// Returns all actions, ordered by name.
    pub fn actions(&self) -> impl Iterator<Item = &Registered> {
        self.contents.actions.values().map(|registered| &**registered)
    }
}

/// Catalogs are equal if their actions are equal.
impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        self.contents.actions == other.contents.actions
    }
}

impl Eq for Catalog {}

impl Registered {
    /// Returns true if the action can be used.
    pub fn is_active(&self) -> bool {
        self.state == ActionState::Active
    }

    /// Returns a copy of the action in another state.
    fn in_state(&self, state: ActionState) -> Self {
        Self { state, ..self.clone() }
    }
}

impl From<&Registration> for Registered {
    /// Returns a package as it is registered: a draft.
    fn from(Registration { manifest, digest }: &Registration) -> Self {
        let writes = manifest.is_write_like();
        let irreversible = manifest.risk_tier >= RiskTier::R4;
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            state: ActionState::Draft,
            origin: Origin::Package { digest: *digest },
            description: manifest.description.clone(),
            tier: manifest.risk_tier,
            flags: Flags {
                impactful: writes || manifest.risk_tier.needs_approval(),
                side_effecting: writes || irreversible,
                irreversible,
                writes,
            },
            access: AccessAction::RunAction,
            rollback: match (writes, manifest.rollback.required) {
                (false, _) => RollbackKind::None,
                (true, false) => RollbackKind::Undo,
                (true, true) => RollbackKind::Package,
            },
            input_schema: manifest.input_schema.clone().into(),
            output_schema: manifest.output_schema.clone(),
            phrases: manifest.phrases.clone(),
        }
    }
}

impl Origin {
    /// Returns the digest of a package; `None` for a core action.
    pub fn digest(self) -> Option<Digest> {
        match self {
            Self::Core => None,
            Self::Package { digest } => Some(digest),
        }
    }
}

impl RollbackKind {
    /// Returns the name of the method.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Undo => "undo",
            Self::Package => "package",
        }
    }
}
