//! Replays decisions of the core and of the access policies, and the parsing of answers.

use actum::Catalog;
use actum_agent::bundle::{AgentBundle, Identity, SimulationFacts};
use actum_agent::confirmation::{Answer, Lexicon, ParseProof, parse};
use actum_agent::prompt::ConfirmationPrompt;
use actum_agent::{AGENT_SEMANTICS, AgentVerdict, decide};
use actum_core::{Digest, canonical};
use actum_gate::decision::Bundle;
use actum_gate::{AccessJudge, HostAssertionProblem, Policy, judge_access, verify_host_assertion};
use actum_ledger::{LedgerError, Log};
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::{AgentAccessDecided, AgentConfirmation, AgentEventKind, AgentExecution};

use super::{Problem, ReplayCode, check_document, problem};
use crate::ENGINE;
use crate::facts::{access_outcome, simulation_facts};
use crate::history::matches_proof;

fn mismatch(message: &str) -> (ReplayCode, String) {
    problem(ReplayCode::DecisionMismatch, message)
}

/// Decision of the core that was reproduced.
pub(super) struct MadeAgain {
    pub(super) bundle: AgentBundle,
    /// Fingerprint of the plan that was decided on.
    pub(super) plan: Option<Digest>,
}

/// Replays a decision of the core. Returns the reproduced decision, or the difference that was found.
pub(super) fn check(
    (log, keyring): (&dyn Log, &Keyring),
    event: &AgentExecution,
) -> Result<Result<MadeAgain, (ReplayCode, String)>, LedgerError> {
    if event.semantics != AGENT_SEMANTICS {
        let message =
            format!("the decision was made under version {} of the rules", event.semantics);
        return Ok(Err(problem(ReplayCode::EngineUnsupported, message)));
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
        refs.host_assertion,
        refs.outcome,
        event.rollback_plan,
    ];
    for digest in kept.into_iter().flatten() {
        if let Some(problem) = check_document(log, digest)? {
            return Ok(Err(problem));
        }
    }
    let bytes = log.blob(&refs.bundle)?.unwrap_or_default();
    let Ok(bundle) = serde_json::from_slice::<AgentBundle>(&bytes) else {
        return Ok(Err(mismatch("the bundle cannot be read")));
    };
    let packet = canonical::ordered_to_vec(&bundle.packet).map(|packet| Digest::of(&packet));
    let same_refs = packet == Ok(refs.finder_packet)
        && bundle.finder_packet == refs.finder_packet
        && bundle.policy_snapshot == refs.policy_snapshot
        && bundle.catalog_snapshot == refs.catalog_snapshot
        && bundle.goal.correlation == event.correlation
        && bundle.goal.request_key == event.request
        && host_assertion(&bundle) == refs.host_assertion
        && refs.artifact_fingerprints.is_none_or(|it| it == bundle.artifacts);
    if !same_refs {
        return Ok(Err(mismatch("the bundle refers to different documents")));
    }
    if let Some(wrong) = check_facts((log, keyring), (event, &bundle))? {
        return Ok(Err(mismatch(wrong)));
    }
    let decision = decide(&bundle);
    let same = decision.digest(&bytes) == Ok(event.decision)
        && decision.key == event.key
        && (event.event.starts_effect() || event.duration.is_some() || {
            let reason = decision.reason_code().map(|reason| reason.as_str());
            let has_own_reason = decision.verdict == AgentVerdict::Dispatch
                && event.event == AgentEventKind::NoEffect;
            has_own_reason || reason == event.reason.as_deref()
        });
    Ok(match same {
        true => Ok(MadeAgain { bundle, plan: decision.plan_fingerprint }),
        false => Err(mismatch("deciding again on the same bundle gives a different decision")),
    })
}

/// Compares the facts in a bundle with their sources, which are the signed assertion of the host and the catalog
/// snapshot. Returns a description of the first difference.
fn check_facts(
    (log, keyring): (&dyn Log, &Keyring),
    (event, bundle): (&AgentExecution, &AgentBundle),
) -> Result<Option<&'static str>, LedgerError> {
    if let Identity::Host { key, assertion } = &bundle.caller.identity {
        let signed = log.blob(assertion)?.unwrap_or_default();
        let is_sound = match verify_host_assertion(&signed, keyring, event.time) {
            Ok((asserted, signer)) => {
                signer.as_str() == key
                    && asserted.goal == bundle.goal.fingerprint
                    && asserted.user == bundle.goal.user
                    && asserted.correlation == bundle.goal.correlation
            }
            // The key was still valid at that time and was only revoked later.
            Err(HostAssertionProblem::Key(KeyProblem::Revoked { .. })) => true,
            Err(_) => false,
        };
        if !is_sound {
            return Ok(Some("no host asserted the user of the goal"));
        }
    }
    let Some(facts) = bundle.simulation.as_ref().filter(|_| event.engine == ENGINE) else {
        return Ok(None);
    };
    let snapshot = log.blob(&event.refs.catalog_snapshot)?.unwrap_or_default();
    let Ok(Ok(catalog)) = Catalog::of_snapshot(&snapshot) else {
        return Ok(Some("the catalog snapshot cannot be read"));
    };
    let same = catalog.find(&facts.id).is_some_and(|registered| {
        SimulationFacts { fields_fit: facts.fields_fit, ..simulation_facts(registered) } == *facts
    });
    Ok((!same).then_some("the catalog snapshot describes the simulation differently"))
}

fn host_assertion(bundle: &AgentBundle) -> Option<Digest> {
    match &bundle.caller.identity {
        Identity::Host { assertion, .. } => Some(*assertion),
        Identity::Own | Identity::Unknown => None,
    }
}

/// Replays a decision on access.
pub(super) fn check_access(
    log: &dyn Log,
    decided: &AgentAccessDecided,
    access: &dyn AccessJudge,
) -> Result<Problem, LedgerError> {
    for digest in [decided.policy_snapshot, decided.case] {
        if let Some(problem) = check_document(log, digest)? {
            return Ok(Some(problem));
        }
    }
    let policy = log.blob(&decided.policy_snapshot)?.unwrap_or_default();
    let case = log.blob(&decided.case)?.unwrap_or_default();
    let (Ok(policy), Ok(bundle)) = (Policy::read(&policy), serde_json::from_slice::<Bundle>(&case))
    else {
        return Ok(Some(mismatch("the access policies or their case cannot be read")));
    };
    let outcome = access_outcome(judge_access(&bundle, &policy, access).verdict);
    let same = bundle.policy() == decided.policy_snapshot && outcome == decided.outcome;
    Ok((!same).then(|| mismatch("evaluating the access policies again gives a different outcome")))
}

/// Checks a recorded answer by parsing its token again with the lexicon that was used at the time.
///
/// An ambiguous answer has no token to parse, because the text of such an answer is not recorded.
pub(super) fn check_answer(
    log: &dyn Log,
    answer: &AgentConfirmation,
) -> Result<Problem, LedgerError> {
    for digest in [answer.lexicon, answer.proof, answer.prompt] {
        if let Some(problem) = check_document(log, digest)? {
            return Ok(Some(problem));
        }
    }
    let lexicon = log.blob(&answer.lexicon)?.unwrap_or_default();
    let prompt = log.blob(&answer.prompt)?.unwrap_or_default();
    let mut proof = log.blob(&answer.proof)?.unwrap_or_default();
    if answer.relayed_by.is_some() {
        let Ok(envelope) = Envelope::read(&proof) else {
            return Ok(Some(mismatch("the proof of the answer is not signed")));
        };
        proof = envelope.payload;
    }
    let (Ok(lexicon), Ok(proof), Ok(prompt)) = (
        Lexicon::read(&lexicon),
        ParseProof::read(&proof),
        serde_json::from_slice::<ConfirmationPrompt>(&prompt),
    ) else {
        return Ok(Some(mismatch(
            "the lexicon, the proof or the prompt of the answer cannot be read",
        )));
    };
    let is_parsed_alike =
        proof.token.as_ref().is_none_or(|token| match parse(&lexicon, &proof.language, token) {
            Answer::Ambiguous { .. } => false,
            again @ (Answer::Confirmed { .. } | Answer::Rejected { .. }) => {
                again.outcome() == proof.outcome && again.token() == Some(token.as_str())
            }
        });
    let is_of_prompt = prompt.plan_fingerprint == answer.plan_fingerprint
        && prompt.thread == answer.thread
        && prompt.correlation == answer.correlation;
    let same = matches_proof(&proof, answer) && is_parsed_alike && is_of_prompt;
    Ok((!same).then(|| mismatch("the answer does not match its proof, its prompt or its lexicon")))
}
