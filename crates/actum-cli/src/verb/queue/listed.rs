//! Plans, a few lines each, and the alerts.

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

/// Converts a plan for the list.
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

/// Writes a plan in a few lines.
pub(super) fn write(line: &queue::QueuedPlan, out: &mut dyn Write) -> io::Result<()> {
    let queue::QueuedPlan { plan, state, why, label, actor, root, expires, .. } = line;
    let (who, label) = (who(actor), Quoted(label.as_bytes()));
    let [why, root] = [why, root].map(|text| Harmless(text.as_bytes()));
    let word = words(*state);
    let state = match state {
        // Time until which it can be approved or carried out.
        PlanState::Waiting | PlanState::Approved => {
            format!("{word} until {}", timestamp::second(*expires))
        }
        PlanState::Denied
        | PlanState::Revoked
        | PlanState::CarriedOut
        | PlanState::Expired
        | PlanState::Unproven => word.to_owned(),
    };
    writeln!(out, "{}  {state}  {who}: {label}", Painted(style::RUN, plan))?;
    writeln!(out, "              {why}")?;
    writeln!(out, "              in {root}")
}

/// Converts a state for documents.
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

/// Names a state in text.
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

/// Names the requester.
pub(super) fn who(actor: &Actor) -> String {
    let user = Quoted(actor.user.as_bytes());
    match &actor.agent {
        // An agent chooses its own name.
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
            writeln!(out, "`actum queue PLAN` shows what one of them would change")?;
        }
        let Some(alert) = self.alerts.first().map(alerts::number) else { return Ok(()) };
        self.alerts.iter().try_for_each(|alert| alerts::write(alert, out))?;
        writeln!(
            out,
            "`actum queue --seen {alert}` takes an alert off the list, once you have looked at it"
        )
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}
