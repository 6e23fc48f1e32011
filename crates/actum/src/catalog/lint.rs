//! Lints that find mistakes in an action before it is used.

use actum_action::Manifest;
use actum_core::RiskTier;

use super::{Catalog, Registered};
use crate::schema::Schema;

/// Mistake that a lint found in an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Name of the action with the mistake.
    pub action: String,
    /// Description of the mistake.
    pub message: String,
}

impl Catalog {
    /// Lints all actions in the catalog.
    pub fn lint(&self) -> Vec<Lint> {
        self.actions().flat_map(lint).collect()
    }
}

/// Lints the manifest of a package, which need not be registered.
pub fn lint_manifest(manifest: &Manifest) -> Vec<Lint> {
    let of =
        |message: &str| Lint { action: manifest.name.to_string(), message: message.to_owned() };
    let schemas = [("input", &manifest.input_schema), ("output", &manifest.output_schema)];
    let mut lints: Vec<Lint> = schemas
        .into_iter()
        .filter_map(|(what, schema)| {
            let error = Schema::read(schema).err()?;
            Some(of(&format!("its {what} schema is not a valid JSON Schema: {error}")))
        })
        .collect();
    if manifest.is_write_like() {
        if manifest.risk_tier < RiskTier::R2 {
            lints.push(of("it may write to the workspace, which requires risk tier R2 or higher"));
        }
        if !manifest.verification.required {
            lints.push(of("it may write to the workspace, but does not require verification"));
        }
        if !manifest.rollback.required {
            lints.push(of("it may write to the workspace, but does not require rollback"));
        }
    }
    lints
}

fn lint(registered: &Registered) -> Vec<Lint> {
    let schemas = [("input", &*registered.input_schema), ("output", &registered.output_schema)];
    let wrong = schemas.into_iter().filter_map(|(what, schema)| {
        let error = Schema::read(schema).err()?;
        let message = format!("its {what} schema is not a valid JSON Schema: {error}");
        Some(Lint { action: registered.name.to_string(), message })
    });
    wrong.collect()
}
