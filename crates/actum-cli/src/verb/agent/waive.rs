//! `actum agent waive`: lets releases pass the SLO gate for a limited time.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::PathBuf;

use actum_api::agent::AgentSloWaived;
use actum_core::Timestamp;
use actum_dispatch::SloReport;

use super::AgentFailure;
use super::slo::window;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::run_arguments::one_line;
use crate::session::Session;
use crate::{clock, records};

/// Let releases pass the SLO gate for a limited time
///
/// The waiver is signed with the approval key and ends after at most 30 days. `actum agent slo` still shows missed
/// targets.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Set the duration of the waiver
    #[arg(long = "for", value_name = "TIME", value_parser = window)]
    duration: u64,
    /// Record this reason, in one line
    #[arg(long, value_name = "TEXT", value_parser = one_line)]
    reason: String,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let micros = i64::try_from(arguments.duration).unwrap_or(i64::MAX).saturating_mul(1000);
    let now = clock::now();
    let until = Timestamp::from_micros(now.micros().saturating_add(micros));
    SloReport::check_waiver(until, now).map_err(AgentFailure::Waiver)?;
    let question = format!("Waive the SLO gate until {until}?");
    let key = OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
    let records = records::open(&session.tenant)?;
    let waived = SloReport::waive(&records, (until, &arguments.reason), &key.approver());
    let entry = waived.map_err(AgentFailure::Waiver)?;
    session.screen.show(&AgentSloWaived { until, reason: arguments.reason.clone(), entry })?;
    Ok(Exit::Success)
}

impl Document for AgentSloWaived {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "the SLO gate is waived until {} (entry {})", self.until, self.entry)
    }
}
