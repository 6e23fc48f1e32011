//! Plans, a few lines each, and the alerts.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{PlanState, QueuedPlan};
use actum_core::path::{Harmless, InBackticks, Quoted};
use actum_core::{RiskTier, RunId, Timestamp};
use actum_gate::{Verdict, sentence};
use actum_record::ledger::{Actor, PlanAnswered};
use serde::Serialize;

use super::alerts::AlertLine;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::timestamp;

/// All of them.
#[derive(Serialize)]
pub(super) struct Listed {
    pub(super) plans: Vec<Line>,
    pub(super) alerts: Vec<AlertLine>,
}

/// One plan, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub(super) plan: RunId,
    pub(super) state: &'static str,
    tier: RiskTier,
    /// Why it waits.
    why: String,
    label: String,
    actor: Actor,
    /// Where its workspace was; where one plan is shown, where it is.
    pub(super) root: String,
    queued: Timestamp,
    /// Until when it can be approved or, where it is, carried out.
    expires: Timestamp,
}

impl Line {
    pub(super) fn of(plan: &QueuedPlan, state: PlanState) -> Self {
        let judged = &plan.queued.plan;
        let asks = Verdict::NeedsApproval.as_str();
        let why = judged.decision.gates.iter().find(|gate| gate.verdict == asks);
        let approved = plan.answer.as_ref().map(|answer| &answer.verified.answered);
        let expires = approved.map_or(plan.queued.expires, |PlanAnswered { expires, .. }| *expires);
        Self {
            plan: plan.id(),
            state: state.as_str(),
            tier: judged.decision.tier,
            why: why.map(sentence).unwrap_or_default(),
            label: judged.label.clone(),
            actor: judged.actor.clone(),
            root: judged.root.clone(),
            queued: plan.queued.time,
            expires,
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { plan, state, why, label, actor, root, expires, .. } = self;
        let (who, label) = (who(actor), Quoted(label.as_bytes()));
        let [why, root] = [why, root].map(|text| Harmless(text.as_bytes()));
        let state = match *state {
            // Until when it can be approved or carried out.
            "waiting" | "approved" => format!("{state} until {}", timestamp::second(*expires)),
            over => over.replace('_', " "),
        };
        writeln!(out, "{}  {state}  {who}: {label}", Painted(style::RUN, plan))?;
        writeln!(out, "              {why}")?;
        writeln!(out, "              in {root}")
    }
}

/// Who asks.
pub(super) fn who(actor: &Actor) -> String {
    let user = Quoted(actor.user.as_bytes());
    match &actor.agent {
        // What it calls itself is its own word.
        Some(agent) => format!("the agent `{}` for {user}", InBackticks(agent.as_bytes())),
        None => user.to_string(),
    }
}

impl actum_api::Document for Listed {
    const FORMAT: &'static str = "actum.queue/1";
}

impl Document for Listed {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.plans.is_empty() {
            writeln!(out, "no pending plans")?;
        } else {
            self.plans.iter().try_for_each(|plan| plan.write(out))?;
            writeln!(out, "`actum queue PLAN` shows what one of them would change")?;
        }
        let Some(alert) = self.alerts.first().map(AlertLine::number) else { return Ok(()) };
        self.alerts.iter().try_for_each(|alert| alert.write(out))?;
        writeln!(
            out,
            "`actum queue --seen {alert}` takes an alert off the list, once you have looked at it"
        )
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
