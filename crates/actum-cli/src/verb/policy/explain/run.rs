//! Explains what the gates decided about a past run, and what they would decide under the current policy.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::PolicyInForce;
use actum_api::policy::{Decision, RunExplanation};
use actum_core::RunId;
use actum_core::path::Harmless;
use actum_gate::{Bundle, ReplayProblem, Verdict, decide};
use actum_ledger::Log;

use super::{in_force, verdict_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::ledger_failure::LedgerFailure;
use crate::output::Document;
use crate::verb::Session;
use crate::verb::ledger::Opened;
use crate::verb::replay::{Kept, failed};

pub(super) fn explain(run: RunId, session: &Session) -> Result<Exit, Failure> {
    let opened = Opened::existing(&session.tenant)?;
    let row = opened.log.run(run).map_err(actum::Error::from)?;
    let tenant = || opened.tenant.clone();
    let row = row.ok_or_else(|| LedgerFailure::NotRecorded { run, tenant: tenant() })?;
    let kept = Kept::new(&opened, row)?;
    let (in_force, policy_now) = in_force(session)?;
    // If this version of actum cannot replay the decision, show only the recorded one.
    let (now, now_problem) = match kept.replay() {
        Ok(()) => (Some(decided_now(run, &kept.bundle, &in_force)?), None),
        Err(ReplayProblem::EngineUnsupported { message }) => (None, Some(message)),
        Err(problem) => return Err(failed(run, problem)),
    };
    let intent = kept.recorded.intent;
    let (tier, gates) = (intent.decision.tier, &intent.decision.gates);
    let verdict = Verdict::together(gates).as_str().into();
    let then = Decision { verdict, tier, gates: views(gates) };
    session.screen.show(&RunExplanation {
        run,
        then,
        policy: intent.policy,
        policy_now,
        now,
        now_problem,
    })?;
    Ok(Exit::Success)
}

fn decided_now(run: RunId, bundle: &[u8], in_force: &PolicyInForce) -> Result<Decision, Failure> {
    let unsupported = |message| ReplayProblem::EngineUnsupported { message };
    let bundle = Bundle::read(bundle);
    let bundle = bundle.map_err(|error| failed(run, unsupported(error.to_string())))?;
    let decision = decide(&bundle, &in_force.policy, &in_force.cedar);
    let (verdict, gates) = (decision.verdict.as_str().into(), &decision.gates);
    Ok(Decision { verdict, tier: decision.tier, gates: views(gates) })
}

impl Document for RunExplanation {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { run, then, policy, policy_now, now, now_problem } = self;
        writeln!(out, "run {run}: {}, {}", verdict_text(&then.verdict), then.tier)?;
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
            return writeln!(out, "now     {policy_now}: the same decisions");
        }
        writeln!(out, "now     {policy_now}: {}, {}", verdict_text(&now.verdict), now.tier)?;
        // Show only the gates whose decision differs from the recorded one.
        let others = now.gates.iter().filter(|gate| !then.gates.contains(gate));
        others.into_iter().try_for_each(|gate| writeln!(out, "gate    {}", gate))
    }
}

#[cfg(test)]
mod tests {
    use actum_api::gate::{Gate, Ground, Verdict};
    use actum_core::{Digest, RiskTier};

    use super::*;

    fn gate(gate: &str, verdict: &str) -> Gate {
        let message = "a ground".to_owned();
        let ground = Ground("a ground".into());
        Gate { gate: gate.to_owned(), verdict: verdict.into(), ground, message }
    }

    /// AEC-11: if a decision was made with unsupported rules, the recorded decision is shown.
    #[test]
    fn recorded_decision_is_printed_if_the_gates_cannot_be_replayed() {
        let then = Decision {
            verdict: Verdict::Allow,
            tier: RiskTier::R2,
            gates: vec![gate("scope", "allow")],
        };
        let (policy, policy_now) = (Digest::of(b"1"), Digest::of(b"2"));
        let explained = RunExplanation {
            run: "0123abcdefgh".parse().unwrap(),
            then,
            policy,
            policy_now,
            now: None,
            now_problem: Some("other rules".to_owned()),
        };
        let mut text = Vec::new();
        explained.write_text(&mut text).unwrap();
        let expected = format!(
            "run 0123abcdefgh: allowed, R2\ngate    scope: allow, a ground\npolicy  {policy}, in force \
             then\nnow     {policy_now}: other rules\n"
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
