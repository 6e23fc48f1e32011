//! The gate of credentials: what looks like one in new content goes into no file (EX-20).

use super::{Said, with_more};
use crate::decision::{Bundle, Found, Verdict};
use crate::policy::Policy;

pub(super) fn judge(bundle: &Bundle, policy: &Policy) -> Said {
    let is_allowed = |found: &&Found| policy.credentials().contains(&found.finding.digest);
    let mut found = bundle.found().iter().filter(|found| !is_allowed(found));
    if let Some(Found { path, finding }) = found.next() {
        let (rule, digest) = (&finding.rule, finding.digest);
        // Of a large file only parts are read, and no lines are counted.
        let line = match finding.line {
            0 => String::new(),
            line => format!(", line {line},"),
        };
        let first = format!("`{path}`{line} looks like a credential ({rule}, {digest})");
        return Said { verdict: Verdict::Deny, ground: with_more(first, found.count()) };
    }
    if let Some(path) = bundle.unscanned().first() {
        let ground = format!("`{path}` could not be looked through to the end");
        let ground = with_more(ground, bundle.unscanned().len() - 1);
        return Said { verdict: Verdict::Deny, ground };
    }
    let ground = match bundle.found().len() {
        0 => "nothing new looks like one".to_owned(),
        allowed => format!("all that looks like one is allowed ({allowed})"),
    };
    Said { verdict: Verdict::Allow, ground }
}
