//! Guarantees for callers: receipts can be verified, requests are executed once, and records name their requester.

use crate::grounds::{Grounds, create, disk, engine, mixture, patch, run};
use actum::{Cleared, Clock, Engine, Error, Observer, Records, Request, Staged, Verified, Which};
use actum_core::{Budget, PathRule, Scope, Status};
use actum_gate::{NoAccess, Policy, replay, verify_receipt};
use actum_ledger::Log;
use actum_record::ledger::{Actor, EntryKind, TenantId};
use actum_record::receipt::{EffectKind, SettledBy, change_digest};
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, Limits, State};

fn ann() -> Actor {
    Actor { user: "ann".to_owned(), uid: 1000, agent: Some("robot".to_owned()) }
}

/// FE-14
#[test]
fn receipt_is_signed_and_records_actor_change_and_reason() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let records = grounds.records();
    let request = Request::apply(mixture()).labelled("tidy up").asked_by(ann());
    let done = run(&disk, records.clone(), request).unwrap();
    let verified = verify_receipt(&done.receipt.envelope, records.keyring()).unwrap();
    assert_eq!(verified.statement, done.receipt.statement);
    let result = &verified.statement.predicate;
    assert_eq!((result.status, result.settled_by), (Status::Succeeded, SettledBy::Run));
    assert_eq!((&result.actor, result.label.as_str()), (&ann(), "tidy up"));
    let effects: Vec<_> =
        result.paths.iter().map(|path| (path.path.to_string(), path.effect)).collect();
    assert_eq!(
        effects,
        [
            ("a".to_owned(), EffectKind::Modified),
            ("c".to_owned(), EffectKind::Renamed),
            ("n".to_owned(), EffectKind::DirectoryCreated),
            ("n/new".to_owned(), EffectKind::Created),
        ]
    );
    assert_eq!(result.change, change_digest(&result.paths).unwrap());
    assert_eq!(result.rollback.as_ref().unwrap().undo, done.run());
    // The subjects of the receipt are the current files.
    for subject in &verified.statement.subject[1..] {
        let bytes = disk.get(&subject.name).unwrap();
        assert_eq!(subject.digest.sha256, actum_core::Digest::of(&bytes), "{}", subject.name);
    }
}

/// AEC-11
#[test]
fn decision_is_replayed_from_its_bundle() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let done = run(&disk, grounds.records(), Request::apply(mixture())).unwrap();
    let decision = &done.receipt.statement.predicate.decision;
    let bundle = grounds.store.blob(&decision.bundle).unwrap().unwrap();
    let policy = grounds.store.blob(&done.receipt.statement.predicate.policy).unwrap().unwrap();
    assert_eq!(Policy::read(&policy).unwrap(), Policy::default());
    replay(&bundle, &policy, decision, &NoAccess).unwrap();
}

/// AEC-7
#[test]
fn repeated_request_returns_its_result_without_executing_again() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = || Request::apply(mixture()).keyed("T-1".parse().unwrap());
    let first = run(&disk, grounds.records(), request()).unwrap();
    let again = run(&disk, grounds.records(), request().labelled("another label")).unwrap();
    assert_eq!(again.receipt, first.receipt);
    assert!(first.committed.is_some() && again.committed.is_none());
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 1);
}

/// AEC-7
#[test]
fn request_key_bound_to_another_request_is_rejected() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let keyed = |operations| Request::apply(operations).keyed("T-1".parse().unwrap());
    let first = run(&disk, grounds.records(), keyed(mixture())).unwrap();
    let other = run(&disk, grounds.records(), keyed(vec![create("x")])).unwrap_err();
    let Error::RequestKeyTaken { run: by, .. } = other else { panic!("{other}") };
    assert_eq!(by, first.run());
    assert_eq!(disk.get("x"), None);
}

/// AEC-7: a request that was rejected or undone does not reserve its key.
#[test]
fn request_without_effect_can_be_retried_as_the_next_attempt() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let request = || Request::apply(mixture()).keyed("T-1".parse().unwrap());
    // Finds, by trial, the last call whose failure reverts the run.
    let calls = {
        let whole = disk.clone_deep();
        run(&whole, grounds.records_of(&grounds.store.fork()), request()).unwrap();
        whole.calls()
    };
    let first = (0..calls).rev().find_map(|at| {
        let (copy, store) = (disk.clone_deep(), grounds.store.fork());
        copy.fail_at(at, actum_testkit::Errno::NOSPC);
        drop(run(&copy, grounds.records_of(&store), request()));
        copy.clear_faults();
        let reverted = store.runs().first().and_then(|run| run.status) == Some(Status::Reverted);
        reverted.then_some((copy, store))
    });
    let (copy, store) = first.unwrap();
    let done = run(&copy, grounds.records_of(&store), request()).unwrap();
    assert_eq!(done.receipt.statement.predicate.attempt, 2);
    let statuses: Vec<_> = store.runs().iter().map(|run| (run.attempt, run.status)).collect();
    assert_eq!(statuses, [(1, Some(Status::Reverted)), (2, Some(Status::Succeeded))]);
}

/// FO-5, FO-9
#[test]
fn undo_and_redo_have_separate_receipts() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let before = disk.snapshot_without(".actum");
    let first = run(&disk, grounds.records(), Request::apply(mixture())).unwrap();
    let after = disk.snapshot_without(".actum");
    let undo = run(&disk, grounds.records(), Request::undo(Which::Newest)).unwrap();
    assert_eq!(undo.receipt.statement.predicate.undoes, Some(first.run()));
    assert_eq!(disk.snapshot_without(".actum"), before);
    let redo = run(&disk, grounds.records(), Request::redo(Which::Run(first.run()))).unwrap();
    assert_eq!(redo.receipt.statement.predicate.undoes, Some(undo.run()));
    assert_eq!(disk.snapshot_without(".actum"), after);
    assert_eq!(grounds.store.count(EntryKind::EffectDone), 3);
}

/// FO-3, FO-4: the workspace reports the reason, and the ledger does not record the start of a run.
#[test]
fn change_beyond_its_limits_is_rejected_before_it_is_recorded() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let deny = vec![PathRule::new("a").unwrap()];
    let scope = Limits { scope: Scope { allow: None, deny }, ..Limits::default() };
    let budget = Budget { max_files: Some(1), max_loc: None };
    let budget = Limits { budget, ..Limits::default() };
    for limits in [scope, budget] {
        let error = run(&disk, grounds.records(), Request::apply(mixture()).within(limits));
        let Error::Workspace(error) = error.unwrap_err() else { panic!() };
        assert!(matches!(error.kind, ErrorKind::Scope { .. } | ErrorKind::Budget { .. }));
        assert_eq!(error.state, State::Unchanged);
    }
    assert_eq!(grounds.store.count(EntryKind::EffectStarted), 0);
}

#[derive(Debug, PartialEq)]
enum Step {
    Staged,
    Cleared,
    Verified,
}

/// Observer that acts at one step of a run.
struct Acting<A> {
    at: Step,
    act: A,
    /// Number of paths that the run would change.
    changes: usize,
}

impl<A: FnMut() -> Result<(), Stop>> Acting<A> {
    fn reach(&mut self, step: Step) -> Result<(), Stop> {
        if self.at == step { (self.act)() } else { Ok(()) }
    }
}

enum Stop {
    Wanted,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl<D: Disk, A: FnMut() -> Result<(), Stop>> Observer<D> for Acting<A> {
    type Stop = Stop;

    fn staged(&mut self, staged: &mut Staged<'_, D>) -> Result<(), Stop> {
        self.changes = staged.transaction().changes().len();
        self.reach(Step::Staged)
    }

    fn cleared(&mut self, _: &mut Cleared<'_, D>) -> Result<(), Stop> {
        self.reach(Step::Cleared)
    }

    fn verified(&mut self, _: &mut Verified<'_, D>) -> Result<(), Stop> {
        self.reach(Step::Verified)
    }
}

/// FO-2
#[test]
fn dropped_staged_changes_leave_no_trace() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let before = disk.snapshot_without(".actum");
    let mut engine = engine(&disk, grounds.records()).unwrap();
    for step in [Step::Staged, Step::Cleared, Step::Verified] {
        let mut stopping = Acting { at: step, act: || Err(Stop::Wanted), changes: 0 };
        let stopped = engine.run_with(Request::apply(mixture()), &mut stopping);
        assert!(matches!(stopped, Err(Stop::Wanted)));
        assert_eq!(stopping.changes, 4);
        assert_eq!(disk.snapshot_without(".actum"), before);
        assert_eq!(grounds.store.size().unwrap(), 1);
    }
}

/// FO-6, AEC-8: the receipt of a run that encountered a change by another process states that the run was rolled back.
#[test]
fn run_that_meets_a_foreign_change_is_recorded_as_rolled_back() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let mut engine = engine(&disk, grounds.records()).unwrap();
    let request = Request::apply(vec![patch("a", "one", "ONE"), create("x")]);
    let replace = || {
        disk.replace("a", b"theirs\n");
        Ok(())
    };
    let mut replacing = Acting { at: Step::Verified, act: replace, changes: 0 };
    let Err(Stop::Error(error)) = engine.run_with(request, &mut replacing) else { panic!() };
    assert!(
        matches!(&error, Error::Workspace(error) if error.state != State::Published),
        "{error}"
    );
    let runs = grounds.store.runs();
    assert!(matches!(runs[0].status, Some(Status::Reverted | Status::Rejected)), "{runs:?}");
    assert_eq!(disk.get("a").unwrap(), b"theirs\n");
    assert_eq!(disk.get("x"), None);
}

/// AEC-7: a repeated undo or redo returns the earlier result, even if it could not be executed again.
#[test]
fn repeated_undo_with_the_same_key_returns_its_result() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let done = run(&disk, grounds.records(), Request::apply(mixture())).unwrap();
    type Ask = fn(actum_core::RunId) -> Request;
    let asks: [(&str, Ask); 3] = [
        ("undo-1", |run| Request::undo(Which::Run(run))),
        ("redo-1", |run| Request::redo(Which::Run(run))),
        ("undo-2", |_| Request::undo(Which::Newest)),
    ];
    for (key, ask) in asks {
        let keyed = || ask(done.run()).keyed(key.parse().unwrap());
        let first = run(&disk, grounds.records(), keyed()).unwrap();
        let tree = disk.snapshot_without(".actum");
        let again = run(&disk, grounds.records(), keyed()).unwrap();
        assert_eq!((again.receipt, again.committed), (first.receipt, None), "{key}");
        assert_eq!(disk.snapshot_without(".actum"), tree);
    }
}

/// FO-2: a request that changes nothing creates no run and does not reserve its key.
#[test]
fn request_without_changes_creates_no_run() {
    let grounds = Grounds::new();
    let disk = disk(&grounds);
    let same = actum_edit::Operation::Write {
        path: crate::grounds::path("b"),
        content: b"uno\n".to_vec(),
        expected: None,
    };
    let request = Request::apply(vec![same]).keyed("T-1".parse().unwrap());
    let error = run(&disk, grounds.records(), request).unwrap_err();
    assert!(matches!(error, Error::NothingToChange), "{error}");
    assert_eq!(grounds.store.size().unwrap(), 1);
}

/// Issue 23: a server keeps one engine for each workspace and uses it from any of its threads.
#[test]
fn engine_can_move_to_another_thread() {
    let directory = tempfile::tempdir().unwrap();
    let [root, home] = ["project", "home"].map(|name| directory.path().join(name));
    std::fs::create_dir(&root).unwrap();
    let clock = Clock::fixed(1_700_000_000_000_000);
    let records = Records::open(&home, &TenantId::default(), clock).unwrap();
    let mut engine = Engine::open(&root, records).unwrap();
    let serve = move || {
        engine.run(Request::apply(vec![create("one")])).unwrap();
        engine
    };
    let mut engine = std::thread::spawn(serve).join().unwrap();
    engine.run(Request::apply(vec![create("two")])).unwrap();
    assert!(root.join("one").is_file() && root.join("two").is_file());
}
