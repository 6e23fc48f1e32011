//! Fixed keys, and receipts, logs and checkpoints made with them. Their bytes never change.

use actum_core::path_name::PathName;
use actum_core::{
    Budget, Digest, FileMode, FileState, RelPath, Scope, Status, Timestamp, canonical,
};
use actum_gate::{Approved, Bundle, Case, GateName, NoAccess, Policy, ReceiptBundle, decide};
use actum_record::checkpoint::Checkpoint;
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::ledger::{
    ActionState, Actor, Answer, Approval, CatalogChanged, Isolation, KeyRotated, PlanAnswered,
};
use actum_record::merkle::{self, Frontier, Node, leaf_hash};
use actum_record::note::{Note, NoteKey};
use actum_record::receipt::{
    DecisionRecord, EffectKind, EntryRef, GateRecord, PAYLOAD_TYPE, PathEffect, Publisher,
    RecordedGround, Rollback, RunResult, SettledBy, Statement, change_digest,
};
use actum_record::signer::{KeyId, KeyRole, PublicKey, SignError, Signature, Signer};
use ed25519_dalek::{Signer as _, SigningKey};

pub const ORIGIN: &str = "actum/0123456789ab/default";
pub const OTHER_ORIGIN: &str = "actum/ba9876543210/default";
/// Noon of the day on which all events of the tests happen.
const NOON: i64 = 1_795_262_400_000_000;

/// Returns the time this number of seconds after noon of that day.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(NOON + seconds * 1_000_000)
}

/// Key pair whose secret is public.
pub struct TestKey {
    role: KeyRole,
    secret: SigningKey,
}

impl TestKey {
    pub fn new(role: KeyRole, seed: u8) -> Self {
        Self { role, secret: SigningKey::from_bytes(&[seed; 32]) }
    }

    /// Returns the keyring entry of this key, which is valid for an hour from noon.
    pub fn entry(&self) -> KeyEntry {
        KeyEntry {
            id: self.key_id(),
            role: self.role,
            public: self.public_key(),
            not_before: at(0),
            not_after: Some(at(3600)),
            revoked: None,
            unproven: false,
        }
    }
}

impl Signer for TestKey {
    fn role(&self) -> KeyRole {
        self.role
    }

    fn public_key(&self) -> PublicKey {
        PublicKey(self.secret.verifying_key().to_bytes())
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, SignError> {
        Ok(Signature(self.secret.sign(message).to_bytes()))
    }
}

pub fn result_key() -> TestKey {
    TestKey::new(KeyRole::Result, 1)
}

pub fn checkpoint_key() -> TestKey {
    TestKey::new(KeyRole::Checkpoint, 2)
}

pub fn approval_key() -> TestKey {
    TestKey::new(KeyRole::Approval, 4)
}

pub fn keyring() -> Keyring {
    let keys = [result_key(), checkpoint_key(), approval_key()];
    Keyring::new(keys.iter().map(TestKey::entry).collect())
}

pub fn path(bytes: impl AsRef<[u8]>) -> PathName {
    PathName(RelPath::new(bytes).unwrap())
}

fn facts(content: &[u8]) -> FileState {
    let size = content.len() as u64;
    FileState { sha256: Digest::of(content), size, mode: FileMode::REGULAR }
}

fn effect(name: &str, kind: EffectKind, before: Option<&[u8]>, after: Option<&[u8]>) -> PathEffect {
    PathEffect {
        path: path(name),
        effect: kind,
        from: None,
        before: before.map(facts),
        after: after.map(facts),
        added: u64::from(after.is_some()),
        removed: u64::from(before.is_some()),
    }
}

/// Returns one change of each kind, except changes that affect only attributes.
pub fn change() -> Vec<PathEffect> {
    let renamed = effect("src/new/name.rs", EffectKind::Renamed, Some(b"old\n"), Some(b"new\n"));
    let strange = effect("strange", EffectKind::Created, None, Some(b"\0"));
    vec![
        effect("docs/gone.md", EffectKind::Deleted, Some(b"# Gone\n"), None),
        effect("src/lib.rs", EffectKind::Modified, Some(b"fn a() {}\n"), Some(b"fn b() {}\n")),
        effect("src/new", EffectKind::DirectoryCreated, None, None),
        PathEffect { from: Some(path("src/name.rs")), ..renamed },
        PathEffect { path: path(b"str\xffnge \"name\""), ..strange },
    ]
}

/// Returns the policy used by these tests.
pub fn policy() -> Policy {
    Policy::default()
}

pub fn policy_bytes() -> Vec<u8> {
    policy().to_vec().unwrap()
}

/// Creates a case without any special facts.
pub fn case(scope: Scope, budget: Budget, change: Vec<PathEffect>) -> Case {
    let (plan, limits) = (Digest::of(b"plan"), Digest::of(b"limits"));
    Case { plan, limits, time: at(30), scope, budget, ..Case::new(change) }
}

/// Creates a bundle under the policy of these tests.
pub fn bundle_of(scope: Scope, budget: Budget, change: Vec<PathEffect>) -> Bundle {
    Bundle::new(Digest::of(&policy_bytes()), case(scope, budget, change))
}

pub fn bundle() -> Bundle {
    let budget = Budget { max_files: Some(15), max_loc: Some(800) };
    bundle_of(Scope::everything(), budget, change())
}

pub fn decision() -> DecisionRecord {
    let bundle = bundle();
    decide(&bundle, &policy(), &NoAccess).record(&bundle.to_vec().unwrap()).unwrap()
}

/// Returns the result of a run from 30 s to 31 s, whose intent is entry 1 of the log.
pub fn run_result() -> RunResult {
    RunResult {
        tenant: "default".parse().unwrap(),
        workspace: "w0000000000k".parse().unwrap(),
        run: "r0000000000n".parse().unwrap(),
        undoes: None,
        status: Status::Succeeded,
        reason: None,
        plan: Digest::of(b"plan"),
        change: change_digest(&change()).unwrap(),
        paths: change(),
        policy: Digest::of(&policy_bytes()),
        decision: decision(),
        approval: None,
        lease: None,
        commands: Vec::new(),
        sandbox: None,
        verification: Vec::new(),
        rollback: Some(Rollback { undo: "r0000000000n".parse().unwrap() }),
        queries: Vec::new(),
        external: Vec::new(),
        published_by: Publisher::Actum,
        rollback_files: None,
        request: Some("T-17/step#2".parse().unwrap()),
        attempt: 1,
        actor: Actor { user: "you".to_owned(), uid: 1000, agent: Some("agent".to_owned()) },
        door: "change_set".to_owned(),
        label: "Rename the “name” — é".to_owned(),
        started: at(30),
        ended: at(31),
        settled: at(32),
        intent: EntryRef { origin: ORIGIN.to_owned(), index: 1, leaf: Digest::of(b"intent") },
        settled_by: SettledBy::Run,
        engine: "actum 0.1.0".to_owned(),
    }
}

/// Returns the result of a run that touched no file, for the shortest possible receipt.
pub fn short_result() -> RunResult {
    let change = change_digest(&Vec::<PathEffect>::new()).unwrap();
    let gate = |name: &str| GateRecord {
        gate: name.to_owned(),
        verdict: "allow".to_owned(),
        ground: RecordedGround(serde_json::json!({ "kind": "in_scope" })),
    };
    let decision = DecisionRecord { gates: vec![gate("scope")], ..decision() };
    RunResult { change, paths: Vec::new(), decision, request: None, ..run_result() }
}

pub fn statement() -> Statement {
    Statement::new(run_result())
}

/// Serialises a statement to the bytes that are signed.
pub fn payload(statement: &Statement) -> Vec<u8> {
    canonical::to_vec(statement).unwrap()
}

pub fn signed(payload_type: &str, payload: Vec<u8>, keys: &[&TestKey]) -> Envelope {
    let each = keys.iter().map(|key| Envelope::sign(payload_type, payload.clone(), *key).unwrap());
    let signatures = each.flat_map(|envelope| envelope.signatures).collect();
    Envelope { payload_type: payload_type.to_owned(), payload: payload.clone(), signatures }
}

/// Creates the receipt of a run.
pub fn receipt_of(result: RunResult, keys: &[&TestKey]) -> Envelope {
    signed(PAYLOAD_TYPE, payload(&Statement::new(result)), keys)
}

pub fn receipt() -> Envelope {
    receipt_of(run_result(), &[&result_key()])
}

fn person() -> Actor {
    Actor { user: "grace".to_owned(), uid: 1001, agent: None }
}

/// Creates an answer to a plan, given at 29 s.
pub fn answered(answer: Answer) -> PlanAnswered {
    let bound = bundle().bound().unwrap();
    let queued = EntryRef { origin: ORIGIN.to_owned(), index: 1, leaf: Digest::of(b"queued") };
    PlanAnswered {
        format: PlanAnswered::FORMAT.to_owned(),
        time: at(29),
        tenant: "default".parse().unwrap(),
        workspace: "w0000000000k".parse().unwrap(),
        plan: "r0000000000n".parse().unwrap(),
        queued,
        answer,
        reason: None,
        bound,
        expires: at(3600),
        by: person(),
        isolation: Isolation::Passphrase,
    }
}

/// Signs an answer.
pub fn answer_of(answered: &PlanAnswered, key: &TestKey) -> Envelope {
    signed(PlanAnswered::PAYLOAD_TYPE, canonical::to_vec(answered).unwrap(), &[key])
}

/// Creates a change of the catalog, made at 29 s.
pub fn changed() -> CatalogChanged {
    CatalogChanged {
        format: CatalogChanged::FORMAT.to_owned(),
        time: at(29),
        tenant: "default".parse().unwrap(),
        follows: EntryRef { origin: ORIGIN.to_owned(), index: 0, leaf: Digest::of(b"first") },
        action: "bump_version".parse().unwrap(),
        from: Some(ActionState::Draft),
        to: ActionState::Active,
        reason: Some("looked at".to_owned()),
        snapshot: Digest::of(b"snapshot"),
        by: person(),
        isolation: Isolation::Passphrase,
    }
}

/// Signs a change of the catalog.
pub fn change_of(changed: &CatalogChanged, key: &TestKey) -> Envelope {
    signed(CatalogChanged::PAYLOAD_TYPE, canonical::to_vec(changed).unwrap(), &[key])
}

/// Creates an approval for the case of a bundle.
pub fn approved(bundle: &Bundle) -> Approved {
    let entry = EntryRef { origin: ORIGIN.to_owned(), index: 2, leaf: Digest::of(b"answered") };
    Approved {
        approval: Approval {
            plan: "r0000000000n".parse().unwrap(),
            entry,
            key: approval_key().key_id(),
            by: person(),
            isolation: Isolation::Passphrase,
        },
        bound: bundle.bound().unwrap(),
        expires: at(3600),
    }
}

/// Log held in memory.
#[derive(Default)]
pub struct Log {
    frontier: Frontier,
    nodes: Vec<Digest>,
}

impl Log {
    /// Creates a log in which each entry is its own number.
    pub fn of_size(size: u64) -> Self {
        let mut log = Self::default();
        (0..size).for_each(|entry| log.push(entry.to_string().as_bytes()));
        log
    }

    pub fn push(&mut self, entry: &[u8]) {
        let nodes = &mut self.nodes;
        self.frontier.push(leaf_hash(entry), |hash| nodes.push(hash));
    }

    pub fn root(&self) -> Digest {
        self.frontier.root()
    }

    fn node(&self, node: Node) -> Result<Digest, std::convert::Infallible> {
        Ok(self.nodes[usize::try_from(node.position()).unwrap()])
    }

    pub fn root_of(&self, size: u64) -> Digest {
        Frontier::read(size, |node| self.node(node)).unwrap().root()
    }

    pub fn inclusion(&self, size: u64, index: u64) -> Vec<Digest> {
        merkle::inclusion_proof(size, index, |node| self.node(node)).unwrap().unwrap()
    }

    pub fn consistency(&self, size: u64, old: u64) -> Vec<Digest> {
        merkle::consistency_proof(size, old, |node| self.node(node)).unwrap().unwrap()
    }

    pub fn checkpoint(&self, origin: &str) -> Checkpoint {
        let (size, root) = (self.frontier.size(), self.root());
        Checkpoint { origin: origin.to_owned(), size, root }
    }
}

/// Creates a checkpoint with one signature line per key, under the name of the log.
pub fn note(checkpoint: &Checkpoint, keys: &[&TestKey]) -> String {
    let mut note = Note::new(checkpoint.text()).unwrap();
    for key in keys {
        let name = NoteKey { name: checkpoint.origin.clone(), key: key.public_key() };
        note = note.clone().signed(&name, &key.sign(note.text.as_bytes()).unwrap());
    }
    note.to_text()
}

/// Creates a bundle whose receipt is entry 3 of a log of 6 entries.
pub fn receipt_bundle_of(receipt: Envelope) -> ReceiptBundle {
    let mut log = Log::of_size(3);
    log.push(&receipt.to_vec().unwrap());
    (4..6u64).for_each(|entry| log.push(entry.to_string().as_bytes()));
    ReceiptBundle {
        receipt,
        index: 3,
        size: 6,
        hashes: log.inclusion(6, 3),
        checkpoint: note(&log.checkpoint(ORIGIN), &[&checkpoint_key()]),
    }
}

/// Rotates the result key at 40 s to a key derived from `seed`.
pub fn rotated(seed: u8) -> KeyRotated {
    let new = TestKey::new(KeyRole::Result, seed);
    KeyRotated {
        format: KeyRotated::FORMAT.to_owned(),
        time: at(40),
        role: KeyRole::Result,
        old: result_key().key_id(),
        new: new.key_id(),
        public: new.public_key(),
    }
}

pub fn rotation_of(rotation: &KeyRotated, key: &TestKey) -> Envelope {
    signed(KeyRotated::PAYLOAD_TYPE, canonical::to_vec(rotation).unwrap(), &[key])
}

/// Creates a keyring in which the entry of one key was modified.
pub fn keyring_with(key: &TestKey, change: impl Fn(&mut KeyEntry)) -> Keyring {
    let mut keys = keyring().keys().to_vec();
    let id: KeyId = key.key_id();
    if !keys.iter().any(|entry| entry.id == id) {
        keys.push(key.entry());
    }
    keys.iter_mut().filter(|entry| entry.id == id).for_each(change);
    Keyring::new(keys)
}

/// Returns the record of a gate in a decision.
pub fn gate(record: &mut DecisionRecord, name: GateName) -> &mut GateRecord {
    record.gates.iter_mut().find(|gate| gate.gate == name.as_str()).unwrap()
}
