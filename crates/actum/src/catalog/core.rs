//! Catalog entries of the core actions, which are built into actum.

use std::sync::{Arc, OnceLock};

use actum_access::AccessAction;
use actum_action::Phrases;
use actum_core::{ActionName, CoreAction, CoreEffect, RiskTier, core_actions};
use actum_edit::format::Format;
use actum_record::ledger::ActionState;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Catalog, CatalogError, Flags, Origin, Registered, RollbackKind};

/// Version of the inputs and outputs of all core actions.
const VERSION: &str = "1";

/// JSON pointer from an input's `properties` to the list of change formats. If a schema file leaves this list empty, it
/// is filled with all formats that actum supports.
const FORMATS: &str = "/format/enum";

/// Description and schemas of a core action, as stored in its file in `schemas`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    description: String,
    input: Map<String, Value>,
    output: Map<String, Value>,
}

macro_rules! documents {
    ($($action:ident = $name:literal $effect:ident,)*) => {
        /// Returns the JSON text that describes a core action.
        fn document(action: CoreAction) -> &'static str {
            match action {
                $(CoreAction::$action => include_str!(concat!("schemas/", $name, ".json")),)*
            }
        }
    };
}

core_actions!(documents);

impl Registered {
    /// Creates the catalog entry of a core action in its initial state, active.
    fn from_core(action: CoreAction) -> Result<Self, CatalogError> {
        let built_in = |error: &dyn std::fmt::Display| CatalogError::BuiltIn {
            action: action.as_str(),
            message: error.to_string(),
        };
        let name: ActionName = action.as_str().parse().map_err(|error| built_in(&error))?;
        let mut document: Value = document(action).parse().map_err(|error| built_in(&error))?;
        // Sort all members by name, because a snapshot has them in this order.
        document.sort_all_objects();
        let document = serde_json::from_value(document).map_err(|error| built_in(&error))?;
        let Document { description, mut input, output } = document;
        let names = input.get_mut("properties").and_then(|it| it.pointer_mut(FORMATS));
        if let Some(names) = names.filter(|it| it.as_array().is_some_and(Vec::is_empty)) {
            *names = Format::ALL.map(Format::name).as_slice().into();
        }
        let (writes, access) = match action.effect() {
            CoreEffect::ChangesFiles => (true, AccessAction::ChangeFiles),
            CoreEffect::RunsCommand => (true, AccessAction::RunCommand),
            CoreEffect::Diagnoses => (false, AccessAction::RunCommand),
        };
        let (tier, rollback) = match writes {
            false => (RiskTier::R0, RollbackKind::None),
            true => (RiskTier::R2, RollbackKind::Undo),
        };
        Ok(Self {
            name,
            version: Some(VERSION.to_owned()),
            state: ActionState::Active,
            origin: Origin::Core,
            description: Some(description),
            tier,
            flags: Flags { impactful: writes, side_effecting: writes, irreversible: false, writes },
            access,
            rollback,
            input_schema: input.into(),
            output_schema: output,
            phrases: Phrases::new(),
        })
    }
}

impl Catalog {
    /// Returns the initial catalog, in which all core actions are active and there are no packages.
    ///
    /// # Errors
    /// `BuiltIn` if the built-in description of a core action is invalid, which is a bug in actum.
    pub fn core() -> Result<Self, CatalogError> {
        static MADE: OnceLock<Catalog> = OnceLock::new();
        if let Some(catalog) = MADE.get() {
            return Ok(catalog.clone());
        }
        let registered = CoreAction::ALL.iter().map(|action| {
            let registered = Registered::from_core(*action)?;
            Ok((registered.name.clone(), Arc::new(registered)))
        });
        let actions = registered.collect::<Result<_, CatalogError>>()?;
        Ok(MADE.get_or_init(|| Self::new(actions)).clone())
    }
}
