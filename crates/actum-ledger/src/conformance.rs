//! Rules that every store must keep: a suite for the tests of each of them, in whatever crate it is.
//!
//! A store passes [`check`] with a function that makes a store with a first entry, such as
//! [`sample::log_started`]. Nothing of the suite is for anything but tests.

mod action;
mod agent;
mod alert;
mod lease;
mod plan;
pub mod sample;
mod snapshot;

use actum_core::canonical::CanonicalError;
use actum_core::{Digest, RunId, Status};
use actum_record::ledger::{EntryKind, RequestKey, WorkspaceId};
use actum_record::merkle::{Frontier, Node};

use crate::error::{LedgerError, Refusal};
use crate::log::{Entry, RunRow, SignedCheckpoint};
use crate::new_entry::{Appended, NewEntry, Prepared, Request};
use crate::proof;
use crate::store::Store;
pub use snapshot::check_snapshot;

use sample::{ORIGIN, SampleRun, key_rotated, log_started};

/// A rule that a store broke.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The store broke a rule.
    #[error("{rule}: expected {expected}, found {found}")]
    Rule {
        /// Name of the rule.
        rule: &'static str,
        /// Required behaviour.
        expected: String,
        /// Observed behaviour.
        found: String,
    },
    /// The store failed where it must not.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// An entry of the suite was refused, or is malformed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A sample could not be made.
    #[error(transparent)]
    Sample(#[from] CanonicalError),
}

type Outcome = Result<(), Broken>;
type Rule = (&'static str, fn(&mut dyn Store) -> Outcome);

/// The rules, by name. Each is for a store that has its first entry and nothing else.
pub const RULES: &[Rule] = &[
    ("a log begins with its first entry", begins),
    ("entries are numbered without gaps and kept to the byte", numbers),
    ("a request is taken whole or not at all", takes_whole),
    ("a refused request keeps no other out", refuses_one),
    ("a run starts once and ends once, in its order", runs_once),
    ("a receipt names the entry that its run began with", names_its_beginning),
    ("an attempt at a request is made once in a workspace", attempts_once),
    ("open runs are those without an end", tells_open_runs),
    ("a plan is queued once, answered in order, and carried out once", plan::once),
    ("an action uses an approval up, and what ended changes nothing", action::once),
    ("a change of the catalog follows the last one", action::catalog),
    ("the newest entries of a kind are found", action::newest),
    ("an alert is seen where it was raised", alert::seen),
    ("nothing starts under a lease that was not granted, is used up or is revoked", lease::used),
    ("a file task starts once, ends once, and binds its id", lease::file_task),
    ("an effect of a step starts once and ends as it started", agent::starts_once),
    ("a start rests on decisions about its step", agent::rests_on_decisions),
    ("nothing starts after the catalog of its decision changed", agent::rests_on_catalog),
    ("a decision without an effect keeps the state of a claimed step", agent::keeps_states),
    ("an escalation is resolved once", agent::resolves_once),
    ("steps, goals and counters are those of the entries", agent::tells),
    ("documents are kept once, and none that is named is missing", keeps_blobs),
    ("hashes of subtrees and proofs are those of the entries", proves),
    ("checkpoints cover more and more, and no more than there is", signs),
    ("a snapshot is the log at one moment", snapshot::stays),
];

/// Runs every rule, each with a store from `make`, which has its first entry.
///
/// # Errors
/// [`Broken`] with the first rule that does not hold.
pub fn check(make: &mut dyn FnMut() -> Result<Box<dyn Store>, LedgerError>) -> Outcome {
    RULES.iter().try_for_each(|(_, rule)| rule(&mut *make()?))
}

fn same<T: PartialEq + std::fmt::Debug>(rule: &'static str, found: T, expected: T) -> Outcome {
    if found == expected {
        return Ok(());
    }
    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
    Err(Broken::Rule { rule, expected, found })
}

/// One request of these entries.
fn append(
    store: &mut dyn Store,
    entries: Vec<NewEntry>,
) -> Result<Result<Vec<Appended>, Refusal>, Broken> {
    let request = Prepared::all(entries)?;
    let mut results = store.append(&[request])?;
    same("one request has one answer", results.len(), 1)?;
    Ok(results.pop().unwrap_or(Ok(Vec::new())))
}

/// Appends entries that nothing may refuse.
fn put(store: &mut dyn Store, entries: Vec<NewEntry>) -> Result<Vec<Appended>, Broken> {
    Ok(append(store, entries)??)
}

fn begins(store: &mut dyn Store) -> Outcome {
    same("it has one entry", store.size()?, 1)?;
    same("it has a name", store.origin()?, ORIGIN.to_owned())?;
    let kind = store.entry(0)?.map(|entry| entry.kind);
    same("the first entry is `LOG_STARTED`", kind, Some(EntryKind::LogStarted))?;
    let again = append(store, vec![log_started()?])?;
    same("there is no second one", again, Err(Refusal::Beginning { index: 1 }))?;
    same("nothing came of it", store.size()?, 1)
}

fn numbers(store: &mut dyn Store) -> Outcome {
    let mut entries = vec![log_started()?];
    for number in 0..5 {
        let run = SampleRun::numbered(number, 0);
        let done = run.done(Status::Succeeded, 1 + number * 3)?;
        entries.extend([run.started()?, done, key_rotated()?]);
    }
    for (entry, index) in entries.iter().zip(0u64..).skip(1) {
        let appended = put(store, vec![entry.clone()])?;
        let leaf = actum_record::merkle::leaf_hash(&entry.body);
        same("an entry gets the next number", appended, vec![Appended { index, leaf }])?;
    }
    let wanted: Vec<Entry> = entries
        .into_iter()
        .zip(0..)
        .map(|(NewEntry { kind, body, .. }, index)| Entry { index, kind, body })
        .collect();
    same("all entries are there", store.entries(0, 100)?, wanted.clone())?;
    same("some are", store.entries(3, 2)?, wanted.iter().skip(3).take(2).cloned().collect())?;
    same("behind the last are none", store.entries(16, 9)?, Vec::new())?;
    same("nor is there a single one", store.entry(16)?, None)?;
    same("each is there", store.entry(7)?.as_ref(), wanted.get(7))
}

fn takes_whole(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 0));
    let (done, other) = (one.done(Status::Succeeded, 1)?, two.done(Status::Succeeded, 1)?);
    let entries = vec![one.started()?, done.clone(), other];
    let refusal = Refusal::NotStarted { run: two.run };
    same("the last one is refused", append(store, entries)?, Err(refusal))?;
    same("so none is there", store.size()?, 1)?;
    same("nor a run", store.run(one.run)?, None)?;
    same("nor a document", store.blob(&Digest::of(&one.bundle))?, None)?;
    let entries = vec![one.started()?, done];
    same("together they may come", put(store, entries)?.len(), 2)
}

fn refuses_one(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 0));
    let request = |entry| Prepared::all(vec![entry]);
    let requests: Vec<Request> = vec![
        request(one.started()?)?,
        request(one.started()?)?,
        request(two.started()?)?,
        request(one.done(Status::Reverted, 1)?)?,
    ];
    let results = store.append(&requests)?;
    let indexes: Vec<Option<u64>> = results
        .iter()
        .map(|result| result.as_ref().ok()?.first().map(|appended| appended.index))
        .collect();
    same("only the second is refused", indexes, vec![Some(1), None, Some(2), Some(3)])?;
    let refused = results.into_iter().nth(1).and_then(Result::err);
    let refusal = Refusal::RunStarted { run: one.run, started: 1 };
    same("with its reason", refused, Some(refusal))?;
    same("no request, no entry", store.append(&[])?.len(), 0)?;
    same("an empty request, no entry", put(store, Vec::new())?.len(), 0)?;
    same("three came", store.size()?, 4)
}

fn runs_once(store: &mut dyn Store) -> Outcome {
    let run = SampleRun::numbered(1, 7);
    let id = run.run;
    let done = run.done(Status::Succeeded, 1)?;
    let early = append(store, vec![done.clone()])?;
    same("no end without a start", early, Err(Refusal::NotStarted { run: id }))?;
    put(store, vec![run.started()?])?;
    let row = row(&run, 1);
    same("it is open", store.run(id)?, Some(row.clone()))?;
    let again = append(store, vec![run.started()?])?;
    same("no second start", again, Err(Refusal::RunStarted { run: id, started: 1 }))?;
    let elsewhere = SampleRun { workspace: WorkspaceId::from_random(9), ..run.clone() };
    let refusal = Refusal::OtherWorkspace {
        run: id,
        started_in: run.workspace,
        workspace: elsewhere.workspace,
    };
    let moved = append(store, vec![elsewhere.done(Status::Succeeded, 1)?])?;
    same("no end in another workspace", moved, Err(refusal))?;
    put(store, vec![done.clone()])?;
    let ended = RunRow { done: Some(2), status: Some(Status::Succeeded), ..row };
    same("it has ended", store.run(id)?, Some(ended.clone()))?;
    let again = append(store, vec![done])?;
    same("no second end", again, Err(Refusal::RunDone { run: id, done: 2 }))?;
    same("nothing came of what was refused", store.run(id)?, Some(ended))?;
    same("nor an entry", store.size()?, 3)
}

fn names_its_beginning(store: &mut dyn Store) -> Outcome {
    let (run, other) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 0));
    let leaves: Vec<Digest> = put(store, vec![run.started()?, other.started()?])?
        .iter()
        .map(|appended| appended.leaf)
        .collect();
    let [Some(&started_leaf), Some(&other_leaf)] = [leaves.first(), leaves.get(1)] else {
        return same("two entries came", leaves.len(), 2);
    };
    let refusal =
        |index, leaf| Refusal::OtherIntent { run: run.run, index, leaf, started: 1, started_leaf };
    let elsewhere = append(store, vec![run.done(Status::Succeeded, 2)?])?;
    same("not another place", elsewhere, Err(refusal(2, started_leaf)))?;
    let changed = SampleRun { bundle: other.bundle.clone(), ..run.clone() };
    let leaf = actum_record::merkle::leaf_hash(&changed.started()?.body);
    let of_other = append(store, vec![changed.done(Status::Succeeded, 1)?])?;
    same("not another entry", of_other, Err(refusal(1, leaf)))?;
    same("the hashes differ", other_leaf == started_leaf || leaf == started_leaf, false)?;
    let together = SampleRun::numbered(3, 0);
    let wrong = together.done(Status::Succeeded, 1)?;
    let within = append(store, vec![together.started()?, wrong])?;
    let is_refused = matches!(within, Err(Refusal::OtherIntent { started: 3, .. }));
    same("nor within one request", is_refused, true)?;
    put(store, vec![run.done(Status::Succeeded, 1)?])?;
    same("nothing came of what was refused", store.size()?, 4)
}

fn attempts_once(store: &mut dyn Store) -> Outcome {
    let Some(key) = "T-1/step".parse::<RequestKey>().ok() else { return Ok(()) };
    let of = |number, workspace, attempt| SampleRun {
        request: Some((key.clone(), attempt)),
        ..SampleRun::numbered(number, workspace)
    };
    let first = of(1, 0, 1);
    put(store, vec![first.started()?])?;
    let other = of(2, 0, 1);
    let refusal = Refusal::RequestStarted {
        workspace: first.workspace,
        request: key.clone(),
        attempt: 1,
        run: first.run,
        started: 1,
    };
    let again = append(store, vec![other.started()?])?;
    same("no second run of one attempt", again, Err(refusal))?;
    put(store, vec![of(3, 1, 1).started()?])?;
    put(store, vec![first.done(Status::Reverted, 1)?])?;
    put(store, vec![of(4, 0, 2).started()?])?;
    let twice = append(store, vec![of(5, 0, 3).started()?, of(6, 0, 3).started()?])?;
    let is_refused = matches!(twice, Err(Refusal::RequestStarted { attempt: 3, .. }));
    same("nor within one request", is_refused, true)?;
    let attempts = store.request(first.workspace, &key)?;
    let told: Vec<(u64, RunId)> = attempts.iter().map(|row| (row.started, row.run)).collect();
    same("attempts, oldest first", told, vec![(1, first.run), (4, of(4, 0, 2).run)])?;
    same("two runs without a key are no attempts", store.size()?, 5)?;
    put(store, vec![SampleRun::numbered(7, 0).started()?, SampleRun::numbered(8, 0).started()?])?;
    Ok(())
}

fn tells_open_runs(store: &mut dyn Store) -> Outcome {
    let runs: Vec<SampleRun> = (0..6).map(|number| SampleRun::numbered(number, 0)).collect();
    for run in &runs {
        put(store, vec![run.started()?])?;
    }
    put(store, vec![SampleRun::numbered(9, 1).started()?])?;
    for (run, started) in runs.iter().zip(1..).step_by(2) {
        put(store, vec![run.done(Status::Succeeded, started)?])?;
    }
    let open = runs.iter().zip(1..).skip(1).step_by(2).map(|(run, index)| row(run, index));
    let workspace = SampleRun::numbered(0, 0).workspace;
    same("every other one", store.open_runs(workspace)?, open.collect())?;
    let nobody = store.open_runs(WorkspaceId::from_random(1))?;
    same("none of another workspace", nobody, Vec::new())
}

fn keeps_blobs(store: &mut dyn Store) -> Outcome {
    let run = SampleRun::numbered(1, 0);
    let digest = Digest::of(&run.bundle);
    let bare = NewEntry { blobs: Vec::new(), ..run.started()? };
    let refused = append(store, vec![bare.clone()])?;
    same("what is named must be there", refused, Err(Refusal::BlobMissing { digest }))?;
    let stray = NewEntry { blobs: vec![run.bundle.clone(), b"stray".to_vec()], ..bare.clone() };
    let refused = Prepared::new(stray).map(|_| ()).err();
    let digest_of_stray = Digest::of(b"stray");
    let refusal = Refusal::BlobUnnamed { digest: digest_of_stray };
    same("what is not named must not be there", refused, Some(refusal))?;
    put(store, vec![run.started()?])?;
    same("it is kept", store.blob(&digest)?, Some(run.bundle.clone()))?;
    let second = SampleRun { bundle: run.bundle.clone(), ..SampleRun::numbered(2, 0) };
    let third = SampleRun { bundle: run.bundle.clone(), ..SampleRun::numbered(3, 0) };
    put(store, vec![second.started()?])?;
    put(store, vec![NewEntry { blobs: Vec::new(), ..third.started()? }])?;
    same("another one is not there", store.blob(&Digest::of(b"no"))?, None)
}

fn proves(store: &mut dyn Store) -> Outcome {
    let (mut frontier, mut nodes) = (Frontier::default(), Vec::new());
    for number in 0..20 {
        let run = SampleRun::numbered(number, 0);
        let done = run.done(Status::Succeeded, 1 + number * 2)?;
        put(store, vec![run.started()?, done])?;
    }
    let size = store.size()?;
    for entry in store.entries(0, size)? {
        frontier.push(actum_record::merkle::leaf_hash(&entry.body), |hash| nodes.push(hash));
    }
    let node = |node: Node| {
        let at = usize::try_from(node.position()).ok();
        let message = format!("{node:?}");
        at.and_then(|at| nodes.get(at)).copied().ok_or(LedgerError::Damaged { message })
    };
    for level in 0..6 {
        for index in 0..(size >> level) {
            let which = Node { level, index };
            same("each complete subtree has its hash", store.node(which)?, node(which)?)?;
        }
        let beyond = store.node(Node { level, index: size >> level });
        same("an incomplete one has none", beyond.is_err(), true)?;
    }
    same("the edge is the one of the entries", store.frontier(size)?, frontier)?;
    for old in 1..=size {
        let wanted = actum_record::merkle::consistency_proof(size, old, node)?;
        same("old logs are beginnings", proof::consistency(store, size, old)?, wanted)?;
        let wanted = actum_record::merkle::inclusion_proof(old, old - 1, node)?;
        same("entries are included", proof::inclusion(store, old, old - 1)?, wanted)?;
    }
    same("nothing is proven of what is not there", proof::inclusion(store, size + 1, 0)?, None)?;
    same("nor of longer logs", proof::consistency(store, size + 1, 1)?, None)
}

fn signs(store: &mut dyn Store) -> Outcome {
    let signed = |size| SignedCheckpoint { size, note: format!("note of {size}\n") };
    same("there is none", store.newest_checkpoint()?, None)?;
    same("none at all", store.checkpoints(0, 10)?, Vec::new())?;
    let ahead = store.put_checkpoint(&signed(2)).is_err();
    same("none covers more than there is", ahead, true)?;
    store.put_checkpoint(&signed(1))?;
    let again = store.put_checkpoint(&signed(1)).is_err();
    same("none covers as much as another", again, true)?;
    for number in 0..3 {
        put(store, vec![SampleRun::numbered(number, 0).started()?])?;
    }
    store.put_checkpoint(&signed(3))?;
    let less = store.put_checkpoint(&signed(2)).is_err();
    same("none covers less than another", less, true)?;
    store.put_checkpoint(&signed(4))?;
    same("the newest", store.newest_checkpoint()?, Some(signed(4)))?;
    same("from 2 on", store.checkpoints(2, 10)?, vec![signed(3), signed(4)])?;
    same("one of them", store.checkpoints(0, 1)?, vec![signed(1)])
}

fn row(run: &SampleRun, started: u64) -> RunRow {
    let (request, attempt) = run.request.clone().unzip();
    let attempt = attempt.unwrap_or(1);
    let (run, workspace) = (run.run, run.workspace);
    RunRow { run, workspace, request, attempt, started, done: None, status: None }
}
