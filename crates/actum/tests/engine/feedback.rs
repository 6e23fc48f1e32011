//! Feedback of actions: looking up past results, and approvals that actions consume.

use crate::grounds::{Fault, Grounds, create, disk, run};
use actum::{Approver, Error, Feedback, PlanState, QueuedPlan, Reply, Request, Wanted};
use actum_core::{Digest, RiskTier, RunId, Status};
use actum_ledger::LedgerError;
use actum_record::ledger::{
    ActionEnded, ActionStarted, Actor, Agreed, Answer, Approval, Bound, EntryKind, Isolation,
};
use actum_record::ledger::{Attempt, Confidence};
use actum_record::signer::KeyRole;

fn actor() -> Actor {
    Actor { user: "ada".to_owned(), uid: 1000, agent: Some("builder".to_owned()) }
}

fn ended(grounds: &Grounds, action: &str, status: Status) -> ActionEnded {
    let time = grounds.now();
    ActionEnded {
        format: ActionEnded::FORMAT.to_owned(),
        time,
        tenant: "default".parse().unwrap(),
        workspace: "w0000000000k".parse().unwrap(),
        root: "/w".to_owned(),
        id: RunId::from_random(time.micros().cast_unsigned()),
        action_id: None,
        action_type: action.parse().unwrap(),
        tier: RiskTier::R2,
        confidence: Confidence::new(0.5),
        reason: None,
        plan: Digest::of(b"plan"),
        actor: actor(),
        door: "action".to_owned(),
        status,
        ground: None,
        message: None,
        checks: Vec::new(),
        repair: Attempt::default(),
        rollback: Attempt::default(),
        run: None,
        queued: None,
        approved: None,
        duration_ms: 3,
        engine: "actum 0.1.0".to_owned(),
    }
}

/// AA-13
#[test]
fn feedback_is_listed_newest_first_by_action_and_status() {
    let grounds = Grounds::new();
    let records = grounds.records();
    let mut all = Vec::new();
    // Add more entries than a single look-up reads.
    for number in 0..600 {
        let action = ["file_modify", "run_command", "undo_run"][number % 3];
        let status = if number == 7 { Status::Failed } else { Status::ALL[number % 2] };
        let ended = ended(&grounds, action, status);
        let index = records.append_feedback(&ended).unwrap();
        all.push(Feedback { index, ended });
    }
    all.reverse();
    let found = |action: Option<&str>, status, count| {
        let action = action.map(|action| action.parse().unwrap());
        Feedback::newest(&grounds.store, &Wanted { action, status }, count).unwrap()
    };
    assert_eq!(found(None, None, 1000), all);
    assert_eq!(found(None, None, 3), all[..3]);
    assert_eq!(found(None, None, 0), []);
    let undone = all.iter().filter(|it| it.ended.action_type.as_str() == "undo_run").cloned();
    assert_eq!(found(Some("undo_run"), None, 1000), undone.collect::<Vec<_>>());
    let failed = found(None, Some(Status::Failed), 5);
    assert_eq!((failed.len(), failed[0].index), (1, 8));
    assert_eq!(found(Some("file_copy"), None, 5), []);
}

/// AA-13: the error states that writing the feedback failed, not that the action did.
#[test]
fn failed_feedback_write_is_reported() {
    let grounds = Grounds::new();
    grounds.store.fail_at(0, Fault::Full);
    let error = grounds.records().append_feedback(&ended(&grounds, "undo_run", Status::Failed));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("cannot record the outcome of the action: "), "{error}");
    assert!(!error.contains("nothing was changed"), "{error}");
    assert_eq!(grounds.store.count(EntryKind::ActionEnded), 0);
}

/// Returns a plan that the operator approved.
fn approved(grounds: &Grounds) -> QueuedPlan {
    let asks = Request::apply(vec![create(".github/workflows/ci.yml")]);
    let error = run(&disk(grounds), grounds.records(), asks).unwrap_err();
    let Error::Queued { plan, .. } = error else { panic!("{error}") };
    let signer = grounds.keys().signer(KeyRole::Approval, grounds.now()).unwrap();
    let by = Actor { user: "grace".to_owned(), uid: 1001, agent: None };
    let approver = Approver { by, signer: &signer, isolation: Isolation::SameUser };
    let reply = Reply { answer: Answer::Approved, reason: None };
    let records = grounds.records();
    records.answer(&records.plan(plan).unwrap(), reply, &approver).unwrap();
    records.plan(plan).unwrap()
}

/// AA-5: an approval can be used only once, even if the action fails.
#[test]
fn started_action_consumes_its_approval() {
    let grounds = Grounds::new();
    let plan = approved(&grounds);
    let answered = plan.answer.as_ref().unwrap();
    let judged = plan.queued.plan.clone();
    let approval = Approval {
        plan: plan.id(),
        entry: answered.entry.clone(),
        key: answered.verified.key.clone(),
        by: answered.verified.answered.by.clone(),
        isolation: Isolation::SameUser,
    };
    let agreed = Agreed { bound: judged.bound, approval };
    let started = ActionStarted {
        format: ActionStarted::FORMAT.to_owned(),
        time: grounds.now(),
        tenant: judged.tenant,
        workspace: judged.workspace,
        root: judged.root,
        id: RunId::from_random(9),
        action_id: None,
        action_type: "run_command".parse().unwrap(),
        tier: RiskTier::R3,
        confidence: None,
        reason: None,
        plan: Digest::of(b"plan"),
        actor: actor(),
        door: "action".to_owned(),
        agreed: Some(agreed.clone()),
        engine: "actum 0.1.0".to_owned(),
    };
    let bound = Bound { change: Digest::of(b"another"), ..agreed.bound };
    let other = ActionStarted { agreed: Some(Agreed { bound, ..agreed }), ..started.clone() };
    let records = grounds.records();
    let is_refused =
        |error: &Error| matches!(error, Error::Ledger { source: LedgerError::Refused { .. } });
    assert!(is_refused(&records.append_action_started(&other).unwrap_err()));
    let entry = records.append_action_started(&started).unwrap();
    let plan = records.plan(plan.id()).unwrap();
    assert_eq!(plan.state(grounds.now()), PlanState::CarriedOut);
    assert_eq!(plan.row.started, Some(entry.index));
    assert!(is_refused(&records.append_action_started(&started).unwrap_err()));
    assert_eq!(grounds.store.count(EntryKind::ActionStarted), 1);
    // Feedback does not change the state of the plan.
    records.append_feedback(&ended(&grounds, "run_command", Status::Reverted)).unwrap();
    assert_eq!(records.plan(plan.id()).unwrap().state(grounds.now()), PlanState::CarriedOut);
}
