//! `actum catalog lint`: checks actions for problems.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum::{Lint, lint_manifest};
use actum_action::limits::MANIFEST_BYTES_MAX;
use actum_action::{MANIFEST_FILE, Manifest};
use actum_api::catalog::{CatalogFinding, CatalogLint};
use actum_core::path::Harmless;

use crate::count::number;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::output::Document;
use crate::style::{self, Painted};
use crate::verb::Session;
use crate::verb::plugin::phrases;

/// Check the actions of the catalog, or a package that may become one
///
/// Checks that input and output are described by valid JSON Schemas, and that a package with write access requires
/// verification and rollback. The exit code is 4 if there is a problem.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directory of a package, with its `action.json`; by default, the catalog in force is checked
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let (actions, lints) = match &arguments.package {
        None => {
            let catalog = super::in_force(session)?;
            (catalog.actions().count(), catalog.lint())
        }
        Some(package) => (1, package_lints(&package.join(MANIFEST_FILE), session)?),
    };
    let findings = lints.into_iter();
    let findings: Vec<_> =
        findings.map(|Lint { action, message }| CatalogFinding { action, message }).collect();
    let linted = CatalogLint { sound: findings.is_empty(), actions: number(actions), findings };
    session.screen.show(&linted)?;
    Ok(if linted.sound { Exit::Success } else { Exit::NeedsAttention })
}

/// Returns the problems of a package that can be found in its `action.json`.
fn package_lints(file: &std::path::Path, session: &Session) -> Result<Vec<Lint>, Failure> {
    let (name, bytes) = input::document(file, &session.start, MANIFEST_BYTES_MAX)?;
    match Manifest::read(&bytes) {
        Ok(manifest) => {
            let mut lints = lint_manifest(&manifest);
            let action = manifest.name.to_string();
            let unusable = phrases::check(&manifest).err();
            lints.extend(unusable.map(|error| Lint { action, message: error.to_string() }));
            Ok(lints)
        }
        Err(error) => Ok(vec![Lint { action: name, message: error.to_string() }]),
    }
}

impl Document for CatalogLint {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for CatalogFinding { action, message } in &self.findings {
            let [action, message] = [action, message].map(|text| Harmless(text.as_bytes()));
            writeln!(out, "{}  {action}: {message}", Painted(style::REMOVED, "wrong"))?;
        }
        let actions = match self.actions {
            1 => "1 action".to_owned(),
            actions => format!("{actions} actions"),
        };
        match self.findings.len() {
            0 => writeln!(out, "{}  {actions}", Painted(style::ADDED, "sound")),
            1 => writeln!(out, "1 finding in {actions}"),
            findings => writeln!(out, "{findings} findings in {actions}"),
        }
    }
}
