//! Conformance suite that every implementation of [`Store`] must pass, regardless of its crate.
//!
//! To test an implementation, call [`check`] with a function that creates a store with a first entry, such as
//! [`sample::log_started`]. The suite is intended only for tests.

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

/// Failure of the conformance suite.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The store violated a rule of the suite.
    #[error("{rule}: expected {expected}, found {found}")]
    Rule {
        /// Requirement that the store violated.
        rule: &'static str,
        /// Required result.
        expected: String,
        /// Result that the store returned.
        found: String,
    },
    /// The store returned an error for an operation that must succeed.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// The store refused an entry that it must accept, or a sample entry is malformed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A sample entry could not be serialized.
    #[error(transparent)]
    Sample(#[from] CanonicalError),
}

type Outcome = Result<(), Broken>;
type Rule = (&'static str, fn(&mut dyn Store) -> Outcome);

/// Rules of the suite with their descriptions. Each rule requires a store that contains only its first entry.
pub const RULES: &[Rule] = &[
    ("a log starts with a single `LOG_STARTED` entry", begins),
    ("entries are numbered without gaps and stored byte for byte", numbers),
    ("a request is accepted completely or not at all", takes_whole),
    ("a refused request does not affect other requests", refuses_one),
    ("a run starts once, and then ends once", runs_once),
    ("a receipt refers to the entry that started its run", names_its_beginning),
    ("each attempt at a request starts only one run in a workspace", attempts_once),
    ("open runs are the runs that have not ended", lists_open_runs),
    ("a plan is queued once, answered in order and executed once", plan::once),
    ("an action uses up its approval, and its end does not affect runs", action::once),
    ("each catalog change refers to the previous one", action::catalog),
    ("the newest entries of a kind can be queried", action::newest),
    ("only an alert that was raised can be marked as seen", alert::seen),
    ("nothing starts under a lease that is not granted, used up or revoked", lease::used),
    ("a file task starts once, ends once and reserves its id", lease::file_task),
    ("the effect of a step starts once and ends under the same key and plan", agent::starts_once),
    ("a step starts only after decisions about the same step", agent::rests_on_decisions),
    ("no step starts with an outdated catalog", agent::rests_on_catalog),
    (
        "a decision without an effect does not change the state of a claimed step",
        agent::keeps_states,
    ),
    ("an escalation is resolved only once", agent::resolves_once),
    ("queries about steps, goals and counters match the entries", agent::answers_queries),
    ("all documents that entries refer to are stored", keeps_blobs),
    ("hashes and proofs match the entries", proves),
    ("each checkpoint covers more entries, but only existing ones", signs),
    ("a snapshot shows the log at a single point in time", snapshot::stays),
];

/// Checks all rules. Each rule is run with a new store from `make`, which must contain only its first entry.
///
/// # Errors
/// Returns [`Broken`] for the first rule that the store violates.
pub fn check(make: &mut dyn FnMut() -> Result<Box<dyn Store>, LedgerError>) -> Outcome {
    RULES.iter().try_for_each(|(_, rule)| rule(&mut *make()?))
}

/// Checks that a result is as expected. Otherwise, it reports `rule` as violated.
fn same<T: PartialEq + std::fmt::Debug>(rule: &'static str, found: T, expected: T) -> Outcome {
    if found == expected {
        return Ok(());
    }
    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
    Err(Broken::Rule { rule, expected, found })
}

/// Appends entries as a single request, and returns the store's answer.
fn append(
    store: &mut dyn Store,
    entries: Vec<NewEntry>,
) -> Result<Result<Vec<Appended>, Refusal>, Broken> {
    let request = Prepared::all(entries)?;
    let mut results = store.append(&[request])?;
    same("each request must have one result", results.len(), 1)?;
    Ok(results.pop().unwrap_or(Ok(Vec::new())))
}

/// Appends entries that the store must accept.
fn put(store: &mut dyn Store, entries: Vec<NewEntry>) -> Result<Vec<Appended>, Broken> {
    Ok(append(store, entries)??)
}

fn begins(store: &mut dyn Store) -> Outcome {
    same("a new log must have one entry", store.size()?, 1)?;
    same("a new log must have its name", store.origin()?, ORIGIN.to_owned())?;
    let kind = store.entry(0)?.map(|entry| entry.kind);
    same("the first entry must be `LOG_STARTED`", kind, Some(EntryKind::LogStarted))?;
    let again = append(store, vec![log_started()?])?;
    same("a second `LOG_STARTED` must be refused", again, Err(Refusal::Beginning { index: 1 }))?;
    same("a refused request must not add an entry", store.size()?, 1)
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
        same("entry numbers must be consecutive", appended, vec![Appended { index, leaf }])?;
    }
    let wanted: Vec<Entry> = entries
        .into_iter()
        .zip(0..)
        .map(|(NewEntry { kind, body, .. }, index)| Entry { index, kind, body })
        .collect();
    same("all entries must be returned unchanged", store.entries(0, 100)?, wanted.clone())?;
    same(
        "a range of entries must be returned",
        store.entries(3, 2)?,
        wanted.iter().skip(3).take(2).cloned().collect(),
    )?;
    same("a range after the last entry must be empty", store.entries(16, 9)?, Vec::new())?;
    same("an index after the last entry must return no entry", store.entry(16)?, None)?;
    same("a single entry must be returned by its index", store.entry(7)?.as_ref(), wanted.get(7))
}

fn takes_whole(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 0));
    let (done, other) = (one.done(Status::Succeeded, 1)?, two.done(Status::Succeeded, 1)?);
    let entries = vec![one.started()?, done.clone(), other];
    let refusal = Refusal::NotStarted { run: two.run };
    same(
        "a request must be refused if its last entry is invalid",
        append(store, entries)?,
        Err(refusal),
    )?;
    same("no entry of a refused request may be stored", store.size()?, 1)?;
    same("no run of a refused request may be stored", store.run(one.run)?, None)?;
    same(
        "no document of a refused request may be stored",
        store.blob(&Digest::of(&one.bundle))?,
        None,
    )?;
    let entries = vec![one.started()?, done];
    same("a start and its end may be in the same request", put(store, entries)?.len(), 2)
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
    same(
        "only the invalid request may be refused",
        indexes,
        vec![Some(1), None, Some(2), Some(3)],
    )?;
    let refused = results.into_iter().nth(1).and_then(Result::err);
    let refusal = Refusal::RunStarted { run: one.run, started: 1 };
    same("the refusal must name its reason", refused, Some(refusal))?;
    same("appending no requests must return no results", store.append(&[])?.len(), 0)?;
    same("an empty request must add no entry", put(store, Vec::new())?.len(), 0)?;
    same("every valid request must add its entry", store.size()?, 4)
}

fn runs_once(store: &mut dyn Store) -> Outcome {
    let run = SampleRun::numbered(1, 7);
    let id = run.run;
    let done = run.done(Status::Succeeded, 1)?;
    let early = append(store, vec![done.clone()])?;
    same("a run must not end before it starts", early, Err(Refusal::NotStarted { run: id }))?;
    put(store, vec![run.started()?])?;
    let row = row(&run, 1);
    same("a started run must be open", store.run(id)?, Some(row.clone()))?;
    let again = append(store, vec![run.started()?])?;
    same("a run must not start twice", again, Err(Refusal::RunStarted { run: id, started: 1 }))?;
    let elsewhere = SampleRun { workspace: WorkspaceId::from_random(9), ..run.clone() };
    let refusal = Refusal::OtherWorkspace {
        run: id,
        started_in: run.workspace,
        workspace: elsewhere.workspace,
    };
    let moved = append(store, vec![elsewhere.done(Status::Succeeded, 1)?])?;
    same("a run must not end in a different workspace", moved, Err(refusal))?;
    put(store, vec![done.clone()])?;
    let ended = RunRow { done: Some(2), status: Some(Status::Succeeded), ..row };
    same("a run must have the status of its end", store.run(id)?, Some(ended.clone()))?;
    let again = append(store, vec![done])?;
    same("a run must not end twice", again, Err(Refusal::RunDone { run: id, done: 2 }))?;
    same("a refused request must not change a run", store.run(id)?, Some(ended))?;
    same("a refused request must not add an entry", store.size()?, 3)
}

fn names_its_beginning(store: &mut dyn Store) -> Outcome {
    let (run, other) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 0));
    let leaves: Vec<Digest> = put(store, vec![run.started()?, other.started()?])?
        .iter()
        .map(|appended| appended.leaf)
        .collect();
    let [Some(&started_leaf), Some(&other_leaf)] = [leaves.first(), leaves.get(1)] else {
        return same("two starts must add two entries", leaves.len(), 2);
    };
    let refusal =
        |index, leaf| Refusal::OtherIntent { run: run.run, index, leaf, started: 1, started_leaf };
    let elsewhere = append(store, vec![run.done(Status::Succeeded, 2)?])?;
    same(
        "a receipt with a wrong entry index must be refused",
        elsewhere,
        Err(refusal(2, started_leaf)),
    )?;
    let changed = SampleRun { bundle: other.bundle.clone(), ..run.clone() };
    let leaf = actum_record::merkle::leaf_hash(&changed.started()?.body);
    let of_other = append(store, vec![changed.done(Status::Succeeded, 1)?])?;
    same("a receipt with a wrong entry hash must be refused", of_other, Err(refusal(1, leaf)))?;
    same(
        "different entries must have different hashes",
        other_leaf == started_leaf || leaf == started_leaf,
        false,
    )?;
    let together = SampleRun::numbered(3, 0);
    let wrong = together.done(Status::Succeeded, 1)?;
    let within = append(store, vec![together.started()?, wrong])?;
    let is_refused = matches!(within, Err(Refusal::OtherIntent { started: 3, .. }));
    same("a wrong receipt must be refused in the request of its start", is_refused, true)?;
    put(store, vec![run.done(Status::Succeeded, 1)?])?;
    same("a refused request must not add an entry", store.size()?, 4)
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
    same("an attempt must not start a second run", again, Err(refusal))?;
    put(store, vec![of(3, 1, 1).started()?])?;
    put(store, vec![first.done(Status::Reverted, 1)?])?;
    put(store, vec![of(4, 0, 2).started()?])?;
    let twice = append(store, vec![of(5, 0, 3).started()?, of(6, 0, 3).started()?])?;
    let is_refused = matches!(twice, Err(Refusal::RequestStarted { attempt: 3, .. }));
    same("a request must not start an attempt twice", is_refused, true)?;
    let attempts = store.request(first.workspace, &key)?;
    let listed: Vec<(u64, RunId)> = attempts.iter().map(|row| (row.started, row.run)).collect();
    same(
        "attempts must be listed with the oldest first",
        listed,
        vec![(1, first.run), (4, of(4, 0, 2).run)],
    )?;
    same("a refused request must not add an entry", store.size()?, 5)?;
    put(store, vec![SampleRun::numbered(7, 0).started()?, SampleRun::numbered(8, 0).started()?])?;
    Ok(())
}

fn lists_open_runs(store: &mut dyn Store) -> Outcome {
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
    same("only runs without an end may be open", store.open_runs(workspace)?, open.collect())?;
    let nobody = store.open_runs(WorkspaceId::from_random(1))?;
    same("a workspace must not list runs of others", nobody, Vec::new())
}

fn keeps_blobs(store: &mut dyn Store) -> Outcome {
    let run = SampleRun::numbered(1, 0);
    let digest = Digest::of(&run.bundle);
    let bare = NewEntry { blobs: Vec::new(), ..run.started()? };
    let refused = append(store, vec![bare.clone()])?;
    same(
        "an entry must be refused if its document is missing",
        refused,
        Err(Refusal::BlobMissing { digest }),
    )?;
    let stray = NewEntry { blobs: vec![run.bundle.clone(), b"stray".to_vec()], ..bare.clone() };
    let refused = Prepared::new(stray).map(|_| ()).err();
    let digest_of_stray = Digest::of(b"stray");
    let refusal = Refusal::BlobUnnamed { digest: digest_of_stray };
    same("a document that no entry refers to must be refused", refused, Some(refusal))?;
    put(store, vec![run.started()?])?;
    same("a document must be stored unchanged", store.blob(&digest)?, Some(run.bundle.clone()))?;
    let second = SampleRun { bundle: run.bundle.clone(), ..SampleRun::numbered(2, 0) };
    let third = SampleRun { bundle: run.bundle.clone(), ..SampleRun::numbered(3, 0) };
    put(store, vec![second.started()?])?;
    put(store, vec![NewEntry { blobs: Vec::new(), ..third.started()? }])?;
    same("an unknown digest must return no document", store.blob(&Digest::of(b"no"))?, None)
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
            same(
                "every complete subtree must have the correct hash",
                store.node(which)?,
                node(which)?,
            )?;
        }
        let beyond = store.node(Node { level, index: size >> level });
        same("an incomplete subtree must have no hash", beyond.is_err(), true)?;
    }
    same("the frontier must match the entries", store.frontier(size)?, frontier)?;
    for old in 1..=size {
        let wanted = actum_record::merkle::consistency_proof(size, old, node)?;
        same(
            "consistency proofs must match the entries",
            proof::consistency(store, size, old)?,
            wanted,
        )?;
        let wanted = actum_record::merkle::inclusion_proof(old, old - 1, node)?;
        same(
            "inclusion proofs must match the entries",
            proof::inclusion(store, old, old - 1)?,
            wanted,
        )?;
    }
    same(
        "there must be no inclusion proof for a larger log",
        proof::inclusion(store, size + 1, 0)?,
        None,
    )?;
    same(
        "there must be no consistency proof for a larger log",
        proof::consistency(store, size + 1, 1)?,
        None,
    )
}

fn signs(store: &mut dyn Store) -> Outcome {
    let signed = |size| SignedCheckpoint { size, note: format!("note of {size}\n") };
    same("a new log must have no checkpoint", store.newest_checkpoint()?, None)?;
    same("a new log must list no checkpoints", store.checkpoints(0, 10)?, Vec::new())?;
    let ahead = store.put_checkpoint(&signed(2)).is_err();
    same("a checkpoint must not cover missing entries", ahead, true)?;
    store.put_checkpoint(&signed(1))?;
    let again = store.put_checkpoint(&signed(1)).is_err();
    same("two checkpoints must not have the same size", again, true)?;
    for number in 0..3 {
        put(store, vec![SampleRun::numbered(number, 0).started()?])?;
    }
    store.put_checkpoint(&signed(3))?;
    let less = store.put_checkpoint(&signed(2)).is_err();
    same("a checkpoint must not be smaller than the last one", less, true)?;
    store.put_checkpoint(&signed(4))?;
    same("the newest checkpoint must be returned", store.newest_checkpoint()?, Some(signed(4)))?;
    same(
        "checkpoints must be listed from a given size",
        store.checkpoints(2, 10)?,
        vec![signed(3), signed(4)],
    )?;
    same(
        "the number of listed checkpoints must be limited",
        store.checkpoints(0, 1)?,
        vec![signed(1)],
    )
}

fn row(run: &SampleRun, started: u64) -> RunRow {
    let (request, attempt) = run.request.clone().unzip();
    let attempt = attempt.unwrap_or(1);
    let (run, workspace) = (run.run, run.workspace);
    RunRow { run, workspace, request, attempt, started, done: None, status: None }
}
