//! The actions that are built in.

use std::sync::OnceLock;

use actum_access::AccessAction;
use actum_core::{ActionName, RiskTier};
use actum_edit::format::Format;
use actum_record::ledger::ActionState;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Catalog, CatalogError, Flags, Origin, Registered, RollbackKind};

/// The version of what they take and give.
const VERSION: &str = "1";

/// Place of the names of input formats among the members of an input. An empty list in a file of `schemas` is filled
/// with all of them.
const FORMATS: &str = "/format/enum";

/// What an action of actum's own does to files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It looks, and what it runs leaves nothing behind.
    Looks,
    /// It changes what can be taken back.
    Writes,
}

/// An action of actum's own.
struct Core {
    name: &'static str,
    effect: Effect,
    access: AccessAction,
    document: &'static str,
}

/// What is said of it in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    description: String,
    input: Map<String, Value>,
    output: Map<String, Value>,
}

macro_rules! core {
    ($($name:literal $effect:ident $access:ident,)*) => {
        [$(Core {
            name: $name,
            effect: Effect::$effect,
            access: AccessAction::$access,
            document: include_str!(concat!("schemas/", $name, ".json")),
        },)*]
    };
}

static CORE: [Core; 9] = core! {
    "apply_changeset" Writes ChangeFiles,
    "file_create" Writes ChangeFiles,
    "file_modify" Writes ChangeFiles,
    "file_delete" Writes ChangeFiles,
    "file_rename" Writes ChangeFiles,
    "file_copy" Writes ChangeFiles,
    "run_command" Writes RunCommand,
    "diagnose_error" Looks RunCommand,
    "undo_run" Writes ChangeFiles,
};

impl Core {
    fn registered(&self) -> Result<Registered, CatalogError> {
        let built_in = |error: &dyn std::fmt::Display| CatalogError::BuiltIn {
            action: self.name,
            message: error.to_string(),
        };
        let name: ActionName = self.name.parse().map_err(|error| built_in(&error))?;
        let document = serde_json::from_str(self.document).map_err(|error| built_in(&error))?;
        let Document { description, mut input, output } = document;
        let names = input.get_mut("properties").and_then(|it| it.pointer_mut(FORMATS));
        if let Some(names) = names.filter(|it| it.as_array().is_some_and(Vec::is_empty)) {
            *names = Format::ALL.map(Format::name).as_slice().into();
        }
        let writes = self.effect == Effect::Writes;
        let (tier, rollback) = match self.effect {
            Effect::Looks => (RiskTier::R0, RollbackKind::None),
            Effect::Writes => (RiskTier::R2, RollbackKind::Undo),
        };
        Ok(Registered {
            name,
            version: Some(VERSION.to_owned()),
            state: ActionState::Active,
            origin: Origin::Core,
            description: Some(description),
            tier,
            flags: Flags { impactful: writes, side_effecting: writes, irreversible: false, writes },
            access: self.access,
            rollback,
            input_schema: input,
            output_schema: output,
        })
    }
}

impl Catalog {
    /// The catalog as it is before anybody changed it: the core actions, which can all be used.
    ///
    /// # Errors
    /// `BuiltIn`, where this program was made wrongly.
    pub fn core() -> Result<Self, CatalogError> {
        static MADE: OnceLock<Catalog> = OnceLock::new();
        if let Some(catalog) = MADE.get() {
            return Ok(catalog.clone());
        }
        let registered = CORE.iter().map(|core| {
            let registered = core.registered()?;
            Ok((registered.name.clone(), registered))
        });
        let actions = registered.collect::<Result<_, CatalogError>>()?;
        Ok(MADE.get_or_init(|| Self { actions }).clone())
    }
}
