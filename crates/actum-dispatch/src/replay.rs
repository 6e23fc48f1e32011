//! Replay: the decisions on a goal are made again from what is kept (AEC-11).

use actum_agent::bundle::AgentBundle;
use actum_agent::{AGENT_SEMANTICS, decide};
use actum_core::{Digest, canonical};
use actum_gate::decision::Bundle;
use actum_gate::{AccessJudge, Policy, Verdict, judge_access};
use actum_ledger::{LedgerError, Log};
use actum_record::agent::CorrelationId;
use actum_record::ledger::{
    AccessOutcome, AgentAccessDecided, AgentEvent, AgentExecution, AgentState,
};

use crate::history::{Chain, ChainEvent};

/// Result of replaying the decisions on a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayReport {
    /// Goal.
    pub correlation: CorrelationId,
    /// Decisions, in the order of the ledger.
    pub decisions: Vec<ReplayedDecision>,
}

/// Decision that was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedDecision {
    /// Index of the event.
    pub index: u64,
    /// What is wrong; `None` where it is the same.
    pub problem: Option<(ReplayCode, String)>,
}

/// Reason why a replay failed: a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplayCode {
    /// A document is missing.
    RefMissing,
    /// A document is not what it was.
    RefHashMismatch,
    /// The decision is another one.
    DecisionMismatch,
    /// This program has other rules than the one that decided.
    EngineUnsupported,
    /// The projection is not what follows from the events.
    ProjectionDrift,
}

impl ReplayCode {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::RefMissing,
        Self::RefHashMismatch,
        Self::DecisionMismatch,
        Self::EngineUnsupported,
        Self::ProjectionDrift,
    ];

    /// The permanent name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RefMissing => "REPLAY_REF_MISSING",
            Self::RefHashMismatch => "REPLAY_REF_HASH_MISMATCH",
            Self::DecisionMismatch => "REPLAY_DECISION_MISMATCH",
            Self::EngineUnsupported => "REPLAY_ENGINE_UNSUPPORTED",
            Self::ProjectionDrift => "REPLAY_PROJECTION_DRIFT",
        }
    }
}

impl ReplayReport {
    /// Replays the decisions on a goal. `access` judges access policies again.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn of(
        log: &dyn Log,
        correlation: &CorrelationId,
        access: &dyn AccessJudge,
    ) -> Result<Self, LedgerError> {
        let chain = Chain::read(log, correlation)?;
        let mut decisions = Vec::new();
        for event in &chain.events {
            let problem = match &event.event {
                AgentEvent::Execution(execution) => replay(log, execution)?,
                AgentEvent::Access(decided) => replay_access(log, decided, access)?,
                AgentEvent::Confirmation(_) | AgentEvent::IntakeResolved(_) => continue,
            };
            decisions.push(ReplayedDecision { index: event.index, problem });
        }
        if let Some(drift) = drift(log, &chain)? {
            decisions.push(drift);
        }
        Ok(Self { correlation: correlation.clone(), decisions })
    }

    /// Every decision is the same.
    pub fn is_same(&self) -> bool {
        self.decisions.iter().all(|decision| decision.problem.is_none())
    }
}

type Problem = Option<(ReplayCode, String)>;

/// Makes one decision again.
fn replay(log: &dyn Log, event: &AgentExecution) -> Result<Problem, LedgerError> {
    if event.semantics != AGENT_SEMANTICS {
        let message = format!("it was decided by version {} of the rules", event.semantics);
        return Ok(Some((ReplayCode::EngineUnsupported, message)));
    }
    let refs = &event.refs;
    let kept = [
        Some(refs.bundle),
        Some(refs.finder_packet),
        Some(refs.policy_snapshot),
        Some(refs.catalog_snapshot),
        refs.artifact_fingerprints,
        refs.confirmation_proof,
        refs.prompt,
        event.rollback_plan,
    ];
    for digest in kept.into_iter().flatten() {
        if let Some(problem) = check(log, digest)? {
            return Ok(Some(problem));
        }
    }
    let bytes = log.blob(&refs.bundle)?.unwrap_or_default();
    let mismatch = |message: &str| Some((ReplayCode::DecisionMismatch, message.to_owned()));
    let Ok(bundle) = serde_json::from_slice::<AgentBundle>(&bytes) else {
        return Ok(mismatch("its bundle cannot be read"));
    };
    let packet = canonical::to_vec(&bundle.packet).map(|packet| Digest::of(&packet));
    let same_refs = packet == Ok(refs.finder_packet)
        && bundle.finder_packet == refs.finder_packet
        && bundle.policy_snapshot == refs.policy_snapshot
        && bundle.catalog_snapshot == refs.catalog_snapshot
        && refs.artifact_fingerprints.is_none_or(|it| it == bundle.artifacts);
    if !same_refs {
        return Ok(mismatch("its bundle names other documents"));
    }
    let decision = decide(&bundle);
    let same = decision.digest(&bytes) == Ok(event.decision)
        && decision.key == event.key
        && (event.event.starts_effect() || event.duration.is_some() || {
            let reason = decision.reason_code().map(|reason| reason.as_str());
            decision.state == AgentState::Started || reason == event.reason.as_deref()
        });
    Ok(if same { None } else { mismatch("the same bundle gives another decision") })
}

/// Makes one decision on access again.
fn replay_access(
    log: &dyn Log,
    decided: &AgentAccessDecided,
    access: &dyn AccessJudge,
) -> Result<Problem, LedgerError> {
    for digest in [decided.policy_snapshot, decided.case] {
        if let Some(problem) = check(log, digest)? {
            return Ok(Some(problem));
        }
    }
    let policy = log.blob(&decided.policy_snapshot)?.unwrap_or_default();
    let case = log.blob(&decided.case)?.unwrap_or_default();
    let mismatch = |message: &str| Some((ReplayCode::DecisionMismatch, message.to_owned()));
    let (Ok(policy), Ok(bundle)) = (Policy::read(&policy), serde_json::from_slice::<Bundle>(&case))
    else {
        return Ok(mismatch("what the access policies judged cannot be read"));
    };
    let outcome = match judge_access(&bundle, &policy, access).verdict {
        Verdict::Allow => AccessOutcome::Allowed,
        Verdict::NeedsApproval => AccessOutcome::ApRequired,
        Verdict::Deny => AccessOutcome::Denied,
    };
    let same = bundle.policy() == decided.policy_snapshot && outcome == decided.outcome;
    Ok(if same { None } else { mismatch("the access policies decide otherwise") })
}

/// Checks a document that is kept.
fn check(log: &dyn Log, digest: Digest) -> Result<Problem, LedgerError> {
    let Some(bytes) = log.blob(&digest)? else {
        return Ok(Some((ReplayCode::RefMissing, format!("the document {digest} is missing"))));
    };
    let is_same = Digest::of(&bytes) == digest;
    Ok((!is_same)
        .then(|| (ReplayCode::RefHashMismatch, format!("the document {digest} was changed"))))
}

/// Compares the projection with the newest event of each plan.
fn drift(log: &dyn Log, chain: &Chain) -> Result<Option<ReplayedDecision>, LedgerError> {
    for (ChainEvent { index, .. }, event) in chain.executions() {
        let newest = chain.executions().rev();
        let newest =
            newest.into_iter().find(|(_, it)| (&it.plan, &it.step) == (&event.plan, &event.step));
        let current = log.agent_current(&event.plan, &event.step)?;
        let expected = newest.map(|(at, it)| (at.index, it.state));
        if current.map(|row| (row.newest, row.state)) != expected {
            let message = format!("`agent_execution_current` differs for the plan {}", event.plan);
            let problem = Some((ReplayCode::ProjectionDrift, message));
            return Ok(Some(ReplayedDecision { index: *index, problem }));
        }
    }
    Ok(None)
}
