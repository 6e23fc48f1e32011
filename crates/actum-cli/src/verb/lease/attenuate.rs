//! `actum lease attenuate`: derives a lease that allows less than an existing one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use actum_lease::Token;
use actum_record::lease::{BaseDirectory, Capability, LeaseTerms};

use super::new_lease::Destination;
use super::terms::TermArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease_failure::LeaseFailure;
use crate::verb::Session;
use crate::{clock, lease};

/// Narrow a lease, for example for a sub-agent
///
/// Any holder of a lease can narrow it, without a key or a ledger. The new lease combines the terms of the old one
/// with the terms given here, so it never allows more than the old one, which stays unchanged.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the lease; `-` is standard input
    #[arg(value_name = "FILE")]
    lease: PathBuf,
    #[command(flatten)]
    terms: TermArguments,
    /// Seal the new lease, so that it cannot be narrowed further
    #[arg(long)]
    seal: bool,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let token = lease::read(&arguments.lease, session)?;
    let terms = arguments.terms.further(session, clock::now())?;
    let narrowed = match terms == LeaseTerms::default() && arguments.seal {
        true => None,
        false => Some(token.attenuate(&terms).map_err(LeaseFailure::Attenuate)?),
    };
    let narrowed = match (narrowed, arguments.seal) {
        (Some(narrowed), false) => narrowed,
        (Some(narrowed), true) => narrowed.seal().map_err(LeaseFailure::Attenuate)?,
        (None, _) => token.seal().map_err(LeaseFailure::Attenuate)?,
    };
    if let Some(nothing) = find_nothing(&token, &terms) {
        session.screen.note(format_args!("the new lease allows nothing: {nothing}"));
    }
    arguments.destination.open(session)?.write(&narrowed, session)?;
    Ok(Exit::Success)
}

/// Returns the reason why no request can meet both the new terms and those of the earlier blocks, or `None` if one may.
fn find_nothing(token: &Token, terms: &LeaseTerms) -> Option<&'static str> {
    let before = || token.blocks().iter().map(|block| &block.terms);
    let expiry = before().filter_map(|terms| terms.expires).chain(terms.expires).min();
    let starts = before().filter_map(|terms| terms.not_before).chain(terms.not_before).max();
    let has = |capability: &Capability| {
        before().all(|terms| terms.capabilities.as_ref().is_none_or(|it| it.contains(capability)))
    };
    let overlaps = |new: &BaseDirectory| {
        let is_near = |old: &BaseDirectory| {
            new.as_str().starts_with(old.as_str()) || old.as_str().starts_with(new.as_str())
        };
        let is_near_any = |all: &BTreeSet<BaseDirectory>| all.iter().any(is_near);
        before().all(|terms| terms.base_directories.as_ref().is_none_or(is_near_any))
    };
    if terms.capabilities.as_ref().is_some_and(|all| !all.iter().any(has)) {
        return Some("the original lease has none of its capabilities");
    }
    if terms.base_directories.as_ref().is_some_and(|all| !all.iter().any(overlaps)) {
        return Some("its base directories are outside of those of the original lease");
    }
    let ends_first = expiry.zip(starts).is_some_and(|(expiry, start)| expiry <= start);
    ends_first.then_some("it expires before it starts")
}
