//! List of `actum queue`: each plan in a few lines, followed by the alerts.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::QueuedPlan;
use actum_api::queue::{self, PlanState, Queue};
use actum_api::record::Actor;
use actum_core::path::{Harmless, InBackticks, Quoted};
use actum_gate::{Verdict, sentence};
use actum_record::ledger::PlanAnswered;

use super::alerts;
use crate::output::{Document, Kind};
use crate::style::{self, Painted};
use crate::timestamp;

/// Converts a plan to its form in the list.
pub(super) fn document(plan: &QueuedPlan, state: actum::PlanState) -> queue::QueuedPlan {
    let judged = &plan.queued.plan;
    let asks = Verdict::NeedsApproval.as_str();
    let why = judged.decision.gates.iter().find(|gate| gate.verdict == asks);
    let approved = plan.answer.as_ref().map(|answer| &answer.verified.answered);
    let expires = approved.map_or(plan.queued.expires, |PlanAnswered { expires, .. }| *expires);
    queue::QueuedPlan {
        plan: plan.id(),
        state: document_state(state),
        tier: judged.decision.tier,
        why: why.map(sentence).unwrap_or_default(),
        label: judged.label.clone(),
        actor: judged.actor.clone().into(),
        root: judged.root.clone(),
        queued: plan.queued.time,
        expires,
    }
}

/// Writes one plan of the list as text, in three lines.
pub(super) fn write(line: &queue::QueuedPlan, out: &mut dyn Write) -> io::Result<()> {
    let queue::QueuedPlan { plan, state, why, label, actor, root, expires, .. } = line;
    let (requester, label) = (requester(actor), Quoted(label.as_bytes()));
    let [why, root] = [why, root].map(|text| Harmless(text.as_bytes()));
    let word = words(*state);
    let state = match state {
        // The time limit for approving the plan, or for carrying it out once it is approved.
        PlanState::Waiting | PlanState::Approved => {
            format!("{word} until {}", timestamp::second(*expires))
        }
        PlanState::Denied
        | PlanState::Revoked
        | PlanState::CarriedOut
        | PlanState::Expired
        | PlanState::Unproven => word.to_owned(),
    };
    writeln!(out, "{}  {state}  {requester}: {label}", Painted(style::RUN, plan))?;
    writeln!(out, "              {why}")?;
    writeln!(out, "              in {root}")
}

/// Converts the state of a plan to its form in JSON documents.
pub(super) fn document_state(state: actum::PlanState) -> PlanState {
    match state {
        actum::PlanState::Waiting => PlanState::Waiting,
        actum::PlanState::Approved => PlanState::Approved,
        actum::PlanState::Denied => PlanState::Denied,
        actum::PlanState::Revoked => PlanState::Revoked,
        actum::PlanState::CarriedOut => PlanState::CarriedOut,
        actum::PlanState::Expired => PlanState::Expired,
        actum::PlanState::Unproven => PlanState::Unproven,
    }
}

/// Returns the word for a plan's state in text output.
pub(super) fn words(state: PlanState) -> &'static str {
    match state {
        PlanState::Waiting => "waiting",
        PlanState::Approved => "approved",
        PlanState::Denied => "denied",
        PlanState::Revoked => "revoked",
        PlanState::CarriedOut => "carried out",
        PlanState::Expired => "expired",
        PlanState::Unproven => "unproven",
    }
}

/// Describes who made a request: the user, and the agent if there was one.
pub(super) fn requester(actor: &Actor) -> String {
    let user = Quoted(actor.user.as_bytes());
    match &actor.agent {
        // An agent chooses its own name, so it must be escaped.
        Some(agent) => format!("the agent `{}` for {user}", InBackticks(agent.as_bytes())),
        None => user.to_string(),
    }
}

impl Document for Queue {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.plans.is_empty() {
            writeln!(out, "no pending plans")?;
        } else {
            self.plans.iter().try_for_each(|plan| write(plan, out))?;
            writeln!(out, "run `actum queue PLAN` to see the change of a plan")?;
        }
        let Some(alert) = self.alerts.first().map(alerts::number) else { return Ok(()) };
        self.alerts.iter().try_for_each(|alert| alerts::write(alert, out))?;
        writeln!(
            out,
            "after reviewing an alert, run `actum queue --seen {alert}` to remove it from the list"
        )
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
