//! The built-in rules, the order of the gates and the version of the rules, as test vectors.

use actum_gate::policy::{BUILT_IN, Exceptions, PROTECTED_GROUPS};
use actum_gate::{DECISION_SEMANTICS, GateName};
use serde_json::{Value, json};

/// Returns the text of `vectors/rules/built-in.json`, for other programs that replay decisions.
pub(super) fn text() -> String {
    // Members are sorted by name, because `serde_json` keeps the insertion order if one of its features is enabled.
    let groups: Vec<Value> = PROTECTED_GROUPS
        .iter()
        .map(|group| json!({ "directories": group.paths.directories, "exceptions": group.exceptions == Exceptions::Interactive, "files": group.paths.files, "name": group.name, "profiles": group.profiles }))
        .collect();
    let tiers: Vec<Value> = BUILT_IN
        .iter()
        .map(|rule| json!({ "directories": rule.paths.directories, "files": rule.paths.files, "tier": rule.tier, "why": rule.why }))
        .collect();
    let gates: Vec<_> = GateName::ALL.iter().map(|gate| gate.as_str()).collect();
    let whole = json!({ "gates": gates, "protected": groups, "semantics": DECISION_SEMANTICS, "tiers": tiers });
    serde_json::to_string_pretty(&whole).unwrap() + "\n"
}
