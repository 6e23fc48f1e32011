//! Worker process that loses its power: carries out the steps of the plan in order and prints each finished step on standard
//! output.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use actum_core::RunId;
use actum_workspace::{GcOptions, Outcome, RunOptions, View, Workspace};

use super::options::{Job, Writer};
use super::plan::{Plan, Version, Work, directories};
use super::random::Random;
use super::tree::{Tree, write_leaf};
use super::{Failure, shaker};

/// Message of a worker: it is starting a step, has finished one, or cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    At(usize),
    Did(usize),
    Failed(String),
}

/// Number of runs kept by the garbage collection between steps.
const RUNS_KEPT: usize = 20;

pub(crate) fn run(job: &Job) -> Result<(), Failure> {
    let worked = match job.writer {
        Writer::Actum => with_actum(job),
        Writer::Plain => write_plain(job),
    };
    if let Err(error) = &worked {
        send(&Word::Failed(error.to_string()))?;
    }
    worked
}

fn with_actum(job: &Job) -> Result<(), Failure> {
    let mut workspace = Workspace::open(&job.root)?;
    if !workspace.blocked().is_empty() {
        return Err(format!("recovery asks for a person: {:?}", workspace.recovery()).into());
    }
    let mut plan = Plan::new(job.seed);
    let mut step = last_step(&job.root)?;
    let tree = Tree::read(&job.root)?;
    if !tree.is(plan.version(step)?) {
        let differences = tree.differences_in_short(plan.version(step)?);
        return Err(format!("opened at step {step}, but {differences}").into());
    }
    let mut last = last_run(&job.root)?;
    send(&Word::At(step))?;
    shaker::start(job.shaker, &job.root, job.seed.wrapping_add(step as u64));
    loop {
        step += 1;
        let mut random = Random::part(!job.seed, step as u64);
        let options = RunOptions { label: label(step), ..RunOptions::default() };
        let committed = match (plan.work(step)?, last) {
            (Work::Undo, Some(last)) => workspace.begin_undo(last, options)?.commit()?,
            (Work::Undo, None) => return Err("there is no run to undo".into()),
            (Work::Apply(operations), _) => {
                let mut transaction = workspace.begin(options)?;
                transaction.operate_all(&operations)?;
                transaction.commit()?
            }
        };
        last = Some(committed.run);
        send(&Word::Did(step))?;
        if random.once_in(12) {
            let options = GcOptions { runs_max: RUNS_KEPT, ..GcOptions::default() };
            workspace.gc(&options)?;
        }
        if random.once_in(8) {
            drop(workspace);
            workspace = Workspace::open(&job.root)?;
        }
    }
}

/// Writes like the control, and like many programs: each file is replaced atomically, but no file is synced.
fn write_plain(job: &Job) -> Result<(), Failure> {
    let mut plan = Plan::new(job.seed);
    send(&Word::At(0))?;
    shaker::start(job.shaker, &job.root, job.seed);
    for step in 1.. {
        let before = plan.version(step - 1)?.clone();
        write_write_plain(&job.root, &before, plan.version(step)?)?;
        send(&Word::Did(step))?;
    }
    Ok(())
}

fn write_write_plain(root: &Path, before: &Version, after: &Version) -> Result<(), Failure> {
    let (old, new) = (directories(before), directories(after));
    for path in before.keys().filter(|&path| !after.contains_key(path)) {
        std::fs::remove_file(root.join(path))?;
    }
    for directory in old.difference(&new).collect::<BTreeSet<_>>().into_iter().rev() {
        std::fs::remove_dir(root.join(directory))?;
    }
    for directory in new.difference(&old) {
        std::fs::create_dir(root.join(directory))?;
    }
    // Written outside the tree, so that a cut before the rename leaves no file in the tree.
    let temporary = root.with_extension("new");
    for (path, leaf) in after.iter().filter(|&(path, leaf)| before.get(path) != Some(leaf)) {
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {} // of an earlier cut
        }
        write_leaf(&temporary, leaf)?;
        std::fs::rename(&temporary, root.join(path))?;
    }
    Ok(())
}

/// Returns the label of the run of a step.
fn label(step: usize) -> String {
    format!("step {step}")
}

/// Returns the last step that is committed according to the log, or 0 if there is none.
pub(super) fn last_step(root: &Path) -> Result<usize, Failure> {
    let view = View::open(root)?;
    for run in view.runs()?.iter().rev().filter(|run| run.outcome == Outcome::Committed) {
        let report = view.show(run.run)?;
        if let Some(step) = report.label.strip_prefix("step ") {
            return Ok(step.parse()?);
        }
    }
    Ok(0)
}

/// Returns the last run that is committed according to the log.
pub(super) fn last_run(root: &Path) -> Result<Option<RunId>, Failure> {
    let runs = View::open(root)?.runs()?;
    let last = runs.iter().rev().find(|run| run.outcome == Outcome::Committed);
    Ok(last.map(|run| run.run))
}

fn send(word: &Word) -> Result<(), Failure> {
    let line = match word {
        Word::At(step) => format!("at {step}\n"),
        Word::Did(step) => format!("did {step}\n"),
        Word::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}

impl Word {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "at" => rest.parse().ok().map(Self::At),
            "did" => rest.parse().ok().map(Self::Did),
            "failed" => Some(Self::Failed(rest.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::tree;

    #[test]
    fn the_plain_writer_follows_the_plan() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("tree");
        std::fs::create_dir(&root).unwrap();
        let mut plan = Plan::new(7);
        tree::write(&root, plan.version(0).unwrap()).unwrap();
        for step in 1..20 {
            let before = plan.version(step - 1).unwrap().clone();
            write_write_plain(&root, &before, plan.version(step).unwrap()).unwrap();
            assert!(Tree::read(&root).unwrap().is(plan.version(step).unwrap()), "step {step}");
        }
    }

    /// FO-1
    #[test]
    fn engine_follows_the_plan_when_nothing_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let mut plan = Plan::new(11);
        tree::write(root, plan.version(0).unwrap()).unwrap();
        let mut workspace = Workspace::open(root).unwrap();
        for step in 1..20 {
            let options = RunOptions { label: label(step), ..RunOptions::default() };
            match plan.work(step).unwrap() {
                Work::Apply(operations) => {
                    workspace.apply_operations(&operations, options).unwrap();
                }
                Work::Undo => {
                    let last = last_run(root).unwrap().unwrap();
                    workspace.begin_undo(last, options).unwrap().commit().unwrap();
                }
            }
            let found = Tree::read(root).unwrap();
            let version = plan.version(step).unwrap();
            assert!(found.is(version), "step {step}: {}", found.differences_in_short(version));
            assert_eq!(last_step(root).unwrap(), step);
        }
    }

    #[test]
    fn worker_messages_are_parsed() {
        assert_eq!(Word::parse("did 12"), Some(Word::Did(12)));
        assert_eq!(Word::parse("at x"), None);
        assert_eq!(Word::parse("failed a b"), Some(Word::Failed("a b".to_owned())));
    }
}
