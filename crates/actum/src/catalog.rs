//! The actions that there are, and where each stands (AA-9, AA-13).
//!
//! The core actions are built in. What people say of them and of packages is in the ledger: each change is signed
//! by an approval key, follows the change before it, and names the whole catalog as it is from then on. Only the
//! newest change counts, and where it is not proven nothing is in force.

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

/// All actions, by name. Clones share them, and the snapshot.
#[derive(Debug, Clone)]
pub struct Catalog {
    contents: Arc<Contents>,
}

#[derive(Debug)]
struct Contents {
    actions: Actions,
    /// Written when it is first needed.
    snapshot: OnceLock<Vec<u8>>,
}

type Actions = BTreeMap<ActionName, Arc<Registered>>;

/// One action of the catalog. The fields are in the order of their names, as a snapshot has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// As what access policies see it.
    #[serde(with = "snapshot::access")]
    pub access: AccessAction,
    /// What it does, for people.
    pub description: Option<String>,
    /// What it does to what is around it.
    pub flags: Flags,
    /// The JSON Schema of what it is given.
    pub input_schema: InputSchema,
    /// Name.
    pub name: ActionName,
    /// Where it is from.
    pub origin: Origin,
    /// The JSON Schema of what it gives.
    pub output_schema: Map<String, Value>,
    /// Phrases by which users ask for a package. Absent of a core action, and of a package without any.
    #[serde(default, skip_serializing_if = "Phrases::is_empty")]
    pub phrases: Phrases,
    /// How it is taken back.
    pub rollback: RollbackKind,
    /// Where it stands.
    pub state: ActionState,
    /// The least tier that its runs have.
    pub tier: RiskTier,
    /// Which version of it this is, where it says so.
    pub version: Option<String>,
}

/// Where an action is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Origin {
    /// It is built in.
    Core,
    /// A package, of which every byte was looked at when it was registered.
    Package {
        /// The digest of the package.
        digest: Digest,
    },
}

/// What an action does to what is around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// It changes what others work with: it takes a plan for taking it back.
    pub impactful: bool,
    /// What it does cannot be taken back.
    pub irreversible: bool,
    /// Something is other afterwards: asking twice is not asking once.
    pub side_effecting: bool,
    /// It may change files of the workspace, so that the rules for R2 that writes hold (AA-3, AA-11).
    pub writes: bool,
}

/// How an action is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackKind {
    /// There is nothing to take back.
    None,
    /// As every run is, by the images that it left.
    Undo,
    /// By what the package brings along, and as every run is.
    Package,
}

/// A package that is to be registered: what its `action.json` says, and the digest of all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// What `action.json` says.
    pub manifest: Manifest,
    /// The digest of the package.
    pub digest: Digest,
}

impl Catalog {
    /// The catalog that is in force.
    ///
    /// # Errors
    /// [`CatalogError`]; also where the newest change of it is not proven, by whoever made it.
    pub fn in_force(log: &dyn Log, keyring: &Keyring) -> Result<Self, CatalogError> {
        Standing::read(log, keyring)?.in_force()
    }

    fn new(actions: Actions) -> Self {
        Self { contents: Arc::new(Contents { actions, snapshot: OnceLock::new() }) }
    }

    /// The action of that name, wherever it stands.
    pub fn find(&self, name: &ActionName) -> Option<&Arc<Registered>> {
        self.contents.actions.get(name)
    }

    /// All of them, by name.
    pub fn actions(&self) -> impl Iterator<Item = &Registered> {
        self.contents.actions.values().map(|registered| &**registered)
    }
}

/// Catalogs are equal if their actions are.
impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        self.contents.actions == other.contents.actions
    }
}

impl Eq for Catalog {}

impl Registered {
    /// Whether it can be used.
    pub fn is_active(&self) -> bool {
        self.state == ActionState::Active
    }

    /// The same action where it stands elsewhere.
    fn in_state(&self, state: ActionState) -> Self {
        Self { state, ..self.clone() }
    }
}

impl From<&Registration> for Registered {
    /// A package as it is registered: a draft.
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
    /// The digest of the package, where it is one.
    pub fn digest(self) -> Option<Digest> {
        match self {
            Self::Core => None,
            Self::Package { digest } => Some(digest),
        }
    }
}

impl RollbackKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Undo => "undo",
            Self::Package => "package",
        }
    }
}
