//! Records which workspace policies the operator trusts, with the digest of each policy when it was trusted.
//!
//! The records are stored next to the keys, because a change to the workspace could forge a record that is stored there.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::path::Quoted;
use actum_core::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Directory, HomeError, LedgerHome};

pub(super) const TRUSTED: &str = "trusted";
/// Maximum size of a record in bytes, which has to hold an escaped path and the JSON around it.
const RECORD_BYTES_MAX: usize = 64 << 10;
const FORMAT: &str = "actum.trusted-policy/1";

/// Policy of a workspace that is trusted by the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPolicy {
    /// Digest of the policy file when it was trusted.
    pub policy: Digest,
    /// Time from which the policy is trusted.
    pub from: Timestamp,
    /// Path of the workspace root, with special characters escaped.
    pub root: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: String,
    /// Path of the workspace root, for human readers only. The record is found by its file name, a digest of the path.
    root: String,
    policy: Digest,
    /// Time from which the policy is trusted. Omitted if it was trusted immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
}

impl LedgerHome {
    /// Returns the policy that is trusted in the workspace at `root`, which must be a path without symbolic links.
    ///
    /// Returns `None` if no policy is trusted or if the record is malformed.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the record exists but cannot be read.
    pub fn trusted(&self, root: &Path) -> Result<Option<TrustedPolicy>, HomeError> {
        let Some(directory) = self.root().directory(TRUSTED)? else { return Ok(None) };
        read(&directory, &name(root))
    }

    /// Lists the trusted policies of all workspaces whose trust takes effect only after `now`.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the records cannot be read.
    pub fn waiting_trust(&self, now: Timestamp) -> Result<Vec<TrustedPolicy>, HomeError> {
        let Some(directory) = self.root().directory(TRUSTED)? else { return Ok(Vec::new()) };
        let mut waiting = Vec::new();
        for name in directory.names()? {
            waiting.extend(read(&directory, &name)?.filter(|trusted| trusted.from > now));
        }
        Ok(waiting)
    }

    /// Durably records that the policy with this digest is trusted in the workspace at `root`.
    ///
    /// The trust takes effect at the time `from`, or immediately if it is `None`.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the record cannot be written. No additional policy is trusted in this case.
    pub fn trust(
        &self,
        root: &Path,
        policy: Digest,
        from: Option<Timestamp>,
    ) -> Result<(), HomeError> {
        let shown = Quoted(root.as_os_str().as_bytes()).to_string();
        let record = Record { format: FORMAT.to_owned(), root: shown, policy, from };
        let bytes = serde_json::to_vec(&record).map_err(|error| HomeError::Unwritable {
            path: self.path().to_owned(),
            source: error.into(),
        })?;
        self.change(|home| home.directory_made(TRUSTED)?.replace(&name(root), &bytes))
    }

    /// Stops trusting the policy of the workspace at `root`.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the record cannot be removed.
    pub fn distrust(&self, root: &Path) -> Result<(), HomeError> {
        let Some(directory) = self.root().directory(TRUSTED)? else { return Ok(()) };
        self.change(|_| {
            directory.remove(&name(root))?;
            directory.sync()
        })
    }
}

fn read(directory: &Directory, name: &str) -> Result<Option<TrustedPolicy>, HomeError> {
    let Some(bytes) = directory.read(name, RECORD_BYTES_MAX)? else { return Ok(None) };
    let record = serde_json::from_slice::<Record>(&bytes).ok();
    Ok(record.filter(|record| record.format == FORMAT).map(|record| {
        let from = record.from.unwrap_or(Timestamp::from_micros(0));
        TrustedPolicy { policy: record.policy, from, root: record.root }
    }))
}

fn name(root: &Path) -> String {
    Digest::tagged("actum/trust/v1", &[root.as_os_str().as_bytes()]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5: trust applies to a single policy in a single workspace.
    #[test]
    fn policy_trust_applies_only_to_its_workspace_until_revoked() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let (here, there) = (Path::new("/project"), Path::new("/other"));
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        assert_eq!(home.trusted(here).unwrap(), None);
        home.distrust(here).unwrap();
        home.trust(here, one, Some(Timestamp::from_micros(9))).unwrap();
        let waits = TrustedPolicy {
            policy: one,
            from: Timestamp::from_micros(9),
            root: "/project".to_owned(),
        };
        assert_eq!(home.waiting_trust(Timestamp::from_micros(8)).unwrap(), [waits]);
        assert_eq!(home.waiting_trust(Timestamp::from_micros(9)).unwrap(), []);
        home.trust(here, two, None).unwrap();
        let home = LedgerHome::open_existing(home.path()).unwrap().unwrap();
        assert_eq!(home.trusted(here).unwrap().map(|trusted| trusted.policy), Some(two));
        assert_eq!(home.trusted(there).unwrap(), None);
        home.distrust(here).unwrap();
        assert_eq!(home.trusted(here).unwrap(), None);
    }
}
