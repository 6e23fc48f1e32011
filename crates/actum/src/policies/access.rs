//! Reads the operator's access policies, which are the `*.cedar` files in the directory `access` next to the operator's
//! policy.

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

/// Name of the directory that contains the access policies.
pub(super) const DIRECTORY: &str = "access";
/// File name extension of access policies.
const ENDING: &str = ".cedar";

/// Facts about an access policy file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAccess {
    /// Path of the access policy file.
    pub path: PathBuf,
    /// Digest of the file's content.
    pub digest: Digest,
    /// Number of access policies in the file.
    pub policies: usize,
}

/// Reads the access policy files next to the policy file `operator`, sorted by name. Fails if `cedar` cannot parse one
/// of them. A missing directory counts as an empty one.
pub(super) fn read(
    operator: &Path,
    cedar: &Cedar,
) -> Result<(Vec<AccessText>, Vec<ReadAccess>), PolicyError> {
    let directory = operator.with_file_name(DIRECTORY);
    let failed = |path: &Path, problem| PolicyError {
        origin: Source::Operator,
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

/// Lists the names of the access policy files in sorted order. Names that begin with a dot are skipped, because editors
/// use them for temporary files.
fn names(directory: &Path) -> Result<Vec<String>, PolicyProblem> {
    let found = match fs::metadata(directory) {
        Ok(found) => found,
        // A dangling link is an error, because it was intended to lead to policies.
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

/// Checks that a file name is short and consists only of characters that need no escaping in records and messages.
fn plain(name: &OsStr) -> Result<String, PolicyProblem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let plain =
        name.to_str().filter(|it| it.bytes().all(is_plain) && it.len() <= ACCESS_NAME_BYTES_MAX);
    plain.map(ToOwned::to_owned).ok_or_else(|| PolicyProblem::Name { name: name.to_owned() })
}

fn text(path: &Path) -> Result<String, PolicyProblem> {
    // The directory listing contained the file, so a missing file is an error here.
    let gone = || PolicyProblem::Unreadable(io::ErrorKind::NotFound.into());
    let bytes = bytes(Source::Operator, path)?.ok_or_else(gone)?;
    if bytes.len() > POLICY_BYTES_MAX {
        return Err(AccessError::Bytes { bytes: bytes.len() }.into());
    }
    String::from_utf8(bytes).map_err(|_| PolicyProblem::NoText)
}
