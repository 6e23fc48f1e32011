//! `actum catalog activate` and `actum catalog retire`: a person says which actions can be used.

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

/// Let an action be used
///
/// A core action that was retired, or what is registered as a draft or was retired. The whole catalog as it is from
/// then on is recorded, signed by the approval key (`actum key make approval`), and a person has to be there: at
/// the terminal, or with the passphrase of the key.
#[derive(clap::Args)]
pub(super) struct ActivateArguments {
    /// The action, such as `run_command`
    name: ActionName,
    /// The package in this directory is the action from now on: exactly its files as they are now
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Let an action be used no more
///
/// Whoever asks for it is refused from then on; what it did before stays as it is. It is recorded and signed as
/// `actum catalog activate` is.
#[derive(clap::Args)]
pub(super) struct RetireArguments {
    /// The action, such as `run_command`
    name: ActionName,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// What a person is asked for.
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

/// What makes exactly this package the action. What is registered already is not registered again.
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
    // What cannot be is said before anybody is asked, and before anything is made.
    let standing = super::standing(session)?;
    let after = match &standing {
        Some(standing) => standing.after(name, step),
        None => Catalog::core().and_then(|catalog| catalog.after(name, step)),
    };
    let (after, registered) = after.map_err(actum::Error::from)?;
    if let Some(Standing { unproven: Some(problem), .. }) = &standing {
        let problem = problem.to_string();
        session.screen.note(format_args!(
            "{}. With your signature the catalog is in force again as it was before that",
            Harmless(problem.as_bytes())
        ));
        session.screen.tell_text(&listed::all(&after)?)?;
    }
    session.screen.tell_text(&listed::one(&after, &registered)?)?;
    let question = format!("{verb} the action `{name}`?");
    let key = OperatorKey::approval(session, &question, *passphrase_file)?;
    let records = records::open(&session.tenant)?;
    let registered =
        records.change_catalog((name, step), &after, reason.cloned(), &key.approver())?;
    let Standing { catalog, .. } = records.catalog()?;
    // All of it was shown before the question.
    session.screen.show(&listed::line(&catalog, &registered)?)?;
    Ok(Exit::Success)
}
