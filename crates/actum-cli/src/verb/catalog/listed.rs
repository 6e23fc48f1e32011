//! Actions, a line each or whole.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{Catalog, Flags, Origin, Registered, RollbackKind};
use actum_core::path::{Harmless, Quoted};
use actum_core::{ActionName, Digest, RiskTier};
use actum_record::ledger::ActionState;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};

/// The catalog, or an action of it.
#[derive(Serialize)]
pub(super) struct Listed {
    /// What names the whole catalog.
    digest: Digest,
    actions: Vec<Line>,
}

/// One action.
#[derive(Serialize)]
pub(super) struct Line {
    name: ActionName,
    version: Option<String>,
    state: ActionState,
    /// `core` or `package`.
    origin: &'static str,
    /// The digest of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<Digest>,
    description: Option<String>,
    tier: RiskTier,
    #[serde(flatten)]
    flags: Flags,
    /// As what access policies see it.
    access: &'static str,
    rollback: RollbackKind,
    /// What it is given and what it gives, where one action is shown.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    schemas: Option<Schemas>,
}

#[derive(Serialize)]
struct Schemas {
    input_schema: Map<String, Value>,
    output_schema: Map<String, Value>,
}

impl Listed {
    /// All actions.
    pub(super) fn all(catalog: &Catalog) -> Result<Self, Failure> {
        let actions = catalog.actions().map(Line::of).collect();
        Ok(Self { digest: digest(catalog)?, actions })
    }

    /// One of them, in a line.
    pub(super) fn line(catalog: &Catalog, registered: &Registered) -> Result<Self, Failure> {
        Ok(Self { digest: digest(catalog)?, actions: vec![Line::of(registered)] })
    }

    /// One of them, whole.
    pub(super) fn one(catalog: &Catalog, registered: &Registered) -> Result<Self, Failure> {
        let schemas = Schemas {
            input_schema: registered.input_schema.clone(),
            output_schema: registered.output_schema.clone(),
        };
        let line = Line { schemas: Some(schemas), ..Line::of(registered) };
        Ok(Self { digest: digest(catalog)?, actions: vec![line] })
    }
}

fn digest(catalog: &Catalog) -> Result<Digest, Failure> {
    Ok(catalog.digest().map_err(|error| actum::Error::from(actum::CatalogError::from(error)))?)
}

impl Line {
    fn of(registered: &Registered) -> Self {
        let Registered { name, version, state, origin, description, tier, flags, .. } = registered;
        let (word, package) = match origin {
            Origin::Core => ("core", None),
            Origin::Package { digest } => ("package", Some(*digest)),
        };
        Self {
            name: name.clone(),
            version: version.clone(),
            state: *state,
            origin: word,
            package,
            description: description.clone(),
            tier: *tier,
            flags: *flags,
            access: registered.access.as_str(),
            rollback: registered.rollback,
            schemas: None,
        }
    }

    /// In one line.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { name, state, tier, origin, description, .. } = self;
        let about = description.as_deref().unwrap_or_default();
        let state = format!("{:7}", state.as_str());
        let state = Painted(of_state(self.state), state);
        let name = name.as_str();
        writeln!(out, "{state}  {name:16}  {tier}  {origin:7}  {}", Harmless(about.as_bytes()))
    }

    /// In many.
    fn write_whole(&self, schemas: &Schemas, out: &mut dyn Write) -> io::Result<()> {
        let Self { name, version, state, origin, package, description, tier, flags, .. } = self;
        let version = version.as_deref().unwrap_or("none is told");
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
        writeln!(out, "tier      {tier} at least")?;
        writeln!(out, "is        {}", words(*flags))?;
        writeln!(out, "access    policies see what it changes as `change_files`")?;
        writeln!(out, "rollback  {}", of_rollback(self.rollback))?;
        for (what, schema) in [("input", &schemas.input_schema), ("output", &schemas.output_schema)]
        {
            let text = serde_json::to_string_pretty(schema).map_err(io::Error::other)?;
            writeln!(out, "\n{what}")?;
            for line in text.lines() {
                writeln!(out, "{}", Harmless(line.as_bytes()))?;
            }
        }
        Ok(())
    }
}

fn of_state(state: ActionState) -> anstyle::Style {
    match state {
        ActionState::Draft => style::CHANGED,
        ActionState::Active => style::ADDED,
        ActionState::Retired => style::REMOVED,
    }
}

fn words(flags: Flags) -> String {
    let Flags { impactful, side_effecting, irreversible, writes } = flags;
    let all = [
        (impactful, "impactful"),
        (side_effecting, "side-effecting"),
        (irreversible, "irreversible"),
        (writes, "writing files"),
    ];
    let words: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if words.is_empty() { "looking only".to_owned() } else { words.join(", ") }
}

fn of_rollback(kind: RollbackKind) -> &'static str {
    match kind {
        RollbackKind::None => "there is nothing to take back",
        RollbackKind::Undo => "`actum undo` takes its run back",
        RollbackKind::Package => {
            "the package brings one along, and `actum undo` takes its run back"
        }
    }
}

impl actum_api::Document for Listed {
    const FORMAT: &'static str = "actum.catalog/1";
}

impl Document for Listed {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.actions {
            match &line.schemas {
                Some(schemas) => line.write_whole(schemas, out)?,
                None => line.write(out)?,
            }
        }
        Ok(())
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
