//! Access policies of the operator: the files `*.cedar` in a directory beside the operator's policy.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use actum_access::{AccessError, AccessFileError, Cedar, POLICY_BYTES_MAX};
use actum_core::Digest;
use actum_gate::AccessText;
use actum_gate::policy::Source;

use super::{PolicyError, PolicyProblem, bytes, check_closed};
use crate::error::{ACCESS_FILES_MAX, ACCESS_NAME_BYTES_MAX};

/// Name of the directory.
pub(super) const DIRECTORY: &str = "access";
/// Ending of the file names.
const ENDING: &str = ".cedar";
/// File of access policies that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAccess {
    /// Path of the file.
    pub path: PathBuf,
    /// Digest of the content.
    pub digest: Digest,
    /// Number of policies in the file.
    pub policies: usize,
}

/// Reads the files in the directory beside `operator`, sorted by name. `cedar` must be able to read each of them.
/// A missing directory has no policies.
pub(super) fn read(
    operator: &Path,
    cedar: &Cedar,
) -> Result<(Vec<AccessText>, Vec<ReadAccess>), PolicyError> {
    let directory = operator.with_file_name(DIRECTORY);
    let failed = |path: &Path, problem| PolicyError {
        whose: Source::Operator,
        path: path.to_owned(),
        problem,
    };
    let names = names(&directory).map_err(|problem| failed(&directory, problem))?;
    let mut texts = Vec::with_capacity(names.len());
    for name in names {
        let path = directory.join(&name);
        match text(&path) {
            Ok(text) => texts.push(AccessText { name, text }),
            Err(problem) => return Err(failed(&path, problem)),
        }
    }
    if texts.is_empty() {
        return Ok((texts, Vec::new()));
    }
    let policies = cedar.read(&texts).map_err(|AccessFileError { file, problem }| {
        let path = file.map_or_else(|| directory.clone(), |name| directory.join(name));
        failed(&path, problem.into())
    })?;
    let files = texts.iter().map(|AccessText { name, text }| ReadAccess {
        path: directory.join(name),
        digest: Digest::of(text.as_bytes()),
        policies: policies.count_in(name),
    });
    let files = files.collect();
    Ok((texts, files))
}

/// Lists the names of the files, sorted. Skips names that begin with a dot, as the shell does: editors keep notes
/// under such names.
fn names(directory: &Path) -> Result<Vec<String>, PolicyProblem> {
    let found = match fs::metadata(directory) {
        Ok(found) => found,
        // A dangling link was intended to lead to policies.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && fs::symlink_metadata(directory).is_err() =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(PolicyProblem::Unreadable(error)),
    };
    if !found.is_dir() {
        return Err(PolicyProblem::NoDirectory);
    }
    check_closed(&found, |mode| PolicyProblem::DirectoryTooOpen { mode })?;
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(PolicyProblem::Unreadable)? {
        let name = entry.map_err(PolicyProblem::Unreadable)?.file_name();
        let bytes = name.as_bytes();
        if bytes.ends_with(ENDING.as_bytes()) && !bytes.starts_with(b".") {
            names.push(plain(&name)?);
        }
        if names.len() > ACCESS_FILES_MAX {
            return Err(PolicyProblem::TooManyFiles);
        }
    }
    names.sort();
    Ok(names)
}

/// Returns a name that reads the same in every record and message.
fn plain(name: &OsStr) -> Result<String, PolicyProblem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let plain =
        name.to_str().filter(|it| it.bytes().all(is_plain) && it.len() <= ACCESS_NAME_BYTES_MAX);
    plain.map(ToOwned::to_owned).ok_or_else(|| PolicyProblem::Name { name: name.to_owned() })
}

fn text(path: &Path) -> Result<String, PolicyProblem> {
    // The file existed a moment ago.
    let gone = || PolicyProblem::Unreadable(io::ErrorKind::NotFound.into());
    let bytes = bytes(Source::Operator, path)?.ok_or_else(gone)?;
    if bytes.len() > POLICY_BYTES_MAX {
        return Err(AccessError::Bytes { bytes: bytes.len() }.into());
    }
    String::from_utf8(bytes).map_err(|_| PolicyProblem::NoText)
}
