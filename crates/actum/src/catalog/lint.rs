//! Lints of actions, to find mistakes before an action is used.

use actum_action::Manifest;
use actum_core::RiskTier;

use super::{Catalog, Registered};
use crate::schema::Schema;

/// Lint of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Name of the action, as it declares it.
    pub action: String,
    /// Description of the problem.
    pub message: String,
}

impl Catalog {
    /// Returns the lints of all actions of the catalog.
    pub fn lint(&self) -> Vec<Lint> {
        self.actions().flat_map(lint).collect()
    }
}

/// Returns the lints of a package by its `action.json`, whether or not it is registered.
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
