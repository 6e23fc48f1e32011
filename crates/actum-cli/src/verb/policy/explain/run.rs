//! What the gates said of a recorded run, and what they would say of it now.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::PolicyInForce;
use actum_api::Gate;
use actum_core::path::Harmless;
use actum_core::{Digest, RiskTier, RunId};
use actum_gate::{Bundle, Decision, ReplayProblem, Verdict, decide};
use actum_ledger::Log;
use serde::Serialize;

use super::{in_force, told};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::verb::Session;
use crate::verb::ledger::Opened;
use crate::verb::replay::{Kept, failed};

#[derive(Serialize)]
struct ExplainedRun {
    run: RunId,
    #[serde(flatten)]
    then: Said,
    /// The digest of the policy that was in force.
    policy: Digest,
    /// Of the one that is in force here now.
    policy_now: Digest,
    /// What the gates say of the same change under that; `null` where this program cannot ask them.
    now: Option<Said>,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    now_problem: Option<String>,
}

/// What all gates said.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Said {
    verdict: Verdict,
    tier: RiskTier,
    gates: Vec<Gate>,
}

pub(super) fn explain(run: RunId, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let row = opened.log.run(run).map_err(actum::Error::from)?;
    let tenant = || opened.tenant.clone();
    let row = row.ok_or_else(|| LedgerFailure::NotRecorded { run, tenant: tenant() })?;
    let kept = Kept::of(&opened, row)?;
    let (in_force, policy_now) = in_force(session)?;
    // A decision of other rules is told as it is recorded, and not made again.
    let (now, now_problem) = match kept.replay() {
        Ok(()) => (Some(Said::now(run, &kept.bundle, &in_force)?), None),
        Err(ReplayProblem::EngineUnsupported { message }) => (None, Some(message)),
        Err(problem) => return Err(failed(run, problem)),
    };
    let intent = kept.recorded.intent;
    let (tier, gates) = (intent.decision.tier, &intent.decision.gates);
    let then = Said { verdict: Verdict::together(gates), tier, gates: views(gates) };
    session.screen.show(&ExplainedRun {
        run,
        then,
        policy: intent.policy,
        policy_now,
        now,
        now_problem,
    })?;
    Ok(Exit::Success)
}

impl Said {
    fn now(run: RunId, bundle: &[u8], in_force: &PolicyInForce) -> Result<Self, Failure> {
        let unsupported = |message| ReplayProblem::EngineUnsupported { message };
        let bundle = Bundle::read(bundle);
        let bundle = bundle.map_err(|error| failed(run, unsupported(error.to_string())))?;
        let Decision { verdict, tier, gates, .. } =
            decide(&bundle, &in_force.policy, &in_force.cedar);
        Ok(Self { verdict, tier, gates: views(&gates) })
    }
}

impl actum_api::Document for ExplainedRun {
    const FORMAT: &'static str = "actum.run-explanation/1";
}

impl Document for ExplainedRun {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { run, then, policy, policy_now, now, now_problem } = self;
        writeln!(out, "run {run}: {}, {}", told(then.verdict), then.tier)?;
        for gate in &then.gates {
            writeln!(out, "gate    {}", gate)?;
        }
        if policy == policy_now {
            return writeln!(out, "policy  {policy}, in force then and now");
        }
        writeln!(out, "policy  {policy}, in force then")?;
        let Some(now) = now else {
            let problem = now_problem.as_deref().unwrap_or_default();
            return writeln!(out, "now     {policy_now}: {}", Harmless(problem.as_bytes()));
        };
        if now == then {
            return writeln!(out, "now     {policy_now}: the same");
        }
        writeln!(out, "now     {policy_now}: {}, {}", told(now.verdict), now.tier)?;
        // Those that say the same as then are not told twice.
        let others = now.gates.iter().filter(|gate| !then.gates.contains(gate));
        others.into_iter().try_for_each(|gate| writeln!(out, "gate    {}", gate))
    }
}

#[cfg(test)]
mod tests {
    use actum_record::receipt::{GateRecord, RecordedGround};

    use super::*;
    use crate::gate_view::GateView;

    fn gate(gate: &str, verdict: &str) -> Gate {
        let ground = "a ground";
        let ground = RecordedGround(ground.into());
        GateRecord { gate: gate.to_owned(), verdict: verdict.to_owned(), ground }.view()
    }

    /// AEC-11: a decision of other rules is told as it is recorded.
    #[test]
    fn where_the_gates_cannot_be_asked_again_the_reason_is_told() {
        let then = Said {
            verdict: Verdict::Allow,
            tier: RiskTier::R2,
            gates: vec![gate("scope", "allow")],
        };
        let (policy, policy_now) = (Digest::of(b"1"), Digest::of(b"2"));
        let explained = ExplainedRun {
            run: "0123abcdefgh".parse().unwrap(),
            then,
            policy,
            policy_now,
            now: None,
            now_problem: Some("other rules".to_owned()),
        };
        let mut text = Vec::new();
        explained.write_text(&mut text).unwrap();
        let told = format!(
            "run 0123abcdefgh: allowed, R2\ngate    scope: allow, a ground\npolicy  {policy}, in force \
             then\nnow     {policy_now}: other rules\n"
        );
        assert_eq!(String::from_utf8(text).unwrap(), told);
    }
}
