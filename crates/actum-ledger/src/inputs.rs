//! Requests of waiting plans, and their place in the home: `HOME/tenants/TENANT/queue/PLAN.json`.
//!
//! They hold contents of files, so they are no part of the ledger, which names their digests and
//! keeps everything for ever. The request of a plan is removed when the plan can no longer be
//! carried out.

use actum_core::RunId;
use actum_record::ledger::TenantId;

use crate::error::LedgerError;
use crate::home::{HomeError, LedgerHome};

const QUEUE: &str = "queue";
/// Limit of the time in which a request is written, in seconds; an older one was cut off.
const WRITING_SECONDS_MAX: i64 = 3600;
/// The longest request that is kept, in bytes: 256 MiB.
pub const INPUT_BYTES_MAX: usize = 256 << 20;

/// Store of the requests of waiting plans: beside the ledger of one tenant, for every process that
/// uses it.
pub trait Inputs: Send + Sync {
    /// Keeps the request of a plan, durably: before the plan is queued.
    ///
    /// # Errors
    /// [`LedgerError`]; nothing is kept then.
    fn keep(&self, plan: RunId, bytes: &[u8]) -> Result<(), LedgerError>;

    /// Reads the request of a plan. `None` if it is missing. The caller compares the digest.
    ///
    /// # Errors
    /// [`LedgerError`] if it cannot be read.
    fn read(&self, plan: RunId) -> Result<Option<Vec<u8>>, LedgerError>;

    /// Removes the request of a plan, if there is one.
    ///
    /// # Errors
    /// [`LedgerError`]; the request is kept then.
    fn forget(&self, plan: RunId) -> Result<(), LedgerError>;

    /// Lists the plans whose requests are kept.
    ///
    /// # Errors
    /// [`LedgerError`] if they cannot be listed.
    fn plans(&self) -> Result<Vec<RunId>, LedgerError>;
}

/// Requests of plans as files in the home.
#[derive(Debug, Clone)]
pub struct HomeInputs {
    home: LedgerHome,
    tenant: TenantId,
}

impl HomeInputs {
    /// The requests of a tenant. Nothing is opened before it is needed.
    pub fn new(home: LedgerHome, tenant: TenantId) -> Self {
        Self { home, tenant }
    }
}

impl Inputs for HomeInputs {
    /// Stores the request, and removes leftovers of requests whose writing was cut off.
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

    /// AA-5: a plan waits over a restart.
    #[test]
    fn a_request_is_kept_until_it_is_forgotten() {
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

    /// AEC-8, issue 22: a command that is killed while it queues a plan leaves no file permanently.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    fn what_was_cut_off_is_removed_after_an_hour() {
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
