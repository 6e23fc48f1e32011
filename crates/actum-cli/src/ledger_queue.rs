//! Access to the queue of pending plans in a ledger.

use std::path::Path;

use actum::QueuedPlan;
use actum_core::RunId;
use actum_ledger::{HomeInputs, LedgerHome, LedgerView, Log};
use actum_record::keyring::Keyring;
use actum_workspace::View;

use crate::failure::Failure;
use crate::home::{self, Tenant};
use crate::plan_failure::PlanFailure;
use crate::root;
use crate::run_prefix::RunPrefix;
use crate::trusted::Trusted;

/// Approval queue of one ledger, together with the keyring and the stored requests that are needed to read it.
pub(crate) struct Queue {
    pub(crate) home: LedgerHome,
    /// Stored requests of the pending plans.
    pub(crate) inputs: HomeInputs,
    pub(crate) view: LedgerView,
    pub(crate) keyring: Keyring,
}

impl Queue {
    /// Opens the queue. Returns `None` if the ledger does not exist, instead of creating it.
    pub(crate) fn open(tenant: &Tenant) -> Result<Option<Self>, Failure> {
        let place = home::path()?;
        let Some(home) = LedgerHome::open_existing(&place).map_err(actum::Error::from)? else {
            return Ok(None);
        };
        let tenant = tenant.id()?;
        let view = LedgerView::open(&home, &tenant).map_err(actum::Error::from)?;
        let Some(view) = view else { return Ok(None) };
        let keyring = Trusted::in_home(&home)?.keyring;
        let inputs = HomeInputs::new(home.clone(), tenant);
        Ok(Some(Self { home, inputs, view, keyring }))
    }

    /// Returns the plans that are still open, oldest first. Expired plans are included.
    pub(crate) fn plans(&self) -> Result<Vec<QueuedPlan>, Failure> {
        Ok(QueuedPlan::open(&self.view, &self.keyring).map_err(actum::Error::from)?)
    }

    /// Returns the plan with the given id, if the ledger has it.
    pub(crate) fn plan(&self, plan: RunId) -> Result<Option<QueuedPlan>, Failure> {
        let row = self.view.plan(plan).map_err(actum::Error::from)?;
        let read = row.map(|row| QueuedPlan::read(&self.view, &self.keyring, row));
        Ok(read.transpose().map_err(actum::Error::from)?)
    }

    /// Returns the only plan that matches `prefix`. A whole id can select any plan, while a shorter prefix selects among the
    /// open plans. If none of them matches, the newest plans of the workspace around `start` are searched.
    pub(crate) fn find(&self, prefix: &RunPrefix, start: &Path) -> Result<QueuedPlan, Failure> {
        let none = || PlanFailure::None { prefix: prefix.to_string() };
        if let Some(whole) = prefix.whole() {
            return Ok(self.plan(whole)?.ok_or_else(none)?);
        }
        let mut found = self.plans()?;
        found.retain(|plan| prefix.begins(plan.id()));
        if found.is_empty() {
            found = self.newest(start, prefix)?;
        }
        match found.len() {
            0 => Err(none().into()),
            1 => Ok(found.remove(0)),
            _ => {
                let plans = found.iter().map(QueuedPlan::id).collect();
                Err(PlanFailure::Ambiguous { prefix: prefix.to_string(), plans }.into())
            }
        }
    }

    /// Returns those of the newest plans of the workspace around `start` whose ids begin with `prefix`.
    fn newest(&self, start: &Path, prefix: &RunPrefix) -> Result<Vec<QueuedPlan>, Failure> {
        let root = root::existing(start);
        let workspace = match root::is_made(root) {
            true => View::open(root)?.workspace_id()?,
            false => None,
        };
        let Some(workspace) = workspace else { return Ok(Vec::new()) };
        let rows = self.view.newest_plans(workspace, NEWEST_MAX).map_err(actum::Error::from)?;
        let matching = rows.into_iter().filter(|row| prefix.begins(row.plan));
        let read = matching.map(|row| QueuedPlan::read(&self.view, &self.keyring, row));
        Ok(read.collect::<Result<_, _>>().map_err(actum::Error::from)?)
    }
}

/// Maximum number of a workspace's newest plans that are searched for one that is no longer open.
const NEWEST_MAX: u64 = 1000;
