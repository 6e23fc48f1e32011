//! Queue of plans that wait for approval, and the answers to them (AA-5).
//!
//! A plan is queued if a gate requires approval. Its effect is recorded in the ledger, and its request is stored next
//! to the ledger. After approval, the same request passes through the entire pipeline again under the workspace lock.
//! It is carried out only if it would still have exactly the approved effect.

mod answer;

use std::collections::BTreeSet;
use std::fmt;

use actum_core::canonical::{CanonicalError, describe};
use actum_core::path_name::PathName;
use actum_core::{Digest, RunId, Timestamp};
use actum_gate::answer::AnswerProblem;
use actum_gate::decision::{Bundle, Decision, GateDecision};
use actum_gate::{Approved, GateName, VerifiedAnswer, verify_answer};
use actum_ledger::{Inputs, LedgerError, Log, PlanRow};
use actum_record::keyring::Keyring;
use actum_record::ledger::{Actor, Answer, Approval, JudgedPlan, PlanAnswered, PlanQueued};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{EntryRef, GateRecord};

use crate::request::Request;

pub(crate) use crate::error::list_moved;
pub use crate::error::{Moved, PlanState, QUEUE_MAX, QUEUE_OF_ONE_MAX, QueueError};

pub use answer::{Approver, Reply};

const HOUR_MICROS: i64 = 3_600_000_000;
/// Time after which a queued plan expires if it is not answered, in microseconds. It is one week.
pub const QUEUED_MICROS: i64 = 168 * HOUR_MICROS;
/// Time after which an approval expires, in microseconds. It is one day.
pub const APPROVED_MICROS: i64 = 24 * HOUR_MICROS;
/// Maximum number of plans, newest first, that are searched for an earlier version of a new plan.
const EARLIER_MAX: u64 = 50;

/// Queued plan, whose ledger entries were verified when it was read.
#[derive(Debug, Clone)]
pub struct QueuedPlan {
    /// Row of the plan in the ledger's index.
    pub row: PlanRow,
    /// Ledger entry that queued the plan.
    pub entry: EntryRef,
    /// Content of the ledger entry that queued the plan.
    pub queued: PlanQueued,
    /// Newest answer of an approver, if its signature is valid.
    pub answer: Option<AnsweredPlan>,
    /// Reason why the newest answer in the ledger is invalid, or `None` if it is valid or missing.
    pub unproven: Option<AnswerProblem>,
}

/// Answer to a queued plan, with a reference to its ledger entry.
#[derive(Debug, Clone)]
pub struct AnsweredPlan {
    /// Ledger entry that records the answer.
    pub entry: EntryRef,
    /// Verified answer, with the key that signed it.
    pub verified: VerifiedAnswer,
}

impl QueuedPlan {
    /// Reads the plan of `row`, and verifies its newest answer with the keys in `keyring`.
    ///
    /// # Errors
    /// Returns [`LedgerError::Damaged`] if an entry was modified, or another [`LedgerError`] if reading fails. An answer
    /// without a valid signature is not an error but is reported in [`QueuedPlan::unproven`].
    pub fn read(log: &dyn Log, keyring: &Keyring, row: PlanRow) -> Result<Self, LedgerError> {
        let (index, plan) = (row.queued, row.plan);
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(index, error);
        let body = log.sound_entry(index)?.body;
        let queued: PlanQueued =
            serde_json::from_slice(&body).map_err(|error| damaged(&describe(&error)))?;
        if queued.plan.id != plan || queued.plan.workspace != row.workspace {
            return Err(damaged(&format_args!("it does not queue the plan {plan}")));
        }
        let origin = log.origin()?;
        let entry = EntryRef { origin: origin.clone(), index, leaf: leaf_hash(&body) };
        let Some((recorded_answer, answered)) = row.answered else {
            return Ok(Self { row, entry, queued, answer: None, unproven: None });
        };
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(answered, error);
        let body = log.sound_entry(answered)?.body;
        let verified = match verify_answer(&body, keyring) {
            Ok(verified) => verified,
            Err(problem) => {
                return Ok(Self { row, entry, queued, answer: None, unproven: Some(problem) });
            }
        };
        let PlanAnswered { plan: of, answer, queued: about, bound, .. } = &verified.answered;
        if (*of, *answer, about, *bound) != (plan, recorded_answer, &entry, queued.plan.bound) {
            return Err(damaged(&format_args!("it does not answer the plan {plan}")));
        }
        let leaf = leaf_hash(&body);
        let answer = AnsweredPlan { entry: EntryRef { origin, index: answered, leaf }, verified };
        Ok(Self { row, entry, queued, answer: Some(answer), unproven: None })
    }

    /// Reads all open plans, oldest first. These are the plans that may still be carried out, and expired ones.
    ///
    /// # Errors
    /// Returns the same errors as [`QueuedPlan::read`].
    pub fn open(log: &dyn Log, keyring: &Keyring) -> Result<Vec<Self>, LedgerError> {
        let read = |row| Self::read(log, keyring, row);
        log.open_plans()?.into_iter().map(read).collect()
    }

    /// Returns the id of the plan.
    pub fn id(&self) -> RunId {
        self.row.plan
    }

    /// Returns the state of the plan at the time `now`.
    pub fn state(&self, now: Timestamp) -> PlanState {
        if self.row.started.is_some() {
            return PlanState::CarriedOut;
        }
        if self.unproven.is_some() {
            return PlanState::Unproven;
        }
        let Some(AnsweredPlan { verified, .. }) = &self.answer else {
            let is_late = self.queued.expires < now;
            return if is_late { PlanState::Expired } else { PlanState::Waiting };
        };
        match verified.answered.answer {
            Answer::Denied => PlanState::Denied,
            Answer::Revoked => PlanState::Revoked,
            Answer::Approved if verified.answered.expires < now => PlanState::Expired,
            Answer::Approved => PlanState::Approved,
        }
    }

    /// Checks that the current state of the plan allows this answer.
    ///
    /// # Errors
    /// Returns `State` if the state of the plan does not allow the answer.
    pub fn check_answerable(&self, answer: Answer, now: Timestamp) -> Result<(), QueueError> {
        let (plan, state) = (self.id(), self.state(now));
        // The ledger would reject any other order of answers.
        let takes = match (answer, self.row.answered.map(|(recorded_answer, _)| recorded_answer)) {
            (Answer::Approved, None) => state == PlanState::Waiting,
            // Denying an expired plan is allowed, because it removes the plan from the queue.
            (Answer::Denied, None) => matches!(state, PlanState::Waiting | PlanState::Expired),
            (Answer::Revoked, Some(Answer::Approved)) => {
                matches!(state, PlanState::Approved | PlanState::Expired | PlanState::Unproven)
            }
            (Answer::Approved | Answer::Denied | Answer::Revoked, _) => false,
        };
        match takes {
            true => Ok(()),
            false => Err(QueueError::State { plan, wanted: answer, state }),
        }
    }

    /// Returns true if the gates judge the plan exactly as they did when it was queued, and its requester is the same.
    pub(crate) fn is_same(
        &self,
        (bundle, decision): (&Bundle, &Decision),
        actor: &Actor,
    ) -> Result<bool, CanonicalError> {
        let JudgedPlan { bound, actor: asked, decision: then, .. } = &self.queued.plan;
        // An approval for one agent must not apply to another.
        let is_bound = *bound == bundle.bound()? && asked == actor;
        Ok(is_bound && is_decided_alike(&then.gates, decision)?)
    }

    /// Returns the differences between the plan as it was queued, with the bundle `was`, and the plan as it is judged now.
    /// If the list is empty, a request with this plan in [`Request::plan`] may be carried out.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if a bundle has no canonical form, which cannot happen for a request that was judged.
    pub fn moved(
        &self,
        was: &Bundle,
        (bundle, decision): (&Bundle, &Decision),
        actor: &Actor,
    ) -> Result<Vec<Moved>, CanonicalError> {
        if self.is_same((bundle, decision), actor)? {
            return Ok(Vec::new());
        }
        let JudgedPlan { bound, actor: asked, .. } = &self.queued.plan;
        let now = bundle.bound()?;
        let mut moved = Moved::between((bound, was.change()), (&now, bundle.change()));
        moved.extend((asked != actor).then_some(Moved::Actor));
        if moved.is_empty() {
            moved.push(Moved::Grounds);
        }
        Ok(moved)
    }

    /// Returns the approval as a fact for the approval gate, or `None` if there is no valid approval.
    pub(crate) fn approved(&self, now: Timestamp) -> Option<Approved> {
        let AnsweredPlan { entry, verified } = self.answer.as_ref()?;
        let VerifiedAnswer { answered, key, .. } = verified;
        let PlanAnswered { bound, expires, by, isolation, .. } = answered.clone();
        let approval =
            Approval { plan: self.id(), entry: entry.clone(), key: key.clone(), by, isolation };
        let is_approved = self.state(now) == PlanState::Approved;
        is_approved.then_some(Approved { approval, bound, expires })
    }

    /// Reads the bundle of facts that the gates judged when the plan was queued.
    ///
    /// # Errors
    /// Returns [`LedgerError::Damaged`] if the bundle is missing, was modified or belongs to a different plan. Returns
    /// another [`LedgerError`] if reading fails.
    pub fn bundle(&self, log: &dyn Log) -> Result<Bundle, LedgerError> {
        let index = self.row.queued;
        let bundle = bundle_of(log, index, self.queued.plan.decision.bundle)?;
        match bundle.bound().is_ok_and(|bound| bound == self.queued.plan.bound) {
            true => Ok(bundle),
            false => Err(LedgerError::entry(index, &"its bundle belongs to a different change")),
        }
    }

    /// Reads the stored request of the plan, exactly as it was queued.
    ///
    /// # Errors
    /// Returns `Input` if the request is missing or was modified, or `Ledger` if it cannot be read.
    pub fn request(&self, inputs: &dyn Inputs) -> crate::Result<Request> {
        let PlanQueued { plan, input, .. } = &self.queued;
        let wrong = |what: String| QueueError::Input { plan: plan.id, what };
        let Some(bytes) = inputs.read(plan.id)? else {
            return Err(wrong("is missing".to_owned()).into());
        };
        if Digest::of(&bytes) != *input {
            return Err(wrong("has changed since it was queued".to_owned()).into());
        }
        let request = Request::read_document(&bytes);
        let request = request.map_err(|error| wrong(format!("cannot be used: {error}")))?;
        Ok(Request { plan: Some(plan.id), ..request })
    }
}

/// Returns true if all gates except `approval` reach the same decisions on the same grounds as when the plan was
/// queued.
fn is_decided_alike(then: &[GateRecord], decision: &Decision) -> Result<bool, CanonicalError> {
    let now = decision.gates.iter().filter(|gate| gate.gate != GateName::Approval);
    let now: Vec<_> = now.map(GateDecision::record).collect::<Result<_, _>>()?;
    let is_other = |gate: &&GateRecord| gate.gate != GateName::Approval.as_str();
    Ok(then.iter().filter(is_other).eq(&now))
}

/// Finds the newest plan that `plan` replaces among those that have not been carried out.
///
/// A plan is replaced if it requests the same work or has the same request key. It is also replaced if it has the same
/// requester and changes one of the files in `files`.
pub(crate) fn earlier(
    log: &dyn Log,
    plan: &JudgedPlan,
    files: &BTreeSet<PathName>,
) -> Result<Option<RunId>, LedgerError> {
    for row in log.newest_plans(plan.workspace, EARLIER_MAX)? {
        if row.started.is_some() {
            continue;
        }
        let body = log.sound_entry(row.queued)?.body;
        let other: PlanQueued = serde_json::from_slice(&body)
            .map_err(|error| LedgerError::entry(row.queued, &describe(&error)))?;
        let is_same_key = plan.request.is_some() && other.plan.request == plan.request;
        let is_same = is_same_key || other.plan.bound.plan == plan.bound.plan;
        let is_of_files = || -> Result<bool, LedgerError> {
            let was = bundle_of(log, row.queued, other.plan.decision.bundle)?;
            Ok(was.files().any(|effect| files.contains(&effect.path)))
        };
        if is_same || other.plan.actor == plan.actor && is_of_files()? {
            return Ok(Some(row.plan));
        }
    }
    Ok(None)
}

/// Reads the bundle that the entry at `index` refers to by its digest.
fn bundle_of(log: &dyn Log, index: u64, digest: Digest) -> Result<Bundle, LedgerError> {
    let damaged = |error: &dyn fmt::Display| LedgerError::entry(index, error);
    let bytes = log.blob(&digest)?.ok_or_else(|| damaged(&"its bundle is missing"))?;
    if Digest::of(&bytes) != digest {
        return Err(damaged(&"its bundle was modified"));
    }
    Bundle::read(&bytes).map_err(|error| damaged(&error))
}
