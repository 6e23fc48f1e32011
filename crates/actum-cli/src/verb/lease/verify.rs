//! `actum lease verify`: checks whether a lease can be used now.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum::{LeaseState as State, RequestLease};
use actum_api::lease::{LeaseState, LeaseVerification, VerifiedBlock};
use actum_core::Timestamp;
use actum_gate::decision::LeaseBlock;
use actum_ledger::LeaseRow;
use actum_record::ledger::TenantId;

use super::list::state;
use super::view::{name_state, write_terms};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::style::Painted;
use crate::verb::Session;
use crate::{clock, lease};

/// Check whether a lease can be used now
///
/// The lease must be signed by a lease key of this installation, and the ledger of the tenant must record its grant. No
/// block may be revoked, used up, expired or not valid yet. A lease that can be used does not allow every request,
/// because a request must also meet its terms. The exit code is 0 only if the lease can be used.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File with the lease; `-` is standard input
    #[arg(value_name = "FILE")]
    lease: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let token = lease::read(&arguments.lease, session)?;
    let sealed = token.is_sealed();
    let lease = lease::look(&token, session)?;
    let verification = verification(&lease, sealed, &session.tenant.id()?, clock::now());
    session.screen.show(&verification)?;
    Ok(if verification.usable { Exit::Success } else { Exit::Refused })
}

fn verification(
    lease: &RequestLease,
    sealed: bool,
    tenant: &TenantId,
    now: Timestamp,
) -> LeaseVerification {
    let granted = lease.is_granted();
    let blocks = lease.blocks().iter().zip(1..).map(|(block, number)| {
        let is_granted = granted || number > 1;
        VerifiedBlock {
            id: block.id,
            state: state_of(block, is_granted, tenant, now),
            used: block.used,
            terms: (&block.terms).into(),
        }
    });
    let blocks: Vec<VerifiedBlock> = blocks.collect();
    let usable = granted && blocks.iter().all(|block| block.state == LeaseState::InForce);
    LeaseVerification { usable, granted, key: lease.key().clone(), sealed, blocks }
}

/// Returns the state of a block. If the lease gate would reject every request under it, this is the first reason why.
fn state_of(
    LeaseBlock { id, revoked, terms, used }: &LeaseBlock,
    is_granted: bool,
    tenant: &TenantId,
    now: Timestamp,
) -> LeaseState {
    if !is_granted {
        return LeaseState::NotGranted;
    }
    let is_others = terms.tenant.as_ref().is_some_and(|it| it != tenant);
    let row = LeaseRow { revoked: revoked.then_some(0), used: *used, ..LeaseRow::unknown(*id) };
    let found = State::new(terms, &row, now);
    if is_others && found != State::Revoked { LeaseState::OtherTenant } else { state(found) }
}

impl Document for LeaseVerification {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { usable, granted: _, key, sealed, blocks } = self;
        for (VerifiedBlock { id, state, used, terms }, number) in blocks.iter().zip(1..) {
            let (words, colour) = name_state(state);
            let words = Painted(colour, words);
            writeln!(out, "block {number}   {id}")?;
            writeln!(out, "  state     {words}, {used} used")?;
            write_terms(terms, out)?;
        }
        writeln!(out, "signed by the lease key {key}")?;
        if *sealed {
            writeln!(out, "sealed: the lease can be used, but not narrowed")?;
        }
        match usable {
            true => writeln!(out, "the lease can be used now"),
            false => writeln!(out, "the lease cannot be used now"),
        }
    }
}
