//! What is not as it should be with an action, before anybody relies on it.

use actum_action::Manifest;
use actum_core::RiskTier;

use super::{Catalog, Registered};
use crate::schema::Schema;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The action, by what it calls itself.
    pub action: String,
    /// What is wrong with it, in words.
    pub message: String,
}

impl Catalog {
    /// What is not as it should be with the actions of the catalog.
    pub fn lint(&self) -> Vec<Lint> {
        self.actions().flat_map(lint).collect()
    }
}

/// The same of a package that may not be registered yet, by what its `action.json` says.
pub fn lint_manifest(manifest: &Manifest) -> Vec<Lint> {
    let of =
        |message: &str| Lint { action: manifest.name.to_string(), message: message.to_owned() };
    let schemas = [("input", &manifest.input_schema), ("output", &manifest.output_schema)];
    let mut lints: Vec<Lint> = schemas
        .into_iter()
        .filter_map(|(what, schema)| {
            let error = Schema::read(schema).err()?;
            Some(of(&format!("its {what} schema is no sound JSON Schema: {error}")))
        })
        .collect();
    if manifest.is_write_like() {
        if manifest.risk_tier < RiskTier::R2 {
            lints.push(of("it may write in the workspace, which is R2 at least"));
        }
        if !manifest.verification.required {
            lints.push(of("it may write in the workspace, and no verification is required"));
        }
        if !manifest.rollback.required {
            lints.push(of("it may write in the workspace, and no rollback is required"));
        }
    }
    lints
}

fn lint(registered: &Registered) -> Vec<Lint> {
    let schemas = [("input", &*registered.input_schema), ("output", &registered.output_schema)];
    let wrong = schemas.into_iter().filter_map(|(what, schema)| {
        let error = Schema::read(schema).err()?;
        let message = format!("its {what} schema is no sound JSON Schema: {error}");
        Some(Lint { action: registered.name.to_string(), message })
    });
    wrong.collect()
}
