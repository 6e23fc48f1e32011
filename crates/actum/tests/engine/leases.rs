//! Leases: runs under a lease, their records, and their limits during races and approvals.

use actum::{
    Approver, Cleared, Done, Engine, Error, GrantedLease, Grantor, LeaseState, NewLease, Observer,
    Reply, Request, RequestLease, Staged, Verified, Which,
};
use actum_core::{Digest, RunId, Timestamp};
use actum_gate::{GateName, NoAccess, replay};
use actum_lease::{Token, read_chain};
use actum_ledger::{LedgerError, Log, Refusal};
use actum_record::lease::{Capability, LeaseTerms};
use actum_record::ledger::{Actor, Answer, EffectStarted, EntryKind, Isolation};
use actum_record::signer::KeyRole;
use actum_testkit::SimDisk;
use actum_workspace::State;

use crate::grounds::{Grounds, create, disk, engine, patch};

const CI: &str = ".github/workflows/ci.yml";

fn operator() -> Actor {
    Actor { user: "grace".to_owned(), uid: 1001, agent: None }
}

fn agent(name: &str) -> Actor {
    Actor { user: "ada".to_owned(), uid: 1000, agent: Some(name.to_owned()) }
}

/// Returns the time that is this many seconds after the start of the test.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000)
}

fn terms() -> LeaseTerms {
    LeaseTerms {
        agent: Some("planner".parse().unwrap()),
        base_directories: Some(["/".parse().unwrap()].into()),
        capabilities: Some([Capability::Apply].into()),
        expires: Some(at(3600)),
        tenant: Some("default".parse().unwrap()),
        ..LeaseTerms::default()
    }
}

fn with_grantor<T>(grounds: &Grounds, act: impl FnOnce(&Grantor<'_>) -> T) -> T {
    let signer = grounds.keys().signer(KeyRole::Lease, grounds.now()).unwrap();
    act(&Grantor { by: operator(), signer: &signer, isolation: Isolation::SameUser })
}

fn granted(grounds: &Grounds, terms: &LeaseTerms) -> NewLease {
    with_grantor(grounds, |grantor| grounds.records().grant_lease(terms, grantor)).unwrap()
}

fn revoke(grounds: &Grounds, lease: &NewLease) -> actum::Result<()> {
    let reason = Some("lost".to_owned());
    with_grantor(grounds, |it| grounds.records().revoke_lease(lease.lease, reason, it))
}

fn presented(grounds: &Grounds, token: &Token) -> RequestLease {
    RequestLease::present_in(token, &grounds.records()).unwrap()
}

fn under(grounds: &Grounds, token: &Token, request: Request) -> Request {
    let lease = Some(presented(grounds, token));
    Request { lease, ..request.asked_by(agent("planner/copier")) }
}

fn run(grounds: &Grounds, disk: &SimDisk, request: Request) -> actum::Result<Done> {
    engine(disk, grounds.records())?.run(request)
}

fn refused(result: actum::Result<Done>) -> Refusal {
    let error = result.unwrap_err();
    assert_eq!(error.workspace(), State::Unchanged);
    let Error::Ledger { source: LedgerError::Refused { refusal } } = error else {
        panic!("{error}")
    };
    refusal
}

fn denied_by(result: actum::Result<Done>) -> String {
    let error = result.unwrap_err();
    let Error::Denied { gates } = error else { panic!("{error}") };
    assert_eq!(gates.iter().map(|gate| gate.gate).collect::<Vec<_>>(), [GateName::Lease]);
    gates[0].ground.to_string()
}

/// FE-17, D-7: the intent and the receipt contain the chain of agents, and the signed blocks are stored as a document.
/// Nothing that is recorded can be used as a lease.
#[test]
fn a_run_under_a_lease_records_its_blocks_and_no_token() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let narrowed = LeaseTerms {
        agent: Some("planner/copier".parse().unwrap()),
        uses: Some(2),
        ..LeaseTerms::default()
    };
    let token = lease.token.attenuate(&narrowed).unwrap();
    let request = under(&grounds, &token, Request::apply(vec![patch("a", "one", "ONE")]));
    let done = run(&grounds, &disk, request).unwrap();

    let recorded = done.receipt.statement.predicate.lease.clone().unwrap();
    let agents: Vec<_> =
        recorded.blocks.iter().map(|it| it.agent.as_ref().unwrap().as_str()).collect();
    assert_eq!(agents, ["planner", "planner/copier"]);
    assert_eq!(recorded.blocks[0].id, lease.lease);
    let document = grounds.store.blob(&recorded.document).unwrap().unwrap();
    let chain = read_chain(&document).unwrap();
    assert_eq!(chain.blocks.iter().map(|it| &it.terms).collect::<Vec<_>>(), [&terms(), &narrowed]);

    let used: Vec<_> = recorded
        .blocks
        .iter()
        .map(|block| grounds.store.lease(block.id).unwrap().unwrap().used)
        .collect();
    assert_eq!(used, [1, 1]);
    let text = token.to_text();
    let (_, end_of_token) = text.split_at(text.len() - 40);
    for entry in grounds.store.entries(0, u64::MAX).unwrap() {
        let facts = actum_record::ledger::EntryFacts::parse(entry.kind, &entry.body).unwrap();
        let blobs = facts.blobs.iter().map(|digest| grounds.store.blob(digest).unwrap().unwrap());
        for bytes in std::iter::once(entry.body.clone()).chain(blobs) {
            assert!(Token::read(&bytes).is_err());
            let written = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!written.contains(end_of_token), "{}", entry.kind.as_str());
        }
    }
}

/// AEC-11: the decision is replayed from the facts in the bundle, without the lease.
#[test]
fn a_decision_under_a_lease_is_replayed_without_the_lease() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let request = under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    run(&grounds, &disk, request).unwrap();
    let entries = grounds.store.entries(0, u64::MAX).unwrap();
    let intent = entries.iter().find(|it| it.kind == EntryKind::EffectStarted).unwrap();
    let intent: EffectStarted = serde_json::from_slice(&intent.body).unwrap();
    let blob = |digest: Digest| grounds.store.blob(&digest).unwrap().unwrap();
    let (bundle, policy) = (blob(intent.decision.bundle), blob(intent.policy));
    replay(&bundle, &policy, &intent.decision, &NoAccess).unwrap();
    // A bundle with a different answer from the ledger is a different bundle.
    let other = String::from_utf8(bundle).unwrap().replace("\"granted\":true", "\"granted\":false");
    assert!(replay(other.as_bytes(), &policy, &intent.decision, &NoAccess).is_err());
}

/// D-7: undo and redo are limited by their lease.
#[test]
fn undo_under_a_lease_is_limited_by_the_lease() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &LeaseTerms { uses: Some(2), ..terms() });
    let apply = under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    run(&grounds, &disk, apply).unwrap();
    let undo = || under(&grounds, &lease.token, Request::undo(Which::Newest));
    run(&grounds, &disk, undo()).unwrap();
    let redo = under(&grounds, &lease.token, Request::redo(Which::Newest));
    let denial = denied_by(run(&grounds, &disk, redo));
    assert!(denial.ends_with("allows 2 runs, which have all been started"), "{denial}");
    // The user can still undo the run without a lease.
    let own = Request::redo(Which::Newest).asked_by(agent("planner/copier"));
    run(&grounds, &disk, own).unwrap();
}

/// Observer that calls a function once, when a change is ready to be published.
struct WhenReady<F>(Option<F>);

impl<F: FnOnce()> Observer<SimDisk> for WhenReady<F> {
    type Stop = Error;

    fn staged(&mut self, _: &mut Staged<'_, SimDisk>) -> actum::Result<()> {
        Ok(())
    }

    fn cleared(&mut self, _: &mut Cleared<'_, SimDisk>) -> actum::Result<()> {
        Ok(())
    }

    fn verified(&mut self, _: &mut Verified<'_, SimDisk>) -> actum::Result<()> {
        self.0.take().into_iter().for_each(|act| act());
        Ok(())
    }
}

fn run_meanwhile(
    grounds: &Grounds,
    disk: &SimDisk,
    request: Request,
    act: impl FnOnce(),
) -> actum::Result<Done> {
    let mut engine: Engine<SimDisk> = engine(disk, grounds.records()).unwrap();
    engine.run_with(request, &mut WhenReady(Some(act)))
}

/// FE-17: the gates allow both runs, but the ledger accepts only one.
#[test]
fn two_workspaces_cannot_both_consume_the_last_lease_use() {
    let grounds = Grounds::new();
    let (first, second) = (disk(&grounds), disk(&grounds));
    let lease = granted(&grounds, &LeaseTerms { uses: Some(1), ..terms() });
    let request = || under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    let before = first.snapshot_without(".actum");
    let lost = run_meanwhile(&grounds, &first, request(), || {
        run(&grounds, &second, request()).unwrap();
    });
    assert!(matches!(refused(lost), Refusal::LeaseUsedUp { used: 1, uses: 1, .. }));
    assert_eq!(first.snapshot_without(".actum"), before);
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 1);
    assert!(
        denied_by(run(&grounds, &first, request()))
            .ends_with("allows one run, which has already been started")
    );
}

/// FE-17
#[test]
fn a_lease_that_is_revoked_before_the_intent_starts_nothing() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let request = || under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    let before = disk.snapshot_without(".actum");
    let lost = run_meanwhile(&grounds, &disk, request(), || revoke(&grounds, &lease).unwrap());
    assert!(matches!(refused(lost), Refusal::LeaseRevoked { .. }));
    assert_eq!(disk.snapshot_without(".actum"), before);
    assert!(denied_by(run(&grounds, &disk, request())).ends_with("was revoked"));
    let again = revoke(&grounds, &lease).unwrap_err();
    assert!(matches!(
        again,
        Error::Ledger {
            source: LedgerError::Refused { refusal: Refusal::LeaseRevokedBefore { .. } }
        }
    ));
}

/// FE-17: the checks of a change can take longer than its lease is valid.
#[test]
fn a_lease_that_expires_during_the_checks_is_a_recorded_denial() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let request = under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    let before = disk.snapshot_without(".actum");
    let lost = run_meanwhile(&grounds, &disk, request, || grounds.wait(3_600_000_000));
    assert!(denied_by(lost).contains("expired"));
    assert_eq!(disk.snapshot_without(".actum"), before);
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
    assert_eq!(grounds.store.count(EntryKind::PlanRefused), 1);
}

/// FE-17: the signature of a lease key is not sufficient, because the ledger must also contain the lease.
#[test]
fn unrecorded_lease_allows_nothing() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let signer = grounds.keys().signer(KeyRole::Lease, grounds.now()).unwrap();
    let token = signer.with_secret(|secret| actum_lease::grant(secret, &terms())).unwrap().unwrap();
    let request = under(&grounds, &token, Request::apply(vec![create("n")]));
    let denial = denied_by(run(&grounds, &disk, request));
    assert!(denial.ends_with("has no record of its grant in this ledger"), "{denial}");
}

/// FE-17: only a lease key can grant a lease.
#[test]
fn key_of_another_role_cannot_grant_a_lease() {
    let grounds = Grounds::new();
    let signer = grounds.keys().signer(KeyRole::Result, grounds.now()).unwrap();
    let grantor = Grantor { by: operator(), signer: &signer, isolation: Isolation::SameUser };
    let error = grounds.records().grant_lease(&terms(), &grantor).unwrap_err();
    assert_eq!(error.to_string(), "a lease key is needed to grant or revoke a lease");
    assert_eq!(grounds.store.count(EntryKind::LeaseGranted), 0);
}

fn queued(result: actum::Result<Done>) -> RunId {
    let error = result.unwrap_err();
    let Error::Queued { plan, .. } = error else { panic!("{error}") };
    plan
}

/// Approves a plan as the operator, who has no lease.
fn approve(grounds: &Grounds, plan: RunId) -> Request {
    let signer = grounds.keys().signer(KeyRole::Approval, grounds.now()).unwrap();
    let approver = Approver { by: operator(), signer: &signer, isolation: Isolation::SameUser };
    let records = grounds.records();
    let queued = records.plan(plan).unwrap();
    records.answer(&queued, Reply { answer: Answer::Approved, reason: None }, &approver).unwrap();
    records.plan(plan).unwrap().request(records.inputs()).unwrap()
}

/// D-7, AA-5: an approval does not replace the lease, but executing the plan needs no token.
#[test]
fn plan_queued_under_a_lease_is_executed_under_it() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let plan = queued(run(
        &grounds,
        &disk,
        under(&grounds, &lease.token, Request::apply(vec![create(CI)])),
    ));
    let done = run(&grounds, &disk, approve(&grounds, plan)).unwrap();
    let recorded = done.receipt.statement.predicate.lease.unwrap();
    assert_eq!(recorded.blocks[0].id, lease.lease);
    assert_eq!(grounds.store.lease(lease.lease).unwrap().unwrap().used, 1);
}

/// D-7, AA-5
#[test]
fn an_approval_does_not_outlive_the_lease_of_its_plan() {
    for revoked in [true, false] {
        let grounds = Grounds::new();
        let disk = disk(&grounds);
        let lease = granted(&grounds, &terms());
        let ask = under(&grounds, &lease.token, Request::apply(vec![create(CI)]));
        let plan = queued(run(&grounds, &disk, ask));
        let request = approve(&grounds, plan);
        match revoked {
            true => revoke(&grounds, &lease).unwrap(),
            false => grounds.wait(2 * 3_600_000_000),
        }
        let before = disk.snapshot_without(".actum");
        let error = run(&grounds, &disk, request).unwrap_err();
        assert_eq!(error.workspace(), State::Unchanged, "{error}");
        assert_eq!(disk.snapshot_without(".actum"), before, "{error}");
        assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
    }
}

/// FE-17
#[test]
fn granted_leases_are_listed_with_their_state() {
    let grounds = Grounds::new();
    let [revoked, waiting, used, plain] = [
        terms(),
        LeaseTerms { not_before: Some(at(1800)), ..terms() },
        LeaseTerms { uses: Some(1), ..terms() },
        terms(),
    ]
    .map(|terms| granted(&grounds, &terms));
    revoke(&grounds, &revoked).unwrap();
    let disk = disk(&grounds);
    run(&grounds, &disk, under(&grounds, &used.token, Request::apply(vec![create("n")]))).unwrap();
    let records = grounds.records();
    let listed = records
        .ledger()
        .read(|log| GrantedLease::newest(log, records.keyring(), None, 10))
        .unwrap();
    let found: Vec<_> = listed.iter().map(|it| (it.row.lease, it.state(grounds.now()))).collect();
    assert_eq!(
        found,
        [
            (plain.lease, LeaseState::InForce),
            (used.lease, LeaseState::UsedUp),
            (waiting.lease, LeaseState::Waiting),
            (revoked.lease, LeaseState::Revoked),
        ]
    );
    assert!(listed.iter().all(|it| it.state(at(3600)) != LeaseState::InForce));
    assert_eq!(listed[0].granted.by, operator());
}

/// D-7: the lease in the stored request is read back, and its signatures are verified again.
#[test]
fn modified_queued_lease_is_rejected() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let lease = granted(&grounds, &terms());
    let request = under(&grounds, &lease.token, Request::apply(vec![create("n")]));
    let bytes = request.to_document().unwrap();
    let read = Request::read_document(&bytes).unwrap();
    assert_eq!(read.to_document().unwrap(), bytes);
    run(&grounds, &disk, read).unwrap();

    let other = under(&grounds, &lease.token, Request::apply(vec![create("m")]));
    let text = String::from_utf8(other.to_document().unwrap()).unwrap();
    let (before, signature) = text.split_once("signature\\\":\\\"").unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    let rest: String = signature.chars().skip(1).collect();
    let changed = [before, "signature\\\":\\\"", other, &rest].concat();
    let read = Request::read_document(changed.as_bytes()).unwrap();
    let error = run(&grounds, &disk, read).unwrap_err();
    assert!(matches!(error, Error::Lease(_)), "{error}");
}
