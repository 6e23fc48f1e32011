//! `actum agent replay`: repeats the decisions on a goal.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::Cedar;
use actum_api::agent::{AgentReplay, AgentReplayed};
use actum_dispatch::{ReplayReport, ReplayedDecision};
use actum_record::agent::CorrelationId;

use super::{AgentFailure, correlation};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::session::Session;
use crate::{actor, records};

/// Repeat the decisions on a goal, using only the data in the ledger
///
/// The replay compares documents with their digests, and looks up the entries and the history on which each decision is
/// based. It also evaluates access policies and parses answers again. Then the core decides again. If any decision
/// differs, the command fails with exit code 4 and records the difference, and no further effect of the goal can start.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the goal
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let records = records::open(&session.tenant)?;
    let cedar = Cedar::default();
    let report = records
        .ledger()
        .read(|log| ReplayReport::new((log, records.keyring()), &arguments.correlation, &cedar));
    let report = report.map_err(actum::Error::from)?;
    if report.decisions.is_empty() {
        let correlation = arguments.correlation.clone();
        return Err(AgentFailure::UnknownGoal { correlation }.into());
    }
    let same = report.is_same();
    report.record(&records, &actor::from_agent(None)).map_err(AgentFailure::Dispatch)?;
    let view = |ReplayedDecision { index, problem }: ReplayedDecision| {
        let (code, message) = problem.unzip();
        let code = code.map(|code| code.as_str().to_owned());
        AgentReplayed { entry: index, code, message }
    };
    session.screen.show(&AgentReplay {
        correlation: report.correlation.to_string(),
        same,
        decisions: report.decisions.into_iter().map(view).collect(),
    })?;
    Ok(if same { Exit::Success } else { Exit::NeedsAttention })
}

impl Document for AgentReplay {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for AgentReplayed { entry, code, message } in &self.decisions {
            match (code, message) {
                (Some(code), Some(message)) => writeln!(out, "entry {entry}: {code}: {message}")?,
                (code, _) => {
                    writeln!(out, "entry {entry}: {}", code.as_deref().unwrap_or("same"))?;
                }
            }
        }
        let count = self.decisions.len();
        match self.same {
            true => writeln!(out, "{count} decisions on `{}` are the same", self.correlation),
            false => writeln!(
                out,
                "the replay of the goal `{}` differs from its record",
                self.correlation
            ),
        }
    }
}
