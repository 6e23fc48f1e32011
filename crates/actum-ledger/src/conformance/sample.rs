//! Sample entries in the form that the engine writes them, for the conformance suite, tests and benchmarks. They have
//! no valid signatures, because a store does not verify signatures.

mod action;
mod agent;
mod alert;
mod file_task;
mod lease;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RiskTier, RunId, Status, Timestamp};
use actum_record::dsse::{Envelope, EnvelopeSignature};
use actum_record::ledger::{
    Actor, Answer, Approval, Bound, EffectStarted, EntryKind, Isolation, JudgedPlan, KeyRotated,
    LogStarted, PlanAnswered, PlanQueued, PlanRefused, RequestKey, TenantId, WorkspaceId,
};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{
    DecisionRecord, EntryRef, GateRecord, PAYLOAD_TYPE, RecordedGround, RunResult, SettledBy,
    Statement,
};
use actum_record::signer::{KeyId, KeyRole, PublicKey};

use crate::new_entry::NewEntry;
pub use action::catalog_changed;
pub use agent::{SampleStep, agent_execution, slo_waived};
pub use alert::{alert_raised, alert_seen};
pub use file_task::{file_task_ended, file_task_started};
pub use lease::SampleLease;

/// Name of the log in all samples.
pub const ORIGIN: &str = "actum/sample/default";

/// Policy under which all sample decisions are made.
const POLICY: &[u8] =
    b"{\"credentials\":[],\"format\":\"actum.policy/3\",\"layers\":[],\"profiles\":[\"interactive\"]}";

/// Sample run, from which the entries about it are generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRun {
    /// Id of the run, which is also the id of its plan.
    pub run: RunId,
    /// Workspace that the run changes.
    pub workspace: WorkspaceId,
    /// Key of the request with the number of the attempt, if the request has a key.
    pub request: Option<(RequestKey, u32)>,
    /// Time at which the run starts. It ends one millisecond later.
    pub time: Timestamp,
    /// Decision bundle, which is the document that the decision was made from.
    pub bundle: Vec<u8>,
    /// Length of the run's label in bytes.
    pub label_bytes: usize,
    /// Digest of the change that the run makes.
    pub change: Digest,
    /// Approval under which the run starts, if any.
    pub approval: Option<Approval>,
    /// Earlier run that this run undoes, if any.
    pub undoes: Option<RunId>,
    /// Lease under which the run starts, if any.
    pub lease: Option<SampleLease>,
    /// Entry point that received the request.
    pub door: &'static str,
}

impl SampleRun {
    /// Returns the sample run with a number, in the workspace with a number. The ids are derived from the numbers.
    pub fn numbered(number: u64, workspace: u64) -> Self {
        // Distribute the ids like random ones, so that a database accesses them in the same way.
        let scattered = |number: u64| {
            number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(17)
        };
        Self {
            run: RunId::from_random(scattered(number)),
            workspace: WorkspaceId::from_random(scattered(workspace)),
            request: None,
            time: Timestamp::from_micros(1_795_000_000_000_000),
            bundle: format!("{{\"number\":{number}}}").into_bytes(),
            label_bytes: 16,
            change: Digest::of(b"change"),
            approval: None,
            undoes: None,
            lease: None,
            door: "cli",
        }
    }

    /// Returns the documents that the run's entries refer to.
    fn documents(&self) -> Vec<Vec<u8>> {
        let lease = self.lease.as_ref().map(SampleLease::document);
        [self.bundle.clone(), POLICY.to_vec()].into_iter().chain(lease).collect()
    }

    /// Returns the run's `EFFECT_STARTED` entry, with the documents that it refers to.
    ///
    /// # Errors
    /// Returns the errors of canonical JSON, which cannot occur here.
    pub fn started(&self) -> Result<NewEntry, CanonicalError> {
        let (request, attempt) = self.request.clone().unzip();
        let body = canonical::to_vec(&EffectStarted {
            format: EffectStarted::FORMAT.to_owned(),
            time: self.time,
            tenant: TenantId::default(),
            workspace: self.workspace,
            root: "/home/ada/project".to_owned(),
            run: self.run,
            place: 1,
            action: None,
            undoes: self.undoes,
            request,
            attempt: attempt.unwrap_or(1),
            actor: actor(),
            door: self.door.to_owned(),
            label: "x".repeat(self.label_bytes),
            plan: Digest::of(b"plan"),
            change: self.change,
            policy: Digest::of(POLICY),
            decision: self.decision(),
            approval: self.approval.clone(),
            commands: Default::default(),
            queries: Vec::new(),
            external: Vec::new(),
            published_by: Default::default(),
            rollback_files: None,
            lease: self.lease.as_ref().map(SampleLease::record),
            engine: "actum 0.1.0".to_owned(),
        })?;
        Ok(NewEntry { kind: EntryKind::EffectStarted, body, blobs: self.documents() })
    }

    /// Returns the run's `EFFECT_DONE` entry. `started` is the index of the entry that started the run.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn done(&self, status: Status, started: u64) -> Result<NewEntry, CanonicalError> {
        let (request, attempt) = self.request.clone().unzip();
        let later = Timestamp::from_micros(self.time.micros().saturating_add(1000));
        let leaf = leaf_hash(&self.started()?.body);
        let statement = Statement::new(RunResult {
            tenant: TenantId::default(),
            workspace: self.workspace,
            run: self.run,
            undoes: self.undoes,
            status,
            reason: None,
            plan: Digest::of(b"plan"),
            change: self.change,
            paths: Vec::new(),
            policy: Digest::of(POLICY),
            decision: self.decision(),
            approval: self.approval.clone(),
            lease: self.lease.as_ref().map(SampleLease::record),
            commands: Vec::new(),
            sandbox: None,
            verification: Vec::new(),
            rollback: None,
            queries: Vec::new(),
            external: Vec::new(),
            published_by: Default::default(),
            rollback_files: None,
            request,
            attempt: attempt.unwrap_or(1),
            actor: actor(),
            door: self.door.to_owned(),
            label: "x".repeat(self.label_bytes),
            started: self.time,
            ended: later,
            settled: later,
            intent: EntryRef { origin: ORIGIN.to_owned(), index: started, leaf },
            settled_by: SettledBy::Run,
            engine: "actum 0.1.0".to_owned(),
        });
        enveloped(EntryKind::EffectDone, PAYLOAD_TYPE, canonical::to_vec(&statement)?)
    }

    /// Returns a `PLAN_QUEUED` entry for a plan with the same change, which waits for approval.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn queued(&self) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&PlanQueued {
            format: PlanQueued::FORMAT.to_owned(),
            time: self.time,
            expires: self.time,
            plan: self.judged(),
            input: Digest::of(b"input"),
            earlier: None,
        })?;
        let blobs = self.documents();
        Ok(NewEntry { kind: EntryKind::PlanQueued, body, blobs })
    }

    /// Returns a `PLAN_REFUSED` entry for a plan with the same change, which the gates refuse.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn refused(&self) -> Result<NewEntry, CanonicalError> {
        let body = canonical::to_vec(&PlanRefused {
            format: PlanRefused::FORMAT.to_owned(),
            time: self.time,
            plan: self.judged(),
        })?;
        let blobs = self.documents();
        Ok(NewEntry { kind: EntryKind::PlanRefused, body, blobs })
    }

    /// Returns a `PLAN_ANSWERED` entry for the plan. The arguments are the index and hash of the entry that queued it.
    ///
    /// # Errors
    /// Returns the errors of [`SampleRun::started`].
    pub fn answered(
        &self,
        answer: Answer,
        (queued, leaf): (u64, Digest),
    ) -> Result<NewEntry, CanonicalError> {
        let payload = canonical::to_vec(&PlanAnswered {
            format: PlanAnswered::FORMAT.to_owned(),
            time: self.time,
            tenant: TenantId::default(),
            workspace: self.workspace,
            plan: self.run,
            queued: EntryRef { origin: ORIGIN.to_owned(), index: queued, leaf },
            answer,
            reason: None,
            bound: self.judged().bound,
            expires: self.time,
            by: actor(),
            isolation: Isolation::SameUser,
        })?;
        enveloped(EntryKind::PlanAnswered, PlanAnswered::PAYLOAD_TYPE, payload)
    }

    /// Returns a copy with the id `run` that starts under an approval. `answered` is the index and hash of the entry with
    /// the approval.
    #[must_use]
    pub fn approved(&self, run: RunId, answered: (u64, Digest)) -> Self {
        Self { run, approval: Some(self.approval(answered)), ..self.clone() }
    }

    fn approval(&self, (answered, leaf): (u64, Digest)) -> Approval {
        Approval {
            plan: self.run,
            entry: EntryRef { origin: ORIGIN.to_owned(), index: answered, leaf },
            key: KeyId::new(KeyRole::Approval, &PublicKey([3; 32])),
            by: actor(),
            isolation: Isolation::SameUser,
        }
    }

    fn judged(&self) -> JudgedPlan {
        JudgedPlan {
            id: self.run,
            tenant: TenantId::default(),
            workspace: self.workspace,
            root: "/home/ada/project".to_owned(),
            undoes: self.undoes,
            request: self.request.clone().map(|(request, _)| request),
            actor: actor(),
            door: self.door.to_owned(),
            label: "x".repeat(self.label_bytes),
            bound: Bound {
                plan: Digest::of(b"plan"),
                limits: Digest::of(b"limits"),
                change: self.change,
                policy: Digest::of(POLICY),
            },
            decision: self.decision(),
            lease: self.lease.as_ref().map(SampleLease::record),
            engine: "actum 0.1.0".to_owned(),
        }
    }

    fn decision(&self) -> DecisionRecord {
        let allow = |gate: &str| GateRecord {
            gate: gate.to_owned(),
            verdict: "allow".to_owned(),
            ground: RecordedGround(serde_json::json!({ "kind": "in_scope" })),
        };
        DecisionRecord {
            semantics: 1,
            bundle: Digest::of(&self.bundle),
            digest: Digest::of(b"decision"),
            tier: RiskTier::R2,
            gates: vec![allow("scope"), allow("budget")],
        }
    }
}

/// Returns a `LOG_STARTED` entry, which is the first entry of a log.
///
/// # Errors
/// Returns the errors of [`SampleRun::started`].
pub fn log_started() -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(&LogStarted {
        format: LogStarted::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        origin: ORIGIN.to_owned(),
        keys: Vec::new(),
    })?;
    Ok(NewEntry { kind: EntryKind::LogStarted, body, blobs: Vec::new() })
}

/// Returns a `KEY_ROTATED` entry.
///
/// # Errors
/// Returns the errors of [`SampleRun::started`].
pub fn key_rotated() -> Result<NewEntry, CanonicalError> {
    let id = |byte| KeyId::new(KeyRole::Result, &PublicKey([byte; 32]));
    let payload = canonical::to_vec(&KeyRotated {
        format: KeyRotated::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        role: KeyRole::Result,
        old: id(1),
        new: id(2),
        public: PublicKey([2; 32]),
    })?;
    enveloped(EntryKind::KeyRotated, KeyRotated::PAYLOAD_TYPE, payload)
}

fn enveloped(kind: EntryKind, payload: &str, bytes: Vec<u8>) -> Result<NewEntry, CanonicalError> {
    let signature = EnvelopeSignature { key_id: "0".repeat(16), signature: vec![7; 64] };
    let (payload_type, signatures) = (payload.to_owned(), vec![signature]);
    let body = Envelope { payload_type, payload: bytes, signatures }.to_vec()?;
    Ok(NewEntry { kind, body, blobs: Vec::new() })
}

fn actor() -> Actor {
    Actor { user: "ada".to_owned(), uid: 1000, agent: Some("agent".to_owned()) }
}
