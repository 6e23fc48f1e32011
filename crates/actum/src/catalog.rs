//! Catalog of actions and their states (AA-9, AA-13).
//!
//! The core actions are built in. Packages, and the state of every action, are recorded in the ledger by the operator.
//! Each catalog change is signed with an approval key, references the previous change, and contains a snapshot of the
//! entire resulting catalog. Only the newest change is relevant: if it fails verification, no catalog is in force.

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

/// Catalog of all actions, indexed by name. Clones are cheap, because they share the actions and the cached snapshot.
#[derive(Debug, Clone)]
pub struct Catalog {
    contents: Arc<Contents>,
}

#[derive(Debug)]
struct Contents {
    actions: Actions,
    /// Snapshot document of the catalog, created on first use.
    snapshot: OnceLock<Vec<u8>>,
}

type Actions = BTreeMap<ActionName, Arc<Registered>>;

/// Action in the catalog. The fields are sorted by name, because a snapshot serializes them in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// Name of the action in access policies.
    #[serde(with = "snapshot::access")]
    pub access: AccessAction,
    /// Human-readable description of the action, if it has one.
    pub description: Option<String>,
    /// Effects of the action on its environment.
    pub flags: Flags,
    /// JSON Schema that the input of the action must match.
    pub input_schema: InputSchema,
    /// Unique name of the action.
    pub name: ActionName,
    /// Whether the action is built in or comes from a package.
    pub origin: Origin,
    /// JSON Schema that describes the output of the action.
    pub output_schema: Map<String, Value>,
    /// Phrases with which users can request a package. Empty for core actions and for packages that declare none.
    #[serde(default, skip_serializing_if = "Phrases::is_empty")]
    pub phrases: Phrases,
    /// How the effects of the action are rolled back.
    pub rollback: RollbackKind,
    /// State of the action: draft, active or retired.
    pub state: ActionState,
    /// Minimum risk tier of every run of the action.
    pub tier: RiskTier,
    /// Version of the action, if it declares one.
    pub version: Option<String>,
}

/// Whether an action is built in or comes from a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Origin {
    /// The action is built into actum.
    Core,
    /// The action comes from a package, whose files are identified by a digest.
    Package {
        /// Digest of all files of the registered package.
        digest: Digest,
    },
}

/// Effects of an action on its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// Whether the action changes shared state, so that it needs a rollback plan.
    pub impactful: bool,
    /// Whether the effects of the action cannot be undone.
    pub irreversible: bool,
    /// Whether the action has lasting effects, so that executing it twice differs from executing it once.
    pub side_effecting: bool,
    /// Whether the action may change files of the workspace, so that the rules for R2 actions that write apply (AA-3,
    /// AA-11).
    pub writes: bool,
}

/// How the effects of an action are rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackKind {
    /// The action changes no files, so there is nothing to roll back.
    None,
    /// The action is undone like any run, from the saved images of the files.
    Undo,
    /// The package has its own rollback code. Its runs can also be undone like any other.
    Package,
}

/// Package to register in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Parsed content of the package's `action.json`.
    pub manifest: Manifest,
    /// Digest of all files of the package.
    pub digest: Digest,
}

impl Catalog {
    /// Reads the catalog in force from the ledger.
    ///
    /// # Errors
    /// [`CatalogError`] if the ledger cannot be read or the newest catalog change fails verification.
    pub fn in_force(log: &dyn Log, keyring: &Keyring) -> Result<Self, CatalogError> {
        Standing::read(log, keyring)?.in_force()
    }

    fn new(actions: Actions) -> Self {
        Self { contents: Arc::new(Contents { actions, snapshot: OnceLock::new() }) }
    }

    /// Returns the action with the given name, regardless of its state.
    pub fn find(&self, name: &ActionName) -> Option<&Arc<Registered>> {
        self.contents.actions.get(name)
    }

    /// Iterates over all actions, ordered by name.
    pub fn actions(&self) -> impl Iterator<Item = &Registered> {
        self.contents.actions.values().map(|registered| &**registered)
    }
}

/// Compares only the actions, not the cached snapshots.
impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        self.contents.actions == other.contents.actions
    }
}

impl Eq for Catalog {}

impl Registered {
    /// Returns whether the action is active, so that it can be used.
    pub fn is_active(&self) -> bool {
        self.state == ActionState::Active
    }

    /// Returns a copy of the action with the given state.
    fn in_state(&self, state: ActionState) -> Self {
        Self { state, ..self.clone() }
    }
}

impl From<&Registration> for Registered {
    /// Creates the catalog entry for a newly registered package, which starts as a draft.
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
    /// Returns the digest of the package, or `None` for a core action.
    pub fn digest(self) -> Option<Digest> {
        match self {
            Self::Core => None,
            Self::Package { digest } => Some(digest),
        }
    }
}

impl RollbackKind {
    /// Returns the name of the rollback method, as it is serialized.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Undo => "undo",
            Self::Package => "package",
        }
    }
}
