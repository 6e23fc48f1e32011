//! `cargo xtask realworld`: applies, undoes and reapplies the changes between published versions of packages with actum, and runs
//! real queries and builds as task plans.

mod catalogue;
mod change;
pub(crate) mod child;
mod counts;
pub(crate) mod download;
mod format;
pub(crate) mod git;
pub(crate) mod judged;
mod moved_down;
mod options;
mod pipelines;
mod plans;
mod structured;
mod table;
mod tools;
mod tpch;
mod tree;
mod trial;
mod workspace;

use std::error::Error;
use std::fs::{File, TryLockError, create_dir_all, remove_dir_all};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Outcome, packages};
use catalogue::{DOCUMENTS, Kind, PAIRS, Pair};
use change::changes;
use counts::Counts;
use download::{Cache, fresh};
use format::{Format, Material};
use git::{Renames, Repository};
use judged::Judged;
pub(crate) use options::Options;
use options::Part;
use table::{Findings, Row};
use tools::Tools;
use tree::{Modes, TakenOut, Tree};

type Failure = Box<dyn Error>;

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let parts: Vec<Part> = Part::ALL.into_iter().filter(|part| options.runs(*part)).collect();
    for part in &parts {
        packages::require(part.needs())?;
    }
    let directory = root.join("target").join("realworld");
    create_dir_all(&directory)?;
    let _lock = lock(&directory)?;
    let scratch = directory.join("scratch");
    fresh(&scratch)?;
    let problems: Result<Vec<_>, _> = parts
        .into_iter()
        .map(|part| run_part(part, root, options, (&directory, &scratch)))
        .collect();
    remove_dir_all(&scratch)?;
    let problems = problems?.concat();
    for problem in &problems {
        eprintln!("realworld: {problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one part, prints its results, and returns its problems.
fn run_part(
    part: Part,
    root: &Path,
    options: &Options,
    (directory, scratch): (&Path, &Path),
) -> Result<Vec<String>, Failure> {
    match part {
        Part::Packages => run_packages(options, directory, scratch),
        // Use a temporary directory, because users keep no workspace inside an unrelated repository, and no ledger in any.
        Part::Sql => {
            let tools = Tools::install(root, options.network())?;
            let found = tpch::run(&tools, tempfile::tempdir()?.path())?;
            print!("{}", found.summary());
            Ok(found.problems)
        }
        Part::Pipelines => {
            let tools = Tools::install(root, options.network())?;
            let found = pipelines::run(&tools, tempfile::tempdir()?.path())?;
            print!("{}", found.summary());
            Ok(found.problems)
        }
    }
}

fn run_packages(
    options: &Options,
    directory: &Path,
    scratch: &Path,
) -> Result<Vec<String>, Failure> {
    let mut extra = Extra::default();
    let rows = rows(options, directory, scratch, &mut extra)?;
    print!("{}{}{}", table::table(&rows), table::legend(&rows), judged::summary(&rows));
    print!("{}{}", extra.structured.summary(), extra.plans.summary());
    let mut problems: Vec<String> = rows.iter().flat_map(Row::problems).collect();
    problems.extend_from_slice(&extra.structured.problems);
    problems.extend_from_slice(extra.plans.problems());
    if options.is_whole() {
        problems.extend(missing_kinds(&table::all_counts(&rows)));
    }
    Ok(problems)
}

/// Locks the scratch directory, so that no other process uses it.
pub(crate) fn lock(directory: &Path) -> Result<File, Failure> {
    let lock = File::create(directory.join("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err("another run is under way; nothing was run".into()),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Trials of a single tree, in addition to the change to the next version.
#[derive(Default)]
struct Extra {
    structured: structured::Tried,
    plans: plans::Tried,
}

impl Extra {
    fn add(&mut self, other: Self) {
        self.structured.add_all(other.structured);
        self.plans.add_all(other.plans);
    }
}

/// Tries the pairs on all processors in parallel. The rows are in the order of the catalogue.
fn rows(
    options: &Options,
    directory: &Path,
    scratch: &Path,
    extra: &mut Extra,
) -> Result<Vec<Row<'static>>, Failure> {
    let cache = Cache::new(directory.join("cache"), scratch.to_owned(), options.network());
    let begun = Instant::now();
    if options.is_whole() {
        edit_documents(&cache, &mut extra.structured);
    }
    let cache = Mutex::new(cache);
    let selected = PAIRS.iter().filter(|pair| options.selects(pair)).enumerate();
    let waiting = Mutex::new(selected);
    let try_all = |place: &Path| {
        let (mut rows, mut extra) = (Vec::new(), Extra::default());
        loop {
            let next = lock_in(&waiting).next();
            let Some((number, pair)) = next else { return (rows, extra) };
            eprintln!("[{:>3} s] {pair}", begun.elapsed().as_secs());
            let result = findings(pair, &cache, place, &mut extra);
            rows.push((number, Row { pair, result: result.map_err(|it| it.to_string()) }));
        }
    };
    let mut rows = thread::scope(|scope| -> Result<Vec<_>, Failure> {
        let places = (0..thread::available_parallelism()?.get())
            .map(|worker| scratch.join(format!("pair{worker}")));
        let workers: Vec<_> = places.map(|place| scope.spawn(move || try_all(&place))).collect();
        let mut all = Vec::new();
        for worker in workers {
            let (rows, tried) = worker.join().map_err(|_| "a thread panicked")?;
            all.extend(rows);
            extra.add(tried);
        }
        Ok(all)
    })?;
    rows.sort_by_key(|(number, _)| *number);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Locks a mutex. It cannot be poisoned here, because a panic ends the entire program.
fn lock_in<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn edit_documents(cache: &Cache, tried: &mut structured::Tried) {
    for (name, version) in DOCUMENTS {
        eprintln!("documents of {name} {version}");
        match cache.get(Kind::Npm, name, version) {
            Ok((tree, _)) => tried.add(name, &tree),
            Err(failure) => tried.problems.push(format!("{name} {version}: {failure}")),
        }
    }
}

fn findings(
    pair: &Pair,
    cache: &Mutex<Cache>,
    place: &Path,
    extra: &mut Extra,
) -> Result<Findings, Failure> {
    let (old, old_out) = lock_in(cache).get(pair.kind, pair.name, pair.old)?;
    let (new, new_out) = lock_in(cache).get(pair.kind, pair.name, pair.new)?;
    let name = pair.to_string();
    extra.structured.add(&name, &old);
    extra.structured.add(&name, &new);
    extra.plans.add(&name, &old, place);
    let material = material(old, new, place)?;
    let by_git = |diff: &[u8]| git_apply(&material, diff, place).map_err(|f| f.to_string());
    let (renames, no_renames) = (by_git(&material.diff), by_git(&material.diff_no_renames));
    let trials = Format::ALL.map(|format| trial::run(format, &material, &place.join("trial")));
    let moved_down =
        moved_down::run(&material.old, &material.diff_no_renames, &place.join("moved-down"));
    Ok(Findings {
        counts: Counts::new(&material),
        paths: material.changes.len(),
        judged: Judged::new(&material.changes)?,
        taken_out: TakenOut {
            links: old_out.links + new_out.links,
            empty_directories: old_out.empty_directories + new_out.empty_directories,
        },
        git_apply: renames.and(no_renames),
        trials: trials.into(),
        moved_down: moved_down.map_err(|failure| failure.to_string()),
    })
}

/// Returns the change between two trees, with git's diffs.
fn material(old: Tree, new: Tree, place: &Path) -> Result<Material, Failure> {
    let directory = place.join("repository");
    fresh(&directory)?;
    let repository = Repository::make(&directory, &old, &new)?;
    Ok(Material {
        changes: changes(&old, &new),
        found: repository.found()?,
        diff: repository.diff(Renames::Found)?,
        diff_no_renames: repository.diff(Renames::NotLookedFor)?,
        old,
        new,
    })
}

/// Returns the time that git takes to turn the old tree into the new one.
fn git_apply(material: &Material, diff: &[u8], place: &Path) -> Result<Duration, Failure> {
    let directory: PathBuf = place.join("git");
    fresh(&directory)?;
    let (root, patch) = (directory.join("root"), directory.join("patch"));
    material.old.write(&root)?;
    std::fs::write(&patch, diff)?;
    let time = git::apply(&root, &patch)?;
    Tree::read(&root)?.check_same(&material.new, Modes::Executable)?;
    Ok(time)
}

/// Returns the kinds of files that no pair of a full run contains. Without any of them, the run would prove less than it claims.
fn missing_kinds(counts: &Counts) -> Vec<String> {
    let kinds = counts.kinds().into_iter().filter(|(_, count)| *count == 0);
    kinds.map(|(kind, _)| format!("no package has a changed file that is {kind}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_kind_missing_from_all_packages_is_a_failure() {
        let missing = missing_kinds(&Counts::default());
        assert_eq!(missing.len(), Counts::default().kinds().len());
        assert_eq!(missing[6], "no package has a changed file that is executable");
    }
}
