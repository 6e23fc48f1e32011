//! Credentials gate: denies new content that looks like a credential (EX-20).

use super::GateVerdict;
use crate::decision::{Bundle, Found};
use crate::ground::Ground;
use crate::policy::Policy;

pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> GateVerdict {
    let is_allowed = |found: &&Found| policy.credentials().contains(&found.finding.digest);
    let mut found = bundle.found().iter().filter(|found| !is_allowed(found));
    if let Some(Found { path, finding }) = found.next() {
        let first = Ground::Credential {
            path: path.clone(),
            // Large files are read only in parts, so their lines are not counted.
            line: Some(finding.line).filter(|&line| line > 0),
            rule: finding.rule.clone(),
            digest: finding.digest,
        };
        return GateVerdict::deny(first).with_more(found.count());
    }
    if let [path, more @ ..] = bundle.unscanned() {
        return GateVerdict::deny(Ground::Unscanned { path: path.clone() }).with_more(more.len());
    }
    GateVerdict::allow(match bundle.found().len() {
        0 => Ground::NoCredential,
        count => Ground::AllowedCredentials { count },
    })
}
