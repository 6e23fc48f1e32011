//! Queue: a change that needs an approval waits, and is either applied once, exactly as approved, or not at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::grounds::{Grounds, SharedStore, create, disk, engine, patch, run};
use actum::{
    APPROVED_MICROS, Approver, Done, Error, Moved, PlanState, QUEUE_OF_ONE_MAX, QUEUED_MICROS,
    QueueError, QueuedPlan, Reply, Request, Which,
};
use actum_core::{Digest, PathRule, RiskTier, RunId, Scope, Status, canonical};
use actum_gate::{GateName, NoAccess, Policy, PolicyFile, replay, verify_receipt};
use actum_ledger::{Inputs, LedgerError, Log, NewEntry};
use actum_record::dsse::Envelope;
use actum_record::ledger::{Actor, Answer, EntryKind, Isolation, PlanAnswered, PlanQueued};
use actum_record::signer::{KeyRole, Signer};
use actum_testkit::SimDisk;
use actum_workspace::{Limits, State};

const CI: &str = ".github/workflows/ci.yml";

/// Returns a change to a file that continuous integration would run.
fn asks() -> Request {
    Request::apply(vec![create(CI), patch("a", "one", "ONE")]).labelled("build it")
}

fn queued(result: actum::Result<Done>) -> RunId {
    let error = result.unwrap_err();
    let Error::Queued { plan, .. } = error else { panic!("{error}") };
    plan
}

fn answer_in(
    grounds: &Grounds,
    store: &SharedStore,
    plan: RunId,
    answer: Answer,
) -> actum::Result<QueuedPlan> {
    let signer = grounds.keys().signer(KeyRole::Approval, grounds.now()).unwrap();
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let reason = Some("looked at".to_owned());
    let records = grounds.records_of(store);
    records.answer(&records.plan(plan)?, Reply { answer, reason }, &approver)?;
    records.plan(plan)
}

fn answer(grounds: &Grounds, plan: RunId, answer: Answer) -> actum::Result<QueuedPlan> {
    answer_in(grounds, &grounds.store, plan, answer)
}

/// Returns the request that the approver executes for a plan.
fn of_plan(grounds: &Grounds, plan: RunId) -> Request {
    let records = grounds.records();
    records.plan(plan).unwrap().request(records.inputs()).unwrap()
}

fn state(grounds: &Grounds, plan: RunId) -> PlanState {
    grounds.records().plan(plan).unwrap().state(grounds.now())
}

fn is_open(result: actum::Result<Done>) -> QueueError {
    let error = result.unwrap_err();
    if let Error::Queue(error) = error { error } else { panic!("{error}") }
}

/// AA-5
#[test]
fn request_that_needs_approval_is_queued_and_changes_nothing() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let before = disk.snapshot_without(".actum");
    let error = run(&disk, grounds.records(), asks()).unwrap_err();
    assert_eq!(error.workspace(), State::Unchanged);
    let Error::Queued { plan, tier, gates, waited, .. } = error else { panic!("{error}") };
    assert_eq!(
        (tier, waited, gates.len(), gates[0].gate),
        (RiskTier::R3, false, 1, GateName::Tier)
    );
    assert_eq!(disk.snapshot_without(".actum"), before);
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
    let kept = grounds.records().plan(plan).unwrap();
    assert_eq!(kept.state(grounds.now()), PlanState::Waiting);
    assert_eq!(kept.queued.plan.label, "build it");
    let paths: Vec<String> = kept
        .bundle(&grounds.store)
        .unwrap()
        .change()
        .iter()
        .map(|effect| effect.path.to_string())
        .collect();
    assert_eq!(paths, [".github", ".github/workflows", CI, "a"]);
    // Repeating the request adds nothing to the queue, even from another process.
    let again = run(&disk, grounds.records(), asks()).unwrap_err();
    assert!(matches!(again, Error::Queued { plan: same, waited: true, .. } if same == plan));
    assert_eq!(grounds.store.count(EntryKind::PlanQueued), 1);
}

/// AA-5, FE-14
#[test]
fn approved_plan_executes_once_and_its_receipt_names_the_approver() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let error = is_open(run(&disk, grounds.records(), of_plan(&grounds, plan)));
    assert!(matches!(error, QueueError::NotApproved { state: PlanState::Waiting, .. }), "{error}");
    answer(&grounds, plan, Answer::Approved).unwrap();
    let request = of_plan(&grounds, plan);
    let done = run(&disk, grounds.records(), request.clone()).unwrap();
    assert_eq!(disk.get("a").unwrap(), b"ONE\ntwo\n");
    let records = grounds.records();
    let verified = verify_receipt(&done.receipt.envelope, records.keyring()).unwrap();
    let result = &verified.statement.predicate;
    let approval = result.approval.clone().unwrap();
    assert_eq!((approval.plan, &*approval.by.user), (plan, "grace"));
    assert_eq!(approval.isolation, Isolation::SameUser);
    // The recorded actor is the requester.
    assert_eq!(result.actor.user, "unknown");
    let blob = |digest| grounds.store.blob(digest).unwrap().unwrap();
    let (bundle, policy) = (blob(&result.decision.bundle), blob(&result.policy));
    replay(&bundle, &policy, &result.decision, &NoAccess).unwrap();
    assert_eq!(state(&grounds, plan), PlanState::CarriedOut);
    let twice = is_open(run(&disk, grounds.records(), request));
    assert!(
        matches!(twice, QueueError::NotApproved { state: PlanState::CarriedOut, .. }),
        "{twice}"
    );
    for answered in Answer::ALL {
        let error = answer(&grounds, plan, answered).unwrap_err();
        assert!(matches!(error, Error::Queue(QueueError::State { .. })), "{error}");
    }
    assert_eq!(grounds.records().inputs().plans().unwrap(), []);
}

/// AA-5: the requester does not need to know the id of the plan.
#[test]
fn repeating_an_approved_request_executes_it_once_then_queues_again() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let first = queued(run(&disk, grounds.records(), asks()));
    answer(&grounds, first, Answer::Approved).unwrap();
    let done = run(&disk, grounds.records(), asks()).unwrap();
    assert_eq!(done.receipt.statement.predicate.approval.as_ref().unwrap().plan, first);
    let undo = queued(run(&disk, grounds.records(), Request::undo(Which::Newest)));
    answer(&grounds, undo, Answer::Approved).unwrap();
    run(&disk, grounds.records(), Request::undo(Which::Newest)).unwrap();
    let ann = Actor { user: "ann".to_owned(), uid: 1, agent: None };
    let of_another = queued(run(&disk, grounds.records(), asks().asked_by(ann)));
    assert_ne!(of_another, first, "what one may do another may not");
    let second = queued(run(&disk, grounds.records(), asks()));
    assert!(second != first && second != of_another);
    assert_eq!(grounds.records().plan(second).unwrap().queued.earlier, Some(of_another));
}

/// AA-5: changes each fact that an approval is bound to, one at a time.
#[test]
fn approval_is_invalid_after_a_bound_fact_changes_and_error_names_it() {
    let file = PolicyFile::read(b"version = 1\n[scope]\ndeny = [\"vendor\"]\n").unwrap();
    let policy = Policy::new(Some(file), None).0;
    let only = Scope { allow: None, deny: vec![PathRule::new("vendor").unwrap()] };
    let limits = Limits { scope: only, ..Limits::default() };
    type Change<'c> = &'c dyn Fn(&SimDisk, &mut Request);
    let other = Actor { user: "ann".to_owned(), uid: 1, agent: Some("other".to_owned()) };
    let cases: [(&str, bool, Change<'_>); 5] = [
        ("another actor made the request", false, &|_, request| request.actor = other.clone()),
        ("the file `a` was edited", false, &|disk, _| disk.put("a", b"one\nthree\n")),
        ("the policy in force changed", true, &|_, _| {}),
        ("the limits changed", false, &|_, request| request.limits = limits.clone()),
        ("the request changed", false, &|_, request| {
            request.work = asks().work;
            let actum::Work::Apply(operations) = &mut request.work else { panic!() };
            operations.push(create("more"));
        }),
    ];
    for (expected, under_policy, change) in cases {
        let grounds = Grounds::new();
        let disk = disk(&grounds);
        let plan = queued(run(&disk, grounds.records(), asks()));
        answer(&grounds, plan, Answer::Approved).unwrap();
        let mut request = of_plan(&grounds, plan);
        change(&disk, &mut request);
        let before = disk.snapshot_without(".actum");
        let mut engine = engine(&disk, grounds.records()).unwrap();
        if under_policy {
            engine = engine.under(policy.clone());
        }
        let error = is_open(engine.run(request));
        let QueueError::Stale { moved, .. } = &error else { panic!("{error}") };
        assert!(moved.iter().any(|it| it.to_string() == expected), "{expected}: {moved:?}");
        assert_eq!(disk.snapshot_without(".actum"), before);
        drop(engine);
        assert_eq!(state(&grounds, plan), PlanState::Approved, "it was not used up");
    }
}

/// AA-5
#[test]
fn added_or_removed_file_is_reported_as_a_change() {
    let effects = |disk: &SimDisk, grounds: &Grounds, request: Request| {
        let plan = queued(run(disk, grounds.records(), request));
        let plan = grounds.records().plan(plan).unwrap();
        plan.bundle(&grounds.store).unwrap().change().to_vec()
    };
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let was = effects(&disk, &grounds, asks());
    disk.put("a", b"one\nthree\n");
    let is = effects(&disk, &grounds, asks());
    let listed: Vec<String> = Moved::in_files(&was, &is).iter().map(ToString::to_string).collect();
    assert_eq!(listed, ["the file `a` was edited"]);
    let fewer = &is[..is.len() - 1];
    assert_eq!(Moved::in_files(&is, fewer).len(), 1);
    assert_eq!(Moved::in_files(fewer, &is).len(), 1);
    assert_eq!(Moved::in_files(&is, &is), []);
}

/// AA-5
#[test]
fn denied_revoked_or_expired_plan_is_never_executed() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let request = of_plan(&grounds, plan);
    answer(&grounds, plan, Answer::Denied).unwrap();
    let error = is_open(run(&disk, grounds.records(), request.clone()));
    assert!(matches!(error, QueueError::NotApproved { state: PlanState::Denied, .. }), "{error}");
    assert!(answer(&grounds, plan, Answer::Approved).is_err());
    // Requesting it again creates a new plan that refers to the previous one.
    let second = queued(run(&disk, grounds.records(), asks()));
    assert_eq!(grounds.records().plan(second).unwrap().queued.earlier, Some(plan));
    answer(&grounds, second, Answer::Approved).unwrap();
    answer(&grounds, second, Answer::Revoked).unwrap();
    let revoked = Request { plan: Some(second), ..asks() };
    let error = is_open(run(&disk, grounds.records(), revoked));
    assert!(matches!(error, QueueError::NotApproved { state: PlanState::Revoked, .. }), "{error}");
    // A plan that is not answered for a week expires, and does not block the next one.
    let third = queued(run(&disk, grounds.records(), asks()));
    grounds.wait(QUEUED_MICROS);
    assert_eq!(state(&grounds, third), PlanState::Expired);
    assert!(answer(&grounds, third, Answer::Approved).is_err());
    let fourth = queued(run(&disk, grounds.records(), asks()));
    assert_ne!(fourth, third);
    answer(&grounds, fourth, Answer::Approved).unwrap();
    let request = of_plan(&grounds, fourth);
    grounds.wait(APPROVED_MICROS);
    let error = is_open(run(&disk, grounds.records(), request));
    assert!(matches!(error, QueueError::NotApproved { state: PlanState::Expired, .. }), "{error}");
    let fifth = queued(run(&disk, grounds.records(), asks()));
    assert_ne!(fifth, fourth);
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
}

/// AA-5: the answer is signed by a key of another role.
#[test]
fn answer_not_signed_by_an_approval_key_is_rejected() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let signer = grounds.keys().signer(KeyRole::Result, grounds.now()).unwrap();
    assert_eq!(signer.role(), KeyRole::Result);
    let by = Actor { user: "mallory".to_owned(), uid: 1000, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let reply = Reply { answer: Answer::Approved, reason: None };
    let shown = grounds.records().plan(plan).unwrap();
    let error = grounds.records().answer(&shown, reply, &approver).unwrap_err();
    assert!(matches!(error, Error::Queue(QueueError::Unproven { .. })), "{error}");
    // The ledger contains none of it, and the queue still works.
    assert_eq!(grounds.store.count(EntryKind::PlanAnswered), 0);
    let error = run(&disk, grounds.records(), asks()).unwrap_err();
    assert!(matches!(error, Error::Queued { waited: true, .. }), "{error}");
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
    answer(&grounds, plan, Answer::Approved).unwrap();
    run(&disk, grounds.records(), asks()).unwrap();
}

/// AA-5: the signature covers the plan as shown, so a ledger with a different plan does not accept the answer.
#[test]
fn answer_is_valid_only_for_the_plan_that_was_shown() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let signer = grounds.keys().signer(KeyRole::Approval, grounds.now()).unwrap();
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let records = grounds.records();
    let shown = records.plan(plan).unwrap();
    let mut of_another_change = shown.clone();
    of_another_change.queued.plan.bound.change = Digest::of(b"another");
    let mut of_another_entry = shown.clone();
    of_another_entry.entry.leaf = Digest::of(b"another");
    for other in [of_another_change, of_another_entry] {
        let reply = Reply { answer: Answer::Approved, reason: None };
        let error = records.answer(&other, reply, &approver).unwrap_err();
        assert!(matches!(error, Error::Ledger { .. }), "{error}");
    }
    assert_eq!(grounds.store.count(EntryKind::PlanAnswered), 0);
    let reply = Reply { answer: Answer::Approved, reason: None };
    records.answer(&shown, reply, &approver).unwrap();
}

/// AA-5: an invalid answer in the ledger does not block other answers.
#[test]
fn unproven_answer_in_the_ledger_is_ignored_and_can_be_revoked() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let known = grounds.records().plan(plan).unwrap();
    let PlanQueued { expires, plan: judged, .. } = known.queued;
    let answered = PlanAnswered {
        format: PlanAnswered::FORMAT.to_owned(),
        time: grounds.now(),
        tenant: judged.tenant,
        workspace: judged.workspace,
        plan,
        queued: known.entry,
        answer: Answer::Approved,
        reason: None,
        bound: judged.bound,
        expires,
        by: judged.actor,
        isolation: Isolation::SameUser,
    };
    let signer = grounds.keys().signer(KeyRole::Result, grounds.now()).unwrap();
    let payload = canonical::to_vec(&answered).unwrap();
    let body = Envelope::sign(PlanAnswered::PAYLOAD_TYPE, payload, &signer).unwrap();
    let entry =
        NewEntry { kind: EntryKind::PlanAnswered, body: body.to_vec().unwrap(), blobs: Vec::new() };
    grounds.records().ledger().append(vec![entry]).wait().unwrap();
    assert_eq!(state(&grounds, plan), PlanState::Unproven);
    let request = Request { plan: Some(plan), ..asks() };
    let error = is_open(run(&disk, grounds.records(), request));
    assert!(matches!(error, QueueError::NotApproved { state: PlanState::Unproven, .. }), "{error}");
    let second = queued(run(&disk, grounds.records(), asks()));
    assert_ne!(second, plan, "it waits beside it");
    answer(&grounds, plan, Answer::Revoked).unwrap();
    assert_eq!(state(&grounds, plan), PlanState::Revoked);
    answer(&grounds, second, Answer::Approved).unwrap();
    run(&disk, grounds.records(), asks()).unwrap();
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 1);
}

/// AA-5: an actor cannot block others by making many requests.
#[test]
fn requester_can_fill_only_its_own_queue() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let asks = |number| Request::apply(vec![create(&format!(".circleci/{number}"))]);
    // A different agent name does not give the actor another quota.
    let called = |number: usize| Actor {
        user: "bob".to_owned(),
        uid: 2,
        agent: Some(format!("agent {}", number % 7)),
    };
    let of = |number| asks(number).asked_by(called(number));
    for number in 0..QUEUE_OF_ONE_MAX {
        queued(run(&disk, grounds.records(), of(number)));
    }
    let error = is_open(run(&disk, grounds.records(), of(QUEUE_OF_ONE_MAX)));
    assert!(matches!(error, QueueError::FullOfOne), "{error}");
    let ann = Actor { user: "ann".to_owned(), uid: 1, agent: None };
    queued(run(&disk, grounds.records(), asks(QUEUE_OF_ONE_MAX).asked_by(ann)));
}

/// AA-5, issue 22 (claims): two plans with the same request key are versions of one plan, whatever files they change.
#[test]
fn plan_with_the_same_request_key_is_a_new_version() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let about = |name: &str, key: &str| {
        let request = Request::apply(vec![create(&format!(".circleci/{name}"))]);
        queued(run(&disk, grounds.records(), request.keyed(key.parse().unwrap())))
    };
    let earlier = |plan| grounds.records().plan(plan).unwrap().queued.earlier;
    let first = about("one", "build-7");
    let other = about("two", "build-8");
    let next = about("three", "build-7");
    assert_eq!((earlier(other), earlier(next)), (None, Some(first)));
}

/// AA-5: a plan for different files is not a new version, whatever its label.
#[test]
fn plan_replaces_one_for_the_same_files_by_the_same_actor() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let about = |name: &str, other: &str| {
        Request::apply(vec![create(&format!(".circleci/{name}")), create(other)]).labelled("same")
    };
    let earlier = |plan| grounds.records().plan(plan).unwrap().queued.earlier;
    let first = queued(run(&disk, grounds.records(), about("one", "x")));
    let elsewhere = queued(run(&disk, grounds.records(), about("two", "y")));
    assert_eq!(earlier(elsewhere), None);
    let next = queued(run(&disk, grounds.records(), about("one", "z")));
    assert_eq!(earlier(next), Some(first));
    let ann = Actor { user: "ann".to_owned(), uid: 1, agent: None };
    let of_another = queued(run(&disk, grounds.records(), about("one", "w").asked_by(ann)));
    assert_eq!(earlier(of_another), None);
}

/// AA-5: the request files beside the ledger are compared with it.
#[test]
fn modified_or_missing_request_is_not_executed() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let plan = queued(run(&disk, grounds.records(), asks()));
    let records = grounds.records();
    let inputs = records.inputs();
    let kept = inputs.read(plan).unwrap().unwrap();
    let queued_plan = grounds.records().plan(plan).unwrap();
    let text = String::from_utf8(kept).unwrap().replace("ONE", "EVIL");
    inputs.keep(plan, text.as_bytes()).unwrap();
    for what in ["has changed since it was queued", "is missing"] {
        let error = queued_plan.request(inputs).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        inputs.forget(plan).unwrap();
    }
}

/// In-memory store for the requests of plans, which may be full.
#[derive(Default)]
struct MemoryInputs {
    kept: Mutex<BTreeMap<RunId, Vec<u8>>>,
    is_full: bool,
}

impl Inputs for MemoryInputs {
    fn keep(&self, plan: RunId, bytes: &[u8]) -> Result<(), LedgerError> {
        if self.is_full {
            return Err(LedgerError::Full { store: "inputs".into() });
        }
        self.kept.lock().unwrap().insert(plan, bytes.to_vec());
        Ok(())
    }

    fn read(&self, plan: RunId) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.kept.lock().unwrap().get(&plan).cloned())
    }

    fn forget(&self, plan: RunId) -> Result<(), LedgerError> {
        self.kept.lock().unwrap().remove(&plan);
        Ok(())
    }

    fn plans(&self) -> Result<Vec<RunId>, LedgerError> {
        Ok(self.kept.lock().unwrap().keys().copied().collect())
    }
}

/// AA-5: the process that executes a plan does not need to share files with its requester.
#[test]
fn plan_whose_request_is_stored_elsewhere_is_executed_once() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let inputs = Arc::new(MemoryInputs::default());
    let records = || grounds.records().with_inputs(inputs.clone());
    let plan = queued(run(&disk, records(), asks()));
    assert_eq!(grounds.records().inputs().plans().unwrap(), [], "no file of the home");
    assert_eq!(records().inputs().plans().unwrap(), [plan]);
    answer(&grounds, plan, Answer::Approved).unwrap();
    let request = records().plan(plan).unwrap().request(records().inputs()).unwrap();
    run(&disk, records(), request).unwrap();
    assert_eq!(state(&grounds, plan), PlanState::CarriedOut);
    assert_eq!(inputs.plans().unwrap(), [], "nothing can come of it any more");
}

/// AA-5: a plan is not queued if no process could execute it.
#[test]
fn plan_whose_request_cannot_be_stored_is_not_queued() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let before = disk.snapshot_without(".actum");
    let full = Arc::new(MemoryInputs { is_full: true, ..MemoryInputs::default() });
    let error = run(&disk, grounds.records().with_inputs(full), asks()).unwrap_err();
    assert!(matches!(error, Error::Ledger { source: LedgerError::Full { .. } }), "{error}");
    assert_eq!(error.workspace(), State::Unchanged);
    assert_eq!(grounds.store.count(EntryKind::PlanQueued), 0);
    assert_eq!(disk.snapshot_without(".actum"), before);
}

/// AEC-11, D-5: a denied request is recorded, and has no other effect.
#[test]
fn request_denied_by_gates_is_recorded_with_its_grounds() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let before = disk.snapshot_without(".actum");
    let request = Request::apply(vec![create(".env")]).labelled("add a secret");
    let error = run(&disk, grounds.records(), request).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert_eq!(disk.snapshot_without(".actum"), before);
    let last = grounds.store.size().unwrap() - 1;
    let entry = grounds.store.sound_entry(last).unwrap();
    assert_eq!(entry.kind, EntryKind::PlanRefused);
    let refused: actum_record::ledger::PlanRefused = serde_json::from_slice(&entry.body).unwrap();
    assert_eq!(refused.plan.label, "add a secret");
    let denied: Vec<&str> = refused
        .plan
        .decision
        .gates
        .iter()
        .filter(|gate| gate.verdict == "deny")
        .map(|gate| &*gate.gate)
        .collect();
    assert_eq!(denied, ["protected"]);
    let blob = |digest| grounds.store.blob(digest).unwrap().unwrap();
    let (bundle, policy) = (blob(&refused.plan.decision.bundle), blob(&refused.plan.bound.policy));
    replay(&bundle, &policy, &refused.plan.decision, &NoAccess).unwrap();
    assert_eq!(grounds.store.open_plans().unwrap(), []);
}

/// AA-5, FO-2: an approved plan that is interrupted at any call has at most one effect, and its approval is used only
/// once.
#[test]
fn interrupted_approved_plan_has_at_most_one_effect() {
    let grounds = Grounds::new();
    let base = disk(&grounds);
    let plan = queued(run(&base, grounds.records(), asks()));
    let request = of_plan(&grounds, plan);
    answer(&grounds, plan, Answer::Approved).unwrap();
    base.settle();
    let before = base.snapshot_without(".actum");
    let whole = base.clone_deep();
    run(&whole, grounds.records_of(&grounds.store.fork()), request.clone()).unwrap();
    let (after, calls) = (whole.snapshot_without(".actum"), whole.calls());
    let (mut done, mut used, mut open) = (0, 0, 0);
    for at in 0..=calls {
        let (disk, store) = (base.clone_deep(), grounds.store.fork());
        disk.kill_at(at);
        drop(run(&disk, grounds.records_of(&store), request.clone()));
        let left = disk.clone_deep();
        engine(&left, grounds.records_of(&store)).unwrap().resume().unwrap();
        let effects = |store: &SharedStore| {
            let is_done = |run: &&actum_ledger::RunRow| run.status == Some(Status::Succeeded);
            store.runs().iter().filter(is_done).count()
        };
        let found = left.snapshot_without(".actum");
        match effects(&store) {
            0 => assert_eq!(found, before),
            _ => assert_eq!(found, after),
        }
        let again = run(&left, grounds.records_of(&store), request.clone());
        match again {
            Ok(_) => open += 1,
            Err(Error::Queue(QueueError::NotApproved { .. })) if effects(&store) == 1 => done += 1,
            // The intent was recorded and the run was rolled back, so the approval is used up.
            Err(Error::Queue(QueueError::NotApproved { .. })) => used += 1,
            Err(other) => panic!("call {at}: {other}"),
        }
        assert!(effects(&store) <= 1);
    }
    assert!(done > 0 && used > 0 && open > 0, "{done} {used} {open}");
}
