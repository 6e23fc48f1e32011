//! `actum catalog activate` and `actum catalog retire`: let the operator decide which actions can be used.

use std::path::{Path, PathBuf};

use actum::plugin::{Package, PluginError};
use actum::{Catalog, Registration, Standing, Step};
use actum_core::ActionName;
use actum_core::path::Harmless;

use super::listed;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::records;
use crate::run_arguments::label;
use crate::verb::Session;
use crate::verb::plugin::{PluginFailure, phrases};

/// Activate an action
///
/// Activates a retired core action, or a package that is a draft or was retired. The complete resulting catalog is
/// recorded, signed with the approval key (`actum key make approval`). The passphrase of the key is read from the
/// terminal or from a file.
#[derive(clap::Args)]
pub(super) struct ActivateArguments {
    /// Name of the action, such as `run_command`
    name: ActionName,
    /// Register the package in this directory as the action, with exactly the files that it has now
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    /// Record TEXT as the reason
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Retire an action
///
/// Later requests for the action are refused, and its earlier runs are not affected. The change is recorded and signed
/// like that of `actum catalog activate`.
#[derive(clap::Args)]
pub(super) struct RetireArguments {
    /// Name of the action, such as `run_command`
    name: ActionName,
    /// Record TEXT as the reason
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Change of the catalog that the operator is asked to sign.
struct Asked<'a> {
    name: &'a ActionName,
    step: Step,
    verb: &'static str,
    reason: Option<&'a String>,
    passphrase_file: Option<&'a Path>,
}

pub(super) fn activate(arguments: &ActivateArguments, session: &Session) -> Result<Exit, Failure> {
    let ActivateArguments { name, package, reason, passphrase_file } = arguments;
    let step = match package {
        None => Step::Activate { package: None },
        Some(directory) => of_package(name, &session.start.join(directory), session)?,
    };
    let (verb, reason, passphrase_file) = ("Activate", reason.as_ref(), passphrase_file.as_deref());
    change(&Asked { name, step, verb, reason, passphrase_file }, session)
}

/// Returns the step that activates exactly this package as the action. The package is registered only if it is not
/// registered yet.
fn of_package(name: &ActionName, directory: &Path, session: &Session) -> Result<Step, Failure> {
    let package = Package::read(directory).map_err(|problem| {
        let directory = directory.to_owned();
        PluginFailure::from(PluginError::Package { directory, problem: Box::new(problem) })
    })?;
    phrases::check(&package.manifest)?;
    let digest = package.digest;
    let catalog = super::in_force(session)?;
    let is_registered =
        catalog.find(name).is_some_and(|known| known.origin.digest() == Some(digest));
    let manifest = package.manifest;
    Ok(match is_registered {
        true => Step::Activate { package: Some(digest) },
        false => Step::Adopt(Box::new(Registration { manifest, digest })),
    })
}

pub(super) fn retire(arguments: &RetireArguments, session: &Session) -> Result<Exit, Failure> {
    let RetireArguments { name, reason, passphrase_file } = arguments;
    let (step, verb) = (Step::Retire, "Retire");
    let (reason, passphrase_file) = (reason.as_ref(), passphrase_file.as_deref());
    change(&Asked { name, step, verb, reason, passphrase_file }, session)
}

fn change(asked: &Asked<'_>, session: &Session) -> Result<Exit, Failure> {
    let Asked { name, step, verb, reason, passphrase_file } = asked;
    // Reject an impossible change before the operator is asked for the passphrase and before anything is created.
    let standing = super::standing(session)?;
    let after = match &standing {
        Some(standing) => standing.after(name, step),
        None => Catalog::core().and_then(|catalog| catalog.after(name, step)),
    };
    let (after, registered) = after.map_err(actum::Error::from)?;
    if let Some(Standing { unproven: Some(problem), .. }) = &standing {
        let problem = problem.to_string();
        session.screen.note(format_args!(
            "{}. Your signature puts the catalog from before that change in force again",
            Harmless(problem.as_bytes())
        ));
        session.screen.print_text(&listed::all(&after)?)?;
    }
    session.screen.print_text(&listed::one(&after, &registered)?)?;
    let question = format!("{verb} the action `{name}`?");
    let key = OperatorKey::approval(session, &question, *passphrase_file)?;
    let records = records::open(&session.tenant)?;
    let registered =
        records.change_catalog((name, step), &after, reason.cloned(), &key.approver())?;
    let Standing { catalog, .. } = records.catalog()?;
    // One line is enough here, because the complete action was shown before the question.
    session.screen.show(&listed::line(&catalog, &registered)?)?;
    Ok(Exit::Success)
}
