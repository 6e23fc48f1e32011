//! Text and JSON views of actions in the catalog.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use actum::{Catalog, Flags, Origin, Registered, RollbackKind};
use actum_api::catalog::{self, ActionOrigin, ActionRollback, CatalogAction};
use actum_core::Digest;
use actum_core::path::{Harmless, Quoted};
use actum_record::ledger::ActionState;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};

/// Returns a document with all actions, for a list.
pub(super) fn all(catalog: &Catalog) -> Result<catalog::Catalog, Failure> {
    let actions = catalog.actions().map(action).collect();
    Ok(catalog::Catalog { digest: digest(catalog)?, actions })
}

/// Returns a document with one action that is shown in a single line.
pub(super) fn line(
    catalog: &Catalog,
    registered: &Registered,
) -> Result<catalog::Catalog, Failure> {
    Ok(catalog::Catalog { digest: digest(catalog)?, actions: vec![action(registered)] })
}

/// Returns a document with one action and its schemas, which is shown in full.
pub(super) fn one(catalog: &Catalog, registered: &Registered) -> Result<catalog::Catalog, Failure> {
    let whole = CatalogAction {
        input_schema: Some((*registered.input_schema).clone()),
        output_schema: Some(registered.output_schema.clone()),
        phrases: registered.phrases.clone(),
        ..action(registered)
    };
    Ok(catalog::Catalog { digest: digest(catalog)?, actions: vec![whole] })
}

fn digest(catalog: &Catalog) -> Result<Digest, Failure> {
    Ok(catalog.digest().map_err(|error| actum::Error::from(actum::CatalogError::from(error)))?)
}

fn action(registered: &Registered) -> CatalogAction {
    let Registered { name, version, state, origin, description, tier, flags, .. } = registered;
    let (origin, package) = match origin {
        Origin::Core => (ActionOrigin::Core, None),
        Origin::Package { digest } => (ActionOrigin::Package, Some(*digest)),
    };
    let Flags { impactful, side_effecting, irreversible, writes } = *flags;
    CatalogAction {
        name: name.clone(),
        version: version.clone(),
        state: *state,
        origin,
        package,
        description: description.clone(),
        tier: *tier,
        impactful,
        side_effecting,
        irreversible,
        writes,
        access: registered.access.as_str().to_owned(),
        rollback: match registered.rollback {
            RollbackKind::None => ActionRollback::None,
            RollbackKind::Undo => ActionRollback::Undo,
            RollbackKind::Package => ActionRollback::Package,
        },
        input_schema: None,
        output_schema: None,
        phrases: BTreeMap::new(),
    }
}

/// Writes an action in one line.
fn write(action: &CatalogAction, out: &mut dyn Write) -> io::Result<()> {
    let CatalogAction { name, state, tier, origin, description, .. } = action;
    let origin = origin.as_str();
    let about = description.as_deref().unwrap_or_default();
    let state = format!("{:7}", state.as_str());
    let state = Painted(of_state(action.state), state);
    let name = name.as_str();
    writeln!(out, "{state}  {name:16}  {tier}  {origin:7}  {}", Harmless(about.as_bytes()))
}

/// Writes an action with its phrases and schemas.
fn write_whole(
    action: &CatalogAction,
    (input, output): (&Map<String, Value>, &Map<String, Value>),
    out: &mut dyn Write,
) -> io::Result<()> {
    let CatalogAction { name, version, state, origin, package, description, tier, .. } = action;
    let origin = origin.as_str();
    let version = version.as_deref().unwrap_or("not specified");
    writeln!(out, "action    {name}")?;
    writeln!(out, "state     {}", Painted(of_state(*state), state.as_str()))?;
    if let Some(description) = description {
        writeln!(out, "does      {}", Harmless(description.as_bytes()))?;
    }
    writeln!(out, "version   {}", Quoted(version.as_bytes()))?;
    match package {
        Some(digest) => writeln!(out, "from      a {origin} with the digest {digest}")?,
        None => writeln!(out, "from      {origin}, built in")?,
    }
    writeln!(out, "tier      at least {tier}")?;
    writeln!(out, "is        {}", words(action))?;
    writeln!(out, "access    policies treat its changes as `change_files`")?;
    writeln!(out, "rollback  {}", of_rollback(action.rollback))?;
    if !action.phrases.is_empty() {
        writeln!(out, "\nphrases")?;
    }
    for (language, phrases) in &action.phrases {
        for phrase in phrases {
            writeln!(out, "{}", Harmless(format!("{language:3}  {phrase}").as_bytes()))?;
        }
    }
    for (what, schema) in [("input", input), ("output", output)] {
        let text = serde_json::to_string_pretty(schema).map_err(io::Error::other)?;
        writeln!(out, "\n{what}")?;
        for line in text.lines() {
            writeln!(out, "{}", Harmless(line.as_bytes()))?;
        }
    }
    Ok(())
}

fn of_state(state: ActionState) -> anstyle::Style {
    match state {
        ActionState::Draft => style::CHANGED,
        ActionState::Active => style::ADDED,
        ActionState::Retired => style::REMOVED,
    }
}

fn words(action: &CatalogAction) -> String {
    let all = [
        (action.impactful, "impactful"),
        (action.side_effecting, "side-effecting"),
        (action.irreversible, "irreversible"),
        (action.writes, "writing files"),
    ];
    let words: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if words.is_empty() { "read-only".to_owned() } else { words.join(", ") }
}

fn of_rollback(kind: ActionRollback) -> &'static str {
    match kind {
        ActionRollback::None => "there is nothing to undo",
        ActionRollback::Undo => "`actum undo` undoes its run",
        ActionRollback::Package => "the package includes one, and `actum undo` undoes its run",
    }
}

impl Document for catalog::Catalog {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.actions {
            match (&line.input_schema, &line.output_schema) {
                (Some(input), Some(output)) => write_whole(line, (input, output), out)?,
                (None, _) | (_, None) => write(line, out)?,
            }
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
