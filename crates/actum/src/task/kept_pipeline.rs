//! Stores the results of pipelines between approval and publication. The stored result is published, because running
//! a pipeline again may produce different bytes than the approved ones (EX-1, EX-9).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum_core::{Digest, PathRule, RelPath};
use actum_edit::Operation;
use actum_gate::policy::DeclaredPipeline;
use actum_record::receipt::PathEffect;
use actum_sandbox::SandboxPolicy;
use actum_sql::{KeptResults, ResultKey};
use actum_workspace::disk::Disk;
use actum_workspace::{STATE_DIRECTORY, Transaction};
use serde::{Deserialize, Serialize};

use super::pipeline::PipelineRan;

/// Maximum size of a serialized pipeline result, in bytes. A larger result is not stored.
const REPORT_BYTES_MAX: usize = 256 << 20;
/// Maximum number of paths that the key of a pipeline result covers.
const FILES_MAX: usize = 100_000;

/// Stored result of a pipeline: the staged operations and the record of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptPipeline {
    pub(super) operations: Vec<Operation>,
    pub(super) ran: PipelineRan,
}

impl KeptPipeline {
    /// Looks up the stored result for a key. Returns `None` if no result is stored or it cannot be read.
    pub(super) fn find(results: &KeptResults, key: &ResultKey) -> Option<Self> {
        serde_json::from_slice(&results.find(key)?.report).ok()
    }

    /// Stores the result under a key, unless it is too large.
    ///
    /// # Errors
    /// Returns the errors of [`KeptResults::keep`].
    pub(super) fn keep(&self, results: &KeptResults, key: &ResultKey) -> io::Result<()> {
        let report = serde_json::to_vec(self)?;
        if report.len() > REPORT_BYTES_MAX {
            return Ok(());
        }
        results.keep(key, actum_core::count(report.len()), |_| Ok(report))
    }
}

/// State of a path that is part of the key of a pipeline result.
#[derive(Serialize)]
enum Input {
    Absent,
    Directory,
    /// Regular file with its mode and the SHA-256 of its content.
    File(u32, Digest),
}

/// Path with its state.
type Listed = (Vec<u8>, Input);

/// Returns a path with its state. Returns `None` if the path is neither a file nor a directory, such as a link or a
/// device, because its content cannot be covered by a key.
fn input<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    root: &Path,
    path: &RelPath,
) -> Option<Listed> {
    let input = match transaction.file_state(path) {
        Ok(state) => Input::File(state.mode.bits(), state.sha256),
        Err(_) => match fs::symlink_metadata(below(root, path)) {
            Ok(found) if found.is_dir() => Input::Directory,
            Ok(found) if found.is_file() => Input::Absent, // staged to be removed
            Err(error) if error.kind() == io::ErrorKind::NotFound => Input::Absent,
            Ok(_) | Err(_) => return None,
        },
    };
    Some((path.as_bytes().to_vec(), input))
}

/// Computes the key of a pipeline's result from its declaration, its steps, their confinement, and the staged state of
/// all files that its inputs and outputs cover.
///
/// Returns `None` for a pipeline without `inputs`, because it may depend on any file. Also returns `None` if a covered
/// path is a link or cannot be read.
pub(super) fn key<D: Disk>(
    transaction: &mut Transaction<'_, D>,
    (root, declared): (&Path, &DeclaredPipeline),
    steps: &[Vec<String>],
    sandbox: &SandboxPolicy,
) -> Option<ResultKey> {
    let rules: Vec<&PathRule> = declared.inputs.as_ref()?.iter().chain(&declared.outputs).collect();
    let mut paths = BTreeSet::new();
    list(root, &rules, &mut paths).ok()?;
    let is_covered = |path: &RelPath| rules.iter().any(|rule| rule.covers(path));
    let effects = transaction.effects();
    let staged = effects.iter().map(|PathEffect { path, .. }| path.0.clone());
    paths.extend(staged.filter(is_covered));
    // Reading a file through the transaction records the file, so the reads happen in an attempt that is rolled back.
    let looked: Result<(), Option<Vec<Listed>>> =
        transaction.attempt(|it| Err(paths.iter().map(|path| input(it, root, path)).collect()));
    let files = looked.err().flatten()?;
    let parts = serde_json::to_vec(&(declared, steps, sandbox, files)).ok()?;
    Some(ResultKey::new("actum/pipeline-result/1", &[&parts]))
}

fn below(root: &Path, path: &RelPath) -> PathBuf {
    root.join(OsStr::from_bytes(path.as_bytes()))
}

/// Collects the files, directories and links below `root` that at least one rule covers.
fn list(root: &Path, rules: &[&PathRule], found: &mut BTreeSet<RelPath>) -> io::Result<()> {
    let mut directories = vec![None::<RelPath>];
    while let Some(directory) = directories.pop() {
        let path = directory.as_ref().map_or_else(|| root.to_owned(), |path| below(root, path));
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name();
            if directory.is_none() && name == STATE_DIRECTORY {
                continue;
            }
            let name = name.as_bytes();
            let path = match &directory {
                None => name.to_vec(),
                Some(above) => [above.as_bytes(), b"/", name].concat(),
            };
            let path = RelPath::new(path).map_err(io::Error::other)?;
            if rules.iter().any(|rule| rule.covers(&path)) {
                found.insert(path.clone());
            }
            if found.len() > FILES_MAX {
                return Err(io::Error::other("too many files"));
            }
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let itself = PathRule::exactly(&path);
            if itself.is_none_or(|itself| rules.iter().any(|rule| rule.may_meet(&itself))) {
                directories.push(Some(path));
            }
        }
    }
    Ok(())
}
