//! `actum lease list`: lists the leases that the operator granted.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{GrantedLease, LeaseState as State};
use actum_api::lease::{LeaseState, Leases, ListedLease};
use actum_core::Timestamp;
use actum_core::path::{Harmless, Quoted};
use actum_ledger::LeaseRow;
use actum_record::ledger::LeaseGranted;

use super::view::name_state;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Document, Kind};
use crate::style::Painted;
use crate::verb::Session;
use crate::{clock, records, timestamp};

/// Number of characters of a lease id that the list shows.
const SHORT: usize = 12;

/// List the leases of this ledger, newest first
///
/// Each line shows the state of a lease, the beginning of its id, its expiry and the number of runs that were started
/// under it. The agent, the capabilities and the base directories follow. Narrowed leases are not listed, because the
/// ledger does not know them before they are used.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List at most N leases
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 20)]
    count: u64,
    /// List all leases
    #[arg(long, conflicts_with = "count")]
    all: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let tenant = session.tenant.id()?;
    let count = if arguments.all { u64::MAX - 1 } else { arguments.count };
    let (view, keyring) = records::ledger_and_keys(&session.tenant)?;
    let found = view.map_or(Ok(Vec::new()), |view| {
        // Request one more lease than is shown, to find out whether there are more.
        GrantedLease::newest(&view, &keyring, None, count.saturating_add(1))
    });
    let found = found.map_err(actum::Error::from)?;
    let now = clock::now();
    let shown = usize::try_from(count).unwrap_or(usize::MAX);
    let more = found.len() > shown;
    let leases = found.into_iter().take(shown).map(|lease| listed(lease, now)).collect();
    session.screen.show(&Leases { tenant, leases, more })?;
    if more {
        session.screen.note("older leases are not shown; pass `--all` to list them");
    }
    Ok(Exit::Success)
}

fn listed(lease: GrantedLease, now: Timestamp) -> ListedLease {
    let state = state(lease.state(now));
    let GrantedLease { row: LeaseRow { lease: id, granted: entry, used, .. }, granted } = lease;
    let LeaseGranted { time, terms, by, .. } = granted;
    ListedLease {
        id,
        state,
        entry: entry.unwrap_or_default(),
        granted: time,
        by: by.into(),
        used,
        terms: (&terms).into(),
    }
}

/// Converts the state of a lease to its type in documents.
pub(super) fn state(state: State) -> LeaseState {
    match state {
        State::InForce => LeaseState::InForce,
        State::Waiting => LeaseState::Waiting,
        State::Expired => LeaseState::Expired,
        State::Revoked => LeaseState::Revoked,
        State::UsedUp => LeaseState::UsedUp,
    }
}

impl Document for Leases {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.leases.is_empty() {
            return writeln!(
                out,
                "no leases have been granted; run `actum lease grant` to grant one"
            );
        }
        self.leases.iter().try_for_each(|lease| write_line(lease, out))
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

fn write_line(lease: &ListedLease, out: &mut dyn Write) -> io::Result<()> {
    let ListedLease { id, state, used, terms, .. } = lease;
    let (words, colour) = name_state(state);
    let id: String = id.to_string().chars().take(SHORT).collect();
    let until = terms.expires.map_or_else(|| "-".to_owned(), timestamp::second);
    let uses = match terms.uses {
        Some(uses) => format!("{used} of {uses} used"),
        None => format!("{used} used"),
    };
    let agent = terms.agent.as_deref().unwrap_or("any agent");
    let capabilities = terms.capabilities.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    let below: Vec<String> = terms
        .base_directories
        .iter()
        .flatten()
        .map(|directory| Quoted(directory.as_bytes()).to_string())
        .collect();
    writeln!(
        out,
        "{}  {id}  until {until}  {uses}  {}  {}  below {}",
        Painted(colour, format!("{words:8}")),
        Harmless(agent.as_bytes()),
        Harmless(capabilities.as_bytes()),
        below.join(", ")
    )
}
