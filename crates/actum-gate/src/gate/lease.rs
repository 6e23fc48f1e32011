//! Lease gate: checks whether a request needs a lease, and whether its lease allows the change (FE-17, D-7).

use actum_core::path_name::PathName;
use actum_core::{RelPath, Scope};
use actum_record::lease::{BaseDirectory, LeaseTerms};

use super::GateVerdict;
use crate::decision::{Bundle, LeadsTo, LeaseBlock, LeaseCase};
use crate::ground::{Ground, LeaseProblem, QuotaName};
use crate::policy::{LeasedWork, Policy};

/// Entry point whose requests always need a lease.
const FILE_TASK: &str = "file task";

/// Judges the lease of a request. If a request has a lease, the change must satisfy its terms, even if no lease
/// is required and even for an undo. Without a lease, an undo that only restores an earlier state is allowed.
pub(crate) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let Some(lease) = bundle.lease() else { return without_lease(bundle, policy) };
    let allowed = || {
        let id = lease.blocks.last().map(|block| block.id);
        id.map_or_else(
            || GateVerdict::deny(Ground::NoLeaseBlock),
            |lease| GateVerdict::allow(Ground::LeaseAllows { lease }),
        )
    };
    denial(bundle, lease).map_or_else(allowed, GateVerdict::deny)
}

fn without_lease(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let entry_point = bundle.entry_point();
    let mut layers = policy.layers().iter();
    let required = layers.find(|layer| LeasedWork::is_required(&layer.lease, entry_point));
    let policy = required.map(|layer| layer.source);
    if entry_point != FILE_TASK && policy.is_none() {
        return GateVerdict::allow(Ground::NoLease);
    }
    if bundle.restores() {
        return GateVerdict::allow(Ground::Restores);
    }
    GateVerdict::deny(Ground::LeaseRequired { entry_point: entry_point.to_owned(), policy })
}

/// Returns the first lease term that the request violates.
fn denial(bundle: &Bundle, lease: &LeaseCase) -> Option<Ground> {
    let mut directories = None;
    lease.blocks.iter().zip(1..).find_map(|(block, number)| {
        directories = block.terms.base_directories.as_ref().or(directories);
        let directories = directories.into_iter().flatten();
        let is_granted = number > 1 || lease.granted;
        let problem = (!is_granted).then_some(LeaseProblem::NotGranted);
        let problem = problem
            .or_else(|| refuse_holder(bundle, lease, block))
            .or_else(|| refuse_time(bundle, block))
            .or_else(|| refuse_paths(bundle, &block.terms, &directories.collect::<Vec<_>>()))
            .or_else(|| refuse_quotas(bundle, lease, &block.terms))?;
        Some(Ground::LeaseDenies { block: number, lease: block.id, problem })
    })
}

/// Checks revocation, tenant, agent, task and capability.
fn refuse_holder(
    bundle: &Bundle,
    lease: &LeaseCase,
    LeaseBlock { revoked, terms, .. }: &LeaseBlock,
) -> Option<LeaseProblem> {
    let LeaseTerms { tenant, agent, task, capabilities, .. } = terms;
    if *revoked {
        return Some(LeaseProblem::Revoked);
    }
    if let Some(tenant) = tenant.as_ref().filter(|tenant| *tenant != bundle.tenant()) {
        return Some(LeaseProblem::OtherTenant { tenant: tenant.clone() });
    }
    let asked = bundle.actor().agent.as_deref();
    if let Some(agent) = agent.as_ref().filter(|agent| !asked.is_some_and(|it| agent.covers(it))) {
        let asked = asked.map(str::to_owned);
        return Some(LeaseProblem::OtherAgent { agent: agent.clone(), asked });
    }
    if let Some(task) = task.as_ref().filter(|task| lease.task.as_ref() != Some(task)) {
        return Some(LeaseProblem::OtherTask { task: task.clone(), asked: lease.task.clone() });
    }
    let is_allowed = capabilities.as_ref().is_none_or(|it| it.contains(&lease.capability));
    (!is_allowed).then(|| LeaseProblem::Capability { asked: lease.capability.clone() })
}

/// Checks the validity period and the number of uses.
fn refuse_time(
    bundle: &Bundle,
    LeaseBlock { terms, used, .. }: &LeaseBlock,
) -> Option<LeaseProblem> {
    let LeaseTerms { not_before, expires, uses, .. } = terms;
    if let Some(from) = not_before.filter(|from| bundle.time() < *from) {
        return Some(LeaseProblem::NotYetValid { from });
    }
    if let Some(at) = expires.filter(|at| bundle.time() >= *at) {
        return Some(LeaseProblem::Expired { at });
    }
    uses.filter(|uses| used >= uses).map(|uses| LeaseProblem::UsedUp { uses })
}

/// Checks that each path is below a base directory, and that each file is within the scope relative to one of
/// them.
fn refuse_paths(
    bundle: &Bundle,
    terms: &LeaseTerms,
    directories: &[&BaseDirectory],
) -> Option<LeaseProblem> {
    let LeaseTerms { base_directories, scope, .. } = terms;
    if base_directories.is_none() && scope.is_none() {
        return None;
    }
    // Other programs may write through a link, so its target must be allowed as well.
    let leaves = bundle.links().iter().find_map(|found| match &found.leads_to {
        LeadsTo::Path(path) => {
            let below: Vec<RelPath> = directories
                .iter()
                .filter_map(|it| bundle.seen_from_directory(it, &path.0))
                .collect();
            let is_inside = |path: &RelPath| {
                scope.as_ref().is_none_or(|scope| {
                    Scope::check(scope, path).is_ok()
                        && !scope.deny.iter().any(|rule| rule.leads_below(path))
                })
            };
            let is_outside = !below.iter().any(is_inside);
            is_outside.then(|| LeaseProblem::OutsideScope { path: path.clone() })
        }
        LeadsTo::Root => Some(LeaseProblem::OutsideScope { path: found.path.clone() }),
        LeadsTo::State | LeadsTo::Outside => None,
    });
    if leaves.is_some() {
        return leaves;
    }
    bundle.change().iter().find_map(|effect| {
        effect.paths().find_map(|path| {
            let below: Vec<RelPath> =
                directories.iter().filter_map(|it| bundle.seen_from_directory(it, path)).collect();
            if below.is_empty() {
                return Some(LeaseProblem::OutsideDirectories { path: PathName(path.clone()) });
            }
            let scope = scope.as_ref().filter(|_| effect.effect.is_of_file())?;
            let is_inside = |path: &RelPath| Scope::check(scope, path).is_ok();
            let is_outside = !below.iter().any(is_inside);
            is_outside.then(|| LeaseProblem::OutsideScope { path: PathName(path.clone()) })
        })
    })
}

fn refuse_quotas(bundle: &Bundle, lease: &LeaseCase, terms: &LeaseTerms) -> Option<LeaseProblem> {
    let runs = !bundle.commands().is_empty()
        || !bundle.confined().is_empty()
        || bundle.entry_point() == FILE_TASK;
    let files = u64::try_from(bundle.files().count()).ok();
    let mut sizes = bundle.files().filter_map(|effect| effect.after.as_ref());
    let space = sizes.try_fold(0_u64, |sum, after| sum.checked_add(after.size));
    let (quotas, limits) = (terms.quotas, lease.limits);
    // A missing limit exceeds any quota. The last three quotas only apply to requests that run a process.
    [
        (QuotaName::Files, quotas.files, files, true),
        (QuotaName::SpaceBytes, quotas.space_bytes, space, true),
        (QuotaName::MemoryBytes, quotas.memory_bytes, limits.memory_bytes, runs),
        (QuotaName::StorageBytes, quotas.storage_bytes, limits.storage_bytes, runs),
        (QuotaName::WallMs, quotas.wall_ms, limits.wall_ms, runs),
    ]
    .into_iter()
    .find_map(|(quota, max, asked, counts)| {
        let max = max.filter(|max| counts && asked.is_none_or(|asked| asked > *max))?;
        Some(LeaseProblem::Quota { quota, asked, max })
    })
}
