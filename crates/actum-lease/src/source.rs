//! Writes lease terms as the checks of a block, in the form that `docs/lease-format.md` defines.

use std::collections::BTreeSet;

use actum_core::{PathRule, Scope, Timestamp};
use actum_record::lease::{LeaseTerms, Quotas};

/// Number of microseconds in a second.
pub(crate) const SECOND_MICROS: i64 = 1_000_000;

/// Writes terms as checks in Datalog source code, with one check per line.
///
/// The terms must satisfy [`LeaseTerms::check_limits`]. This guarantees that no text in them contains a quote, a backslash
/// or a control character, which could end a string literal early.
pub fn write_checks(terms: &LeaseTerms) -> String {
    let LeaseTerms {
        agent,
        base_directories,
        capabilities,
        expires,
        not_before,
        quotas,
        scope,
        task,
        tenant,
        uses,
    } = terms;
    let mut checks: Vec<String> = Vec::new();
    if let Some(agent) = agent {
        let name = agent.as_str();
        checks.push(format!(
            r#"check if agent("{name}") or agent($agent), $agent.starts_with("{name}/")"#
        ));
    }
    if let Some(directories) = base_directories {
        let set = write_set(directories.iter().map(ToString::to_string));
        checks.push(format!("check all path($path), {set}.any($base -> $path.starts_with($base))"));
    }
    if let Some(capabilities) = capabilities {
        let set = write_set(capabilities.iter().map(ToString::to_string));
        checks.push(format!("check if capability($capability), {set}.contains($capability)"));
    }
    if let Some(expires) = expires {
        checks.push(format!("check if time($time), $time < {}", write_time(*expires)));
    }
    if let Some(not_before) = not_before {
        checks.push(format!("check if time($time), $time >= {}", write_time(*not_before)));
    }
    for (name, most) in name_quotas(quotas) {
        checks.extend(
            most.map(|most| format!(r#"check if quota("{name}", $used), $used <= {most}"#)),
        );
    }
    if let Some(Scope { allow, deny }) = scope {
        let rules = |rules: &[PathRule]| write_set(rules.iter().map(ToString::to_string));
        checks.push(match (allow, deny.as_slice()) {
            (Some(allow), []) => format!("check if scope_allow({})", rules(allow)),
            (None, deny) => format!("check if scope_deny({})", rules(deny)),
            (Some(allow), deny) => format!("check if scope({}, {})", rules(allow), rules(deny)),
        });
    }
    if let Some(task) = task {
        checks.push(format!(r#"check if task("{}")"#, task.as_str()));
    }
    if let Some(tenant) = tenant {
        checks.push(format!(r#"check if tenant("{}")"#, tenant.as_str()));
    }
    if let Some(uses) = uses {
        checks.push(format!("check if uses($uses), $uses <= {uses}"));
    }
    checks.iter().map(|check| format!("{check};\n")).collect()
}

/// Returns the value of each quota, together with its name in a check.
pub(crate) fn name_quotas(quotas: &Quotas) -> [(&'static str, Option<u64>); 5] {
    let Quotas { files, memory_bytes, space_bytes, storage_bytes, wall_ms } = *quotas;
    [
        ("files", files),
        ("memory_bytes", memory_bytes),
        ("space_bytes", space_bytes),
        ("storage_bytes", storage_bytes),
        ("wall_ms", wall_ms),
    ]
}

fn write_set(texts: impl Iterator<Item = String>) -> String {
    let texts: BTreeSet<String> = texts.map(|text| format!("\"{text}\"")).collect();
    format!("{{{}}}", texts.into_iter().collect::<Vec<_>>().join(", "))
}

/// Formats a time as in RFC 3339, without the fraction of a second, which Biscuit would drop.
fn write_time(time: Timestamp) -> String {
    let text = time.to_string();
    text.split_once('.').map_or(text.clone(), |(seconds, _)| format!("{seconds}Z"))
}
