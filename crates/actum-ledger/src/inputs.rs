//! Stores the requests of queued plans in `HOME/tenants/TENANT/queue/PLAN.json`.
//!
//! Requests contain file contents, so they are not part of the ledger, from which nothing can ever be removed. The
//! ledger only records their digests. The request of a plan is removed when the plan can no longer be carried out.

use actum_core::RunId;
use actum_record::ledger::TenantId;

use crate::error::LedgerError;
use crate::home::{HomeError, LedgerHome};

const QUEUE: &str = "queue";
/// Maximum time for writing a request, in seconds. An older temporary file is a leftover of an interrupted write.
const WRITING_SECONDS_MAX: i64 = 3600;
/// Maximum size of a stored request, 256 MiB.
pub const INPUT_BYTES_MAX: usize = 256 << 20;

/// Store for the requests of queued plans. It belongs to the ledger of one tenant and is shared by all processes that use
/// that ledger.
pub trait Inputs: Send + Sync {
    /// Stores the request of a plan durably. This must be done before the plan is queued.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the request was not stored.
    fn keep(&self, plan: RunId, bytes: &[u8]) -> Result<(), LedgerError>;

    /// Returns the request of a plan, or `None` if it is missing. The caller must compare its digest.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the request cannot be read.
    fn read(&self, plan: RunId) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Removes the request of a plan if it exists.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the request cannot be removed.
    fn forget(&self, plan: RunId) -> Result<(), LedgerError>;

    /// Lists the plans whose requests are stored.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the requests cannot be listed.
    fn plans(&self) -> Result<Vec<RunId>, LedgerError>;
}

/// Store that keeps each request as a file in the home directory of the ledger.
#[derive(Debug, Clone)]
pub struct HomeInputs {
    home: LedgerHome,
    tenant: TenantId,
}

impl HomeInputs {
    /// Creates the store for a tenant. No file is opened until it is needed.
    pub fn new(home: LedgerHome, tenant: TenantId) -> Self {
        Self { home, tenant }
    }
}

impl Inputs for HomeInputs {
    /// Stores the request, and removes leftovers of earlier interrupted writes.
    fn keep(&self, plan: RunId, bytes: &[u8]) -> Result<(), LedgerError> {
        let tenant = self.home.tenant(&self.tenant)?;
        let directory = tenant.directory();
        let queue = directory.directory_made(QUEUE)?;
        if bytes.len() > INPUT_BYTES_MAX {
            let path = queue.path().join(name(plan));
            return Err(HomeError::TooLarge { path, max: INPUT_BYTES_MAX }.into());
        }
        queue.replace(&name(plan), bytes)?;
        queue.remove_cut_off(&name(plan), WRITING_SECONDS_MAX)?;
        Ok(directory.sync()?)
    }

    fn read(&self, plan: RunId) -> Result<Option<Vec<u8>>, LedgerError> {
        let Some(tenant) = self.home.existing_tenant(&self.tenant)? else { return Ok(None) };
        let Some(queue) = tenant.directory().directory(QUEUE)? else { return Ok(None) };
        let bytes = queue.read(&name(plan), INPUT_BYTES_MAX)?;
        Ok(bytes.map(|mut bytes| std::mem::take(&mut *bytes)))
    }

    fn forget(&self, plan: RunId) -> Result<(), LedgerError> {
        let Some(tenant) = self.home.existing_tenant(&self.tenant)? else { return Ok(()) };
        match tenant.directory().directory(QUEUE)? {
            Some(queue) => Ok(queue.remove(&name(plan))?),
            None => Ok(()),
        }
    }

    fn plans(&self) -> Result<Vec<RunId>, LedgerError> {
        let Some(tenant) = self.home.existing_tenant(&self.tenant)? else { return Ok(Vec::new()) };
        let Some(queue) = tenant.directory().directory(QUEUE)? else { return Ok(Vec::new()) };
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

    /// AA-5: a queued plan survives a restart.
    #[test]
    fn queued_request_is_kept_until_removed() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let inputs = HomeInputs::new(home.clone(), TenantId::default());
        let [one, two] = [1, 2].map(RunId::from_random);
        assert_eq!(inputs.plans().unwrap(), []);
        assert_eq!(inputs.read(one).unwrap(), None);
        inputs.forget(one).unwrap();
        inputs.keep(one, b"{}").unwrap();
        inputs.keep(two, b"[]").unwrap();
        let home = LedgerHome::open_existing(home.path()).unwrap().unwrap();
        let inputs = HomeInputs::new(home, TenantId::default());
        assert_eq!(inputs.plans().unwrap(), [one, two]);
        assert_eq!(inputs.read(one).unwrap().unwrap(), b"{}");
        inputs.forget(one).unwrap();
        assert_eq!(inputs.plans().unwrap(), [two]);
    }

    /// AEC-8, issue 22: the temporary file of a command that is killed while it queues a plan is removed later.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn leftover_temporary_file_is_removed_after_an_hour() {
        let directory = tempfile::tempdir().unwrap();
        let home = LedgerHome::open(&directory.path().join("home")).unwrap();
        let inputs = HomeInputs::new(home.clone(), TenantId::default());
        let [one, two] = [1, 2].map(RunId::from_random);
        inputs.keep(one, b"{}").unwrap();
        let tenant = home.tenant(&TenantId::default()).unwrap();
        let queue = tenant.path().join(QUEUE);
        let written = std::fs::metadata(queue.join(name(one))).unwrap().modified().unwrap();
        let cut_off = |name: &str, seconds: u64| {
            let path = queue.join(name);
            std::fs::write(&path, "{").unwrap();
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(written - std::time::Duration::from_secs(seconds)).unwrap();
            path
        };
        let (old, young) = (cut_off("a.json.new", 4000), cut_off("b.json.new", 3000));
        inputs.keep(two, b"[]").unwrap();
        assert!(!old.exists() && young.exists());
        assert_eq!(inputs.plans().unwrap(), [one, two]);
    }
}
