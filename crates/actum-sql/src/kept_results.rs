//! Cache of results that were shown to an approver (EX-1). A step whose result differs on each execution cannot
//! reproduce the approved one. Its result is therefore stored, and published as long as its inputs are unchanged.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use actum_core::Digest;

/// Time for which a result is stored, which is equal to the validity of an approval.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum size of all stored results together, in bytes. If they exceed it, the oldest ones are removed.
const BYTES_MAX: u64 = 4 << 30;
/// Name of the report file in the directory of a result. The file contains the digest of the report, followed by the
/// report itself, and is written last.
const REPORT: &str = "report";

/// Cache of results in a directory of actum's home.
#[derive(Debug, Clone)]
pub struct KeptResults {
    directory: PathBuf,
}

/// Digest of everything that determines a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultKey(Digest);

/// Stored result. Its files are not flushed to disk, so the report is checked against its digest. The report lists the
/// digests of the other files.
#[derive(Debug)]
pub struct KeptResult {
    /// Directory with the files of the result.
    pub directory: PathBuf,
    /// Content of the report.
    pub report: Vec<u8>,
}

impl ResultKey {
    /// Creates the key for a result of the given kind from everything that determines it. The order of the parts is
    /// significant.
    pub fn new(kind: &str, parts: &[&[u8]]) -> Self {
        Self(Digest::tagged(kind, parts))
    }
}

impl KeptResults {
    /// Returns the cache in actum's home directory `home`.
    pub fn below(home: &Path) -> Self {
        Self { directory: home.join("sql").join("results") }
    }

    fn place(&self, ResultKey(key): &ResultKey) -> PathBuf {
        self.directory.join(key.to_string())
    }

    /// Returns a stored result, or `None` if it does not exist, is too old, or has a damaged report.
    pub fn find(&self, key: &ResultKey) -> Option<KeptResult> {
        let directory = self.place(key);
        let path = directory.join(REPORT);
        if is_old(&fs::metadata(&path).ok()?) {
            return None;
        }
        let mut report = fs::read(path).ok()?;
        let text = report.split_off(report.iter().position(|byte| *byte == b'\n')? + 1);
        (report.trim_ascii_end() == Digest::of(&text).to_string().as_bytes())
            .then_some(KeptResult { directory, report: text })
    }

    /// Stores a result whose size is about `bytes`. The callback `write` creates the files in a new directory and
    /// returns the report. Results that are too old or exceed the size limit are removed.
    ///
    /// # Errors
    /// Returns the errors of the file system and of `write`. In that case, the result is not stored.
    pub fn keep(
        &self,
        key: &ResultKey,
        bytes: u64,
        write: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        self.sweep(BYTES_MAX.saturating_sub(bytes))?;
        let new = tempfile::tempdir_in(&self.directory)?;
        let report = write(new.path())?;
        let digest = Digest::of(&report);
        fs::write(new.path().join(REPORT), [format!("{digest}\n").as_bytes(), &report].concat())?;
        let place = self.place(key);
        // Remove an earlier result, because it may be damaged or differ from the new one.
        remove(&place)?;
        match fs::rename(new.path(), &place) {
            // Another process has stored the same result in the meantime.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            renamed => renamed.map(|()| drop(new.keep())),
        }
    }

    /// Removes a result, so that it is computed again.
    ///
    /// # Errors
    /// Returns an error if the result does not exist or cannot be removed.
    pub fn remove(&self, key: &ResultKey) -> io::Result<()> {
        fs::remove_dir_all(self.place(key))
    }

    /// Removes results that are too old, and then the oldest ones until the rest occupies at most `bytes_max` bytes.
    fn sweep(&self, bytes_max: u64) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            match fs::metadata(path.join(REPORT)) {
                // The size is unknown if another process removes the result concurrently.
                Ok(report) if !is_old(&report) => {
                    kept.push((report.modified()?, size(&path).unwrap_or(0), path));
                }
                Ok(_) => remove(&path)?,
                // A recent directory without a report may belong to a process that is still writing the result.
                Err(_) if fs::metadata(&path).is_ok_and(|made| is_old(&made)) => remove(&path)?,
                Err(_) => {}
            }
        }
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in kept {
            if bytes <= bytes_max {
                break;
            }
            remove(&path)?;
            bytes = bytes.saturating_sub(size);
        }
        Ok(())
    }
}

/// Removes the directory of a result, if it exists.
fn remove(result: &Path) -> io::Result<()> {
    match fs::remove_dir_all(result) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the total size of the files of a result, in bytes.
fn size(directory: &Path) -> io::Result<u64> {
    let files = fs::read_dir(directory)?;
    files.map(|file| file?.metadata().map(|file| file.len())).sum()
}

fn is_old(file: &fs::Metadata) -> bool {
    let age = file.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}
