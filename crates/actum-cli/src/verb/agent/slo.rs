//! `actum agent slo`: shows the service level of dispatches, and serves as a release gate.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum_api::agent::AgentSlo;
use actum_core::Timestamp;
use actum_dispatch::SloReport;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::session::Session;
use crate::{clock, records};

/// Show the service level of dispatches
///
/// At most 5 % of the dispatches may take longer than 1,200 ms, at most 1 % longer than 2,500 ms, and at most 0.5 % may
/// fail. No idempotency key may have a second effect. Time spent in the commands of a simulation is not included.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Evaluate the dispatches of this period until now
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = window)]
    window: u64,
    /// Fail with exit code 1 if a target is missed and no waiver is in force
    #[arg(long)]
    gate: bool,
}

pub(super) fn window(text: &str) -> Result<u64, String> {
    let message = "expected a whole number with `ms`, `s`, `m`, `h` or `d`";
    crate::duration::milliseconds(text).ok_or_else(|| message.to_owned())
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let records = records::open(&session.tenant)?;
    let now = clock::now();
    let micros = i64::try_from(arguments.window).unwrap_or(i64::MAX).saturating_mul(1000);
    let since = Timestamp::from_micros(now.micros().saturating_sub(micros));
    let report = records.ledger().read(|log| SloReport::read((log, records.keyring()), since, now));
    let report = report.map_err(actum::Error::from)?;
    let passes = report.passes();
    let SloReport { since, counters, duplicates, breaches, waived_until } = report;
    session.screen.show(&AgentSlo {
        since,
        outcomes: counters.total,
        over_p95: counters.over_p95,
        over_p99: counters.over_p99,
        errors: counters.errors,
        duplicates,
        breaches: breaches.iter().map(|target| target.as_str().to_owned()).collect(),
        waived_until,
    })?;
    Ok(if passes || !arguments.gate { Exit::Success } else { Exit::Refused })
}

impl Document for AgentSlo {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            since,
            outcomes,
            over_p95,
            over_p99,
            errors,
            duplicates,
            breaches,
            waived_until,
        } = self;
        writeln!(out, "since {since}: {outcomes} outcomes")?;
        writeln!(out, "  over 1,200 ms: {over_p95} (at most 5 %)")?;
        writeln!(out, "  over 2,500 ms: {over_p99} (at most 1 %)")?;
        writeln!(out, "  failed: {errors} (at most 0.5 %)")?;
        writeln!(out, "  second effects: {duplicates} (none)")?;
        for target in breaches {
            writeln!(out, "missed: {target}")?;
        }
        match waived_until {
            Some(until) => writeln!(out, "waived until {until}"),
            None => Ok(()),
        }
    }
}
