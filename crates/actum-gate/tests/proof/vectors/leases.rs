//! Decisions about requests under a lease (FE-17, D-7).

use actum_core::Digest;
use actum_gate::decision::LeaseCase;
use actum_gate::{Bundle, Case as Judged, Policy, PolicyFile};

use super::documents::{input, recorded};
use super::{Case as Vector, accepted};
use crate::leases::{leased, requests};

/// Returns every request of the table, and requests without a lease under a policy.
pub(super) fn cases() -> Vec<Vector> {
    let requiring = PolicyFile::read(b"version = 1\n[lease]\nrequired = [\"apply\", \"exec\"]\n");
    let (requiring, _) = Policy::new(Some(requiring.unwrap()), None);
    let of = |name: &str, judged: Judged, policy: &Policy| {
        let bundle = Bundle::new(Digest::of(&policy.to_vec().unwrap()), judged);
        let (text, record) = recorded(&bundle, policy);
        accepted(name, input(&text, policy, &record))
    };
    let plain = Policy::default();
    let table = requests().into_iter().map(|(name, judged, _)| of(name, judged, &plain));
    let without = |door: &str| Judged { lease: None, door: door.to_owned(), ..leased(|_| {}) };
    let no_block = leased(|lease: &mut LeaseCase| lease.blocks.clear());
    table
        .chain([
            of("a lease without a block", no_block, &plain),
            of("no lease at an entry point that needs one", without("command line"), &requiring),
            of("no lease at an entry point that needs none", without("action"), &requiring),
            of("no lease at an unknown entry point", without("queue"), &requiring),
            of("no lease where nothing is required", without("command line"), &plain),
            of("a file task without a lease", without("file task"), &plain),
            of("a lease where one is required", leased(|_| {}), &requiring),
        ])
        .collect()
}
