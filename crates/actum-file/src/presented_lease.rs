//! Lease that came with a file task, checked by the gate of leases.

use actum::reason::Reason;
use actum::{Error, FileTask, Records, Request, RequestLease};
use actum_core::{RelPath, Timestamp};
use actum_gate::Ground;
use actum_gate::ground::LeaseProblem;
use actum_ledger::{LedgerError, Refusal};

use crate::path::FilePath;
use crate::ports::{LeaseCheck, LeaseFacts, LeaseNeed, LeaseRefusal};

/// Lease that came with a request, or the reason why it is missing.
pub struct PresentedLease<'r> {
    records: &'r Records,
    lease: Result<RequestLease, LeaseRefusal>,
}

impl<'r> PresentedLease<'r> {
    /// Lease of a verified token; `None` if the request has none.
    pub fn new(records: &'r Records, presented: Result<Option<RequestLease>, Error>) -> Self {
        let missing = || refusal(Reason::LeaseRequired, "a file task needs a lease, and has none");
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
            door: actum::EntryPoint::FileTask,
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
        // A path that no workspace can have is rejected when it is located.
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
    /// Refusal for an error of the engine.
    fn from_error(error: &Error) -> Self {
        Self::in_error(error)
            .unwrap_or_else(|| refusal(actum::reason::of_engine(error), &error.to_string()))
    }

    /// Refusal in a denial by the gate of leases, or by the ledger; `None` if the error has another
    /// cause.
    pub(crate) fn in_error(error: &Error) -> Option<Self> {
        if let Error::Ledger { source: LedgerError::Refused { refusal: refused } } = error {
            return of_ledger(refused);
        }
        let Error::Denied { gates } = error else { return None };
        let mut grounds = gates.iter().map(|gate| &gate.ground.first);
        grounds.find_map(of_ground)
    }
}

/// Refusal by the gate of leases.
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

/// Refusal of the ledger to let anything start under the lease.
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
