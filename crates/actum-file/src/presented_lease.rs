//! Lease that comes with the request for a file task, and its check by the lease gate.

use actum::reason::Reason;
use actum::{Error, FileTask, Records, Request, RequestLease};
use actum_core::{RelPath, Timestamp};
use actum_gate::Ground;
use actum_gate::ground::LeaseProblem;
use actum_ledger::{LedgerError, Refusal};

use crate::path::FilePath;
use crate::ports::{LeaseCheck, LeaseFacts, LeaseNeed, LeaseRefusal};

/// Lease that came with a request, or the reason why there is no valid lease.
pub struct PresentedLease<'r> {
    records: &'r Records,
    lease: Result<RequestLease, LeaseRefusal>,
}

impl<'r> PresentedLease<'r> {
    /// Creates the check for the result of verifying a token. `presented` is `Ok(None)` if the request has no lease.
    pub fn new(records: &'r Records, presented: Result<Option<RequestLease>, Error>) -> Self {
        let missing = || {
            refusal(Reason::LeaseRequired, "a file task requires a lease, but the request has none")
        };
        let lease = match presented {
            Ok(lease) => lease.ok_or_else(missing),
            Err(error) => Err(LeaseRefusal::from_error(&error)),
        };
        Self { records, lease }
    }
}

impl LeaseCheck for PresentedLease<'_> {
    fn check(&self, need: &LeaseNeed<'_>, now: Timestamp) -> Result<LeaseFacts, LeaseRefusal> {
        let lease = self.lease.clone()?.verify(self.records);
        let lease = lease.map_err(|error| LeaseRefusal::from_error(&error))?;
        let judged = if need.is_started { lease.clone().before_use() } else { lease.clone() };
        let request = Request {
            actor: need.actor.clone(),
            entry_point: actum::EntryPoint::FileTask,
            file_task: Some(FileTask {
                task: need.task.clone(),
                manifest: need.manifest,
                capability: need.capability.as_capability(),
                limits: lease.quotas(),
            }),
            lease: Some(judged),
            ..Request::apply(Vec::new())
        };
        let relative = |path: &FilePath| RelPath::new(path.as_str().trim_start_matches('/')).ok();
        // A path that is not valid in any workspace is rejected later, when its base directory is determined.
        let paths = match (need.destination, relative(need.source)) {
            (_, None) => None,
            (None, Some(source)) => Some((source, None)),
            (Some(path), Some(source)) => relative(path).map(|path| (path, Some(source))),
        };
        match request.check_lease_of_file(paths, self.records.tenant(), now) {
            Ok(()) => Ok(LeaseFacts { lease }),
            Err(error) => Err(LeaseRefusal::from_error(&error)),
        }
    }
}

impl LeaseRefusal {
    /// Converts any error of the engine to a refusal.
    fn from_error(error: &Error) -> Self {
        Self::in_error(error)
            .unwrap_or_else(|| refusal(actum::reason::of_engine(error), &error.to_string()))
    }

    /// Returns the refusal if the lease gate or the ledger rejected the lease, or `None` if the error has another cause.
    pub(crate) fn in_error(error: &Error) -> Option<Self> {
        if let Error::Ledger { source: LedgerError::Refused { refusal: refused } } = error {
            return of_ledger(refused);
        }
        let Error::Denied { gates } = error else { return None };
        let mut grounds = gates.iter().map(|gate| &gate.ground.first);
        grounds.find_map(of_ground)
    }
}

/// Returns the refusal if a ground comes from the lease gate.
fn of_ground(ground: &Ground) -> Option<LeaseRefusal> {
    let message = ground.to_string();
    if matches!(ground, Ground::LeaseRequired { .. }) {
        return Some(refusal(Reason::LeaseRequired, &message));
    }
    let Ground::LeaseDenies { problem, .. } = ground else { return None };
    let is_in_force = !matches!(
        problem,
        LeaseProblem::NotGranted
            | LeaseProblem::Revoked
            | LeaseProblem::NotYetValid { .. }
            | LeaseProblem::Expired { .. }
            | LeaseProblem::UsedUp { .. }
    );
    let reason = if is_in_force { Reason::LeaseDenies } else { Reason::LeaseNotInForce };
    Some(match problem {
        LeaseProblem::Expired { .. } => LeaseRefusal::Expired { reason: reason.name(), message },
        LeaseProblem::NotGranted
        | LeaseProblem::Revoked
        | LeaseProblem::NotYetValid { .. }
        | LeaseProblem::UsedUp { .. }
        | LeaseProblem::OtherTenant { .. }
        | LeaseProblem::OtherAgent { .. }
        | LeaseProblem::OtherTask { .. }
        | LeaseProblem::Capability { .. }
        | LeaseProblem::OutsideDirectories { .. }
        | LeaseProblem::OutsideScope { .. } => refusal(reason, &message),
        LeaseProblem::Quota { .. } => {
            LeaseRefusal::Exhausted { reason: Reason::QuotaExceeded.name(), message }
        }
    })
}

/// Returns the refusal if the ledger does not allow any start under the lease.
fn of_ledger(refused: &Refusal) -> Option<LeaseRefusal> {
    let is_of_lease = matches!(
        refused,
        Refusal::LeaseNotGranted { .. }
            | Refusal::LeaseRevoked { .. }
            | Refusal::LeaseUsedUp { .. }
    );
    is_of_lease.then(|| refusal(Reason::LeaseNotInForce, &refused.to_string()))
}

fn refusal(reason: Reason, message: &str) -> LeaseRefusal {
    LeaseRefusal::Invalid { reason: reason.name(), message: message.to_owned() }
}
