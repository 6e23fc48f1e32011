//! Cache of results that an approver was shown. A step that gives another result each time cannot
//! be run again as it was approved, so its result is kept, and published while its inputs are
//! unchanged (EX-1).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use actum_core::Digest;

/// Lifetime of a result: as long as an approval counts.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of all results together; the oldest go first.
const BYTES_MAX: u64 = 4 << 30;
/// Name of the report in the directory of a result: its digest, then its text. It is written last.
const REPORT: &str = "report";

/// Results that are kept, in a directory of the home.
#[derive(Debug, Clone)]
pub struct KeptResults {
    directory: PathBuf,
}

/// Digest of all that a result follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultKey(Digest);

/// Kept result. Nothing here is flushed to the disk, so the report is compared with its digest; it
/// lists the digests of the other files.
#[derive(Debug)]
pub struct KeptResult {
    /// Directory with the files of the result.
    pub directory: PathBuf,
    /// Text of the report.
    pub report: Vec<u8>,
}

impl ResultKey {
    /// Returns the key of a result of this kind that follows from these parts, in this order.
    pub fn new(kind: &str, parts: &[&[u8]]) -> Self {
        Self(Digest::tagged(kind, parts))
    }
}

impl KeptResults {
    /// Results below the home of actum.
    pub fn below(home: &Path) -> Self {
        Self { directory: home.join("sql").join("results") }
    }

    fn place(&self, ResultKey(key): &ResultKey) -> PathBuf {
        self.directory.join(key.to_string())
    }

    /// Returns a result; `None` if none is kept, it is too old, or its report is damaged.
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

    /// Keeps a result of about so many bytes: `write` puts its files into a new directory and
    /// returns its report. Results that are too old or too many are removed.
    ///
    /// # Errors
    /// Errors of the system, and those of `write`. The result is not kept then.
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
        // Remove an earlier one: it may be damaged, or differ from the present one.
        remove(&place)?;
        match fs::rename(new.path(), &place) {
            // Another process kept the same result meanwhile.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            renamed => renamed.map(|()| drop(new.keep())),
        }
    }

    /// Removes a result, so that it is computed again.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove(&self, key: &ResultKey) -> io::Result<()> {
        fs::remove_dir_all(self.place(key))
    }

    /// Removes results that are too old, and then the oldest, until all together have at most
    /// `bytes_max` bytes.
    fn sweep(&self, bytes_max: u64) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            match fs::metadata(path.join(REPORT)) {
                // Another process may remove one meanwhile.
                Ok(report) if !is_old(&report) => {
                    kept.push((report.modified()?, size(&path).unwrap_or(0), path));
                }
                // One that another process is just making is younger than its directory is old.
                Ok(_) => remove(&path)?,
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

/// Removes a result, if it exists.
fn remove(result: &Path) -> io::Result<()> {
    match fs::remove_dir_all(result) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Bytes of the files of a result.
fn size(directory: &Path) -> io::Result<u64> {
    let files = fs::read_dir(directory)?;
    files.map(|file| file?.metadata().map(|file| file.len())).sum()
}

fn is_old(file: &fs::Metadata) -> bool {
    let age = file.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}
