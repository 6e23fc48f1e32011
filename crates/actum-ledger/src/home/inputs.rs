//! The requests of plans that wait: `HOME/tenants/TENANT/queue/PLAN.json`.
//!
//! They hold contents of files, so they are no part of the ledger, which names their digests and keeps
//! everything for ever. When nothing can come of a plan any more its request is removed.

use actum_core::RunId;

use super::{HomeError, TenantHome};

const QUEUE: &str = "queue";
/// How long a request is being written at most, in seconds; one that is older was cut off.
const WRITING_SECONDS_MAX: i64 = 3600;
/// The longest request that is kept, in bytes: 256 MiB.
pub const INPUT_BYTES_MAX: usize = 256 << 20;

impl TenantHome {
    /// Keeps the request of a plan, durably. Removes what was left of others whose writing was cut off.
    ///
    /// # Errors
    /// [`HomeError`]; nothing is kept then.
    pub fn keep_input(&self, plan: RunId, bytes: &[u8]) -> Result<(), HomeError> {
        let queue = self.directory.directory_made(QUEUE)?;
        if bytes.len() > INPUT_BYTES_MAX {
            let path = queue.path().join(name(plan));
            return Err(HomeError::TooLarge { path, max: INPUT_BYTES_MAX });
        }
        queue.replace(&name(plan), bytes)?;
        queue.remove_cut_off(&name(plan), WRITING_SECONDS_MAX)?;
        self.directory.sync()
    }

    /// The request of a plan, if it is there. Whoever reads it compares the digest.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn input(&self, plan: RunId) -> Result<Option<Vec<u8>>, HomeError> {
        let Some(queue) = self.directory.directory(QUEUE)? else { return Ok(None) };
        let bytes = queue.read(&name(plan), INPUT_BYTES_MAX)?;
        Ok(bytes.map(|mut bytes| std::mem::take(&mut *bytes)))
    }

    /// Removes the request of a plan, if it is there.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn forget_input(&self, plan: RunId) -> Result<(), HomeError> {
        match self.directory.directory(QUEUE)? {
            Some(queue) => queue.remove(&name(plan)),
            None => Ok(()),
        }
    }

    /// The plans whose requests are kept.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn inputs(&self) -> Result<Vec<RunId>, HomeError> {
        let Some(queue) = self.directory.directory(QUEUE)? else { return Ok(Vec::new()) };
        let plan = |name: &String| name.strip_suffix(".json")?.parse().ok();
        Ok(queue.names()?.iter().filter_map(plan).collect())
    }
}

fn name(plan: RunId) -> String {
    format!("{plan}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::LedgerHome;

    /// AA-5: a plan waits over a restart.
    #[test]
    fn a_request_is_kept_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let tenant = home.tenant(&"default".parse().unwrap()).unwrap();
        let [one, two] = [1, 2].map(RunId::from_random);
        assert_eq!(tenant.inputs().unwrap(), []);
        assert_eq!(tenant.input(one).unwrap(), None);
        tenant.forget_input(one).unwrap();
        tenant.keep_input(one, b"{}").unwrap();
        tenant.keep_input(two, b"[]").unwrap();
        let home = LedgerHome::open_existing(home.path()).unwrap().unwrap();
        let tenant = home.existing_tenant(&"default".parse().unwrap()).unwrap().unwrap();
        assert_eq!(tenant.inputs().unwrap(), [one, two]);
        assert_eq!(tenant.input(one).unwrap().unwrap(), b"{}");
        tenant.forget_input(one).unwrap();
        assert_eq!(tenant.inputs().unwrap(), [two]);
    }

    /// AEC-8, issue 22: a command that is killed while it queues a plan fills no disk for good.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn what_was_cut_off_is_removed_after_an_hour() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let tenant = home.tenant(&"default".parse().unwrap()).unwrap();
        let [one, two] = [1, 2].map(RunId::from_random);
        tenant.keep_input(one, b"{}").unwrap();
        let queue = tenant.directory.path().join(QUEUE);
        let written = std::fs::metadata(queue.join(name(one))).unwrap().modified().unwrap();
        let cut_off = |name: &str, seconds: u64| {
            let path = queue.join(name);
            std::fs::write(&path, "{").unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(written - std::time::Duration::from_secs(seconds)).unwrap();
            path
        };
        let (old, young) = (cut_off("a.json.new", 4000), cut_off("b.json.new", 3000));
        tenant.keep_input(two, b"[]").unwrap();
        assert!(!old.exists() && young.exists());
        assert_eq!(tenant.inputs().unwrap(), [one, two]);
    }
}
