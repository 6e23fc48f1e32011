//! Which workspaces' policies the operator trusts: the digest that each had when that was said.
//!
//! It stands beside the keys and not in the workspace, where a change could say it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::Digest;
use actum_core::path::Quoted;
use serde::{Deserialize, Serialize};

use super::{HomeError, LedgerHome};

const TRUSTED: &str = "trusted";
/// The longest record: a path, escaped, and what stands around it.
const RECORD_BYTES_MAX: usize = 64 << 10;
const FORMAT: &str = "actum.trusted-policy/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: String,
    /// Which workspace, for the reader; its name is the digest of the path.
    root: String,
    policy: Digest,
}

impl LedgerHome {
    /// The digest of the policy that was trusted in the workspace at `root`, which is a path without
    /// links. A record that cannot be read counts as none.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn trusted(&self, root: &Path) -> Result<Option<Digest>, HomeError> {
        let Some(directory) = self.root().directory(TRUSTED)? else { return Ok(None) };
        let Some(bytes) = directory.read(&name(root), RECORD_BYTES_MAX)? else { return Ok(None) };
        let record = serde_json::from_slice::<Record>(&bytes).ok();
        Ok(record.filter(|record| record.format == FORMAT).map(|record| record.policy))
    }

    /// Trusts the policy of that digest in the workspace at `root`, durably.
    ///
    /// # Errors
    /// [`HomeError`]; nothing is trusted that was not before.
    pub fn trust(&self, root: &Path, policy: Digest) -> Result<(), HomeError> {
        let shown = Quoted(root.as_os_str().as_bytes()).to_string();
        let record = Record { format: FORMAT.to_owned(), root: shown, policy };
        let bytes = serde_json::to_vec(&record).map_err(|error| HomeError::Unwritable {
            path: self.path().to_owned(),
            source: error.into(),
        })?;
        self.change(|home| home.directory_made(TRUSTED)?.replace(&name(root), &bytes))
    }

    /// Trusts no policy of the workspace at `root` any more.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn distrust(&self, root: &Path) -> Result<(), HomeError> {
        let Some(directory) = self.root().directory(TRUSTED)? else { return Ok(()) };
        self.change(|_| {
            directory.remove(&name(root))?;
            directory.sync()
        })
    }
}

fn name(root: &Path) -> String {
    Digest::tagged("actum/trust/v1", &[root.as_os_str().as_bytes()]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-5: trust is of one policy in one place.
    #[test]
    fn a_policy_is_trusted_in_its_workspace_until_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let (here, there) = (Path::new("/project"), Path::new("/other"));
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        assert_eq!(home.trusted(here).unwrap(), None);
        home.distrust(here).unwrap();
        home.trust(here, one).unwrap();
        home.trust(here, two).unwrap();
        let home = LedgerHome::open_existing(home.path()).unwrap().unwrap();
        assert_eq!(home.trusted(here).unwrap(), Some(two));
        assert_eq!(home.trusted(there).unwrap(), None);
        home.distrust(here).unwrap();
        assert_eq!(home.trusted(here).unwrap(), None);
    }
}
