//! Records the answers of users to confirmation prompts (AEC-5).

use actum_agent::AgentGoalRequest;
use actum_agent::bundle::Identity;
use actum_agent::confirmation::{LanguageTag, Lexicon, ParseProof, Reply as ParsedReply, parse};
use actum_agent::goal::ConfirmState;
use actum_agent::prompt::ConfirmationPrompt;
use actum_core::{Digest, canonical};
use actum_gate::CONFIRMATION_PAYLOAD_TYPE;
use actum_ledger::NewEntry;
use actum_record::agent::{CorrelationId, ThreadId};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, AgentConfirmation, ConfirmationOutcome, EntryKind};
use actum_record::signer::Signer;
use actum_workspace::disk::Disk;

use crate::dispatcher::Dispatcher;
use crate::entries::step;
use crate::error::{ConfirmError, DispatchError};
use crate::gather::identify;
use crate::history::Chain;
use crate::settings::Caller;

/// Answer of a user to a confirmation prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Goal that the prompt belongs to.
    pub correlation: CorrelationId,
    /// Conversation in which the user answered.
    pub thread: ThreadId,
    /// Fingerprint of the plan that the user saw in the prompt ([`ConfirmationPrompt::plan_fingerprint`]).
    pub plan: Digest,
    /// Text of the answer, exactly as the user wrote it.
    pub utterance: String,
    /// BCP 47 tag of the language of the answer.
    pub language: String,
}

/// Answer that was recorded in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Interpretation of the answer by the parser.
    pub outcome: ConfirmationOutcome,
    /// Reason why the answer is ambiguous, as a sentence.
    pub reason: Option<&'static str>,
    /// Prompt that the user answered.
    pub prompt: ConfirmationPrompt,
    /// Digest of the parse proof, which is stored in the ledger and signed if a key was given.
    pub proof: Digest,
}

impl<D: Disk> Dispatcher<'_, D> {
    /// Parses the answer to the newest prompt of a goal, and records it in the ledger, whether it is yes, no or
    /// ambiguous.
    ///
    /// The answer applies only to the plan that was shown to the user. If the newest prompt is for a different plan,
    /// nothing is recorded (AEC-5).
    ///
    /// The dispatching process must not confirm its own goals. Without a `signer`, the answer must therefore come from
    /// another user account. Otherwise `signer` must be a key of the operator, which signs the parse proof.
    ///
    /// # Errors
    /// [`ConfirmError`], in which case nothing was recorded.
    pub fn confirm(
        &mut self,
        reply: &Reply,
        by: &Actor,
        signer: Option<&dyn Signer>,
    ) -> Result<Confirmed, ConfirmError> {
        let (records, step) = (self.engine().records(), step()?);
        let found = records.ledger().read(|log| {
            let chain = Chain::read(log, &reply.correlation)?;
            let dispatcher = chain.executions().next_back().map(|(_, it)| it.actor.uid);
            let history = chain.history((log, records.keyring()), &step)?;
            Ok((chain.prompt(log)?, dispatcher, history))
        })?;
        let (Some((digest, prompt)), dispatcher, history) = found else {
            return Err(ConfirmError::NoPrompt { correlation: reply.correlation.to_string() });
        };
        // An answer of "no" is still accepted while the effect is running, because it prevents a retry if the effect is
        // rolled back.
        let claim = history.facts.claim.as_ref();
        if let Some(state) = claim.map(|claim| claim.state).filter(|state| state.is_final()) {
            return Err(ConfirmError::Ended { state });
        }
        let now = records.now();
        if now > prompt.expires {
            return Err(ConfirmError::Expired { expires: prompt.expires });
        }
        if prompt.thread != reply.thread {
            return Err(ConfirmError::Thread { thread: prompt.thread.to_string() });
        }
        if prompt.plan_fingerprint != reply.plan {
            return Err(ConfirmError::Plan { plan: reply.plan, newest: prompt.plan_fingerprint });
        }
        if let Some(outcome) = history.final_answer(reply.plan) {
            return Err(ConfirmError::Final { outcome });
        }
        if signer.is_none() && dispatcher == Some(by.uid) {
            return Err(ConfirmError::Dispatcher);
        }
        let language = LanguageTag::new(&reply.language)?;
        let parsed = ParsedReply {
            language: &language,
            utterance: &reply.utterance,
            prompt: digest,
            plan_fingerprint: prompt.plan_fingerprint,
        };
        let lexicon = Lexicon::built_in().map_err(DispatchError::from)?;
        let proof = ParseProof::new(&lexicon, &parsed);
        let mut proof_bytes = proof.to_vec()?;
        if let Some(signer) = signer {
            let envelope = Envelope::sign(CONFIRMATION_PAYLOAD_TYPE, proof_bytes, signer);
            proof_bytes = envelope.map_err(actum::Error::from)?.to_vec()?;
        }
        let entry = AgentConfirmation {
            format: AgentConfirmation::FORMAT.to_owned(),
            time: now,
            tenant: records.tenant().clone(),
            correlation: reply.correlation.clone(),
            thread: reply.thread.clone(),
            step: prompt.step.clone(),
            outcome: proof.outcome,
            lexicon: lexicon.reference(),
            proof: Digest::of(&proof_bytes),
            prompt: digest,
            plan_fingerprint: prompt.plan_fingerprint,
            language: language.as_str().to_owned(),
            token: proof.token.clone().filter(|_| proof.outcome == ConfirmationOutcome::Confirmed),
            by: by.clone(),
            relayed_by: signer.map(|signer| signer.key_id().to_string()),
        };
        let body = canonical::to_vec(&entry)?;
        let digest = Digest::of(&proof_bytes);
        let blobs = vec![lexicon.bytes().to_vec(), proof_bytes];
        let entry = NewEntry { kind: EntryKind::AgentConfirmation, body, blobs };
        records.ledger().append(vec![entry]).wait()?;
        Ok(Confirmed {
            outcome: proof.outcome,
            reason: proof.reason.map(|reason| reason.sentence()),
            proof: digest,
            prompt,
        })
    }

    /// Records the answer that a host relays to the newest prompt of a goal.
    ///
    /// An answer with the same outcome as the recorded one is not recorded again. If the goal would be refused in any
    /// case, nothing is recorded.
    pub(crate) fn relay(
        &mut self,
        goal: &AgentGoalRequest,
        answer: &ConfirmState,
        caller: &Caller<'_>,
    ) -> Result<(), DispatchError> {
        let host = caller.host.ok_or(DispatchError::NoHost)?;
        let relay = |error| DispatchError::Relay(Box::new(error));
        let (records, step) = (self.engine().records(), step()?);
        let (identity, _) = identify(records, (goal, caller), records.now())?;
        let (history, prompt, recorded) = records.ledger().read(|log| {
            let chain = Chain::read(log, &goal.correlation_id)?;
            let history = chain.history((log, records.keyring()), &step)?;
            Ok((history, chain.prompt(log)?, chain.answer_to(answer.prompt_ref)))
        })?;
        let is_of_goal = history.facts.goal.is_none_or(|known| known == goal.fingerprint());
        if !is_of_goal || identity == Identity::Unknown {
            return Ok(());
        }
        let language =
            LanguageTag::new(&answer.language_tag).map_err(|error| relay(error.into()))?;
        let parsed = parse(&Lexicon::built_in()?, &language, &answer.answer).outcome();
        if recorded == Some(parsed) {
            return Ok(());
        }
        let (_, prompt) = prompt
            .filter(|(digest, _)| *digest == answer.prompt_ref)
            .ok_or_else(|| relay(ConfirmError::Prompt { prompt: answer.prompt_ref }))?;
        let reply = Reply {
            correlation: goal.correlation_id.clone(),
            thread: goal.thread_id.clone(),
            plan: prompt.plan_fingerprint,
            utterance: answer.answer.clone(),
            language: answer.language_tag.clone(),
        };
        self.confirm(&reply, &caller.subject(goal), Some(host)).map(drop).map_err(relay)
    }
}
