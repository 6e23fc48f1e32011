//! Grounds as data: recorded grounds can be parsed, have a sentence, and are documented.

use std::collections::BTreeSet;

use actum_core::path_name::PathName;
use actum_core::{RelPath, RiskTier};
use actum_gate::ground::{AccessGround, Ground, Grounds, LeaseProblem, TierReason};
use actum_gate::sentence;
use actum_record::receipt::{GateRecord, RecordedGround};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn record(ground: Value) -> GateRecord {
    GateRecord {
        gate: "scope".to_owned(),
        verdict: "deny".to_owned(),
        ground: RecordedGround(ground),
    }
}

/// Returns the kinds of a tagged enum, taken from the error for an unknown kind.
fn kinds<T: DeserializeOwned>() -> BTreeSet<String> {
    let unknown = serde_json::from_value::<T>(json!({ "kind": "?" })).err().unwrap().to_string();
    unknown.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// AEC-10, AEC-11: a ground parsed from a receipt equals the original one and has the same sentence.
#[test]
fn recorded_ground_round_trips_with_the_same_sentence() {
    let path = PathName(RelPath::new(b"docs/\xff.md".as_slice()).unwrap());
    let reason = TierReason::HardLinked { path: path.clone() };
    for first in [
        Ground::InScope,
        Ground::ScopeUnknown { path, policy: None },
        Ground::Tier { tier: RiskTier::R3, reason },
    ] {
        let grounds = Grounds { first, more: 2 };
        let recorded = record(grounds.record().unwrap().0);
        assert_eq!(Grounds::read(&recorded.ground), Some(grounds.clone()));
        assert_eq!(sentence(&recorded), grounds.to_string());
    }
}

/// AEC-11: receipts of every version of the rules can be displayed.
#[test]
fn grounds_of_earlier_and_later_versions_are_displayed() {
    let before = record("every path is in scope".into());
    assert_eq!(sentence(&before), "every path is in scope");
    let later = record(json!({ "kind": "scope_lease", "path": "a\u{1b}" }));
    assert_eq!(
        sentence(&later),
        r#"this version of actum cannot read the ground: {"kind":"scope_lease","path":"a\u001b"}"#
    );
    assert_eq!(Grounds::read(&later.ground), None);
    // An unknown field is rejected because it could change the meaning of the ground.
    let more = record(json!({ "kind": "in_scope", "unless": "a" }));
    assert_eq!(Grounds::read(&more.ground), None);
    assert!(sentence(&more).contains(r#""unless":"a""#));
}

/// AEC-10: programs distinguish grounds by kind, so `docs/json.md` must list exactly these kinds.
#[test]
fn every_kind_of_ground_is_documented() {
    let page = include_str!("../../../../docs/json.md");
    let section = page.split("\n## ").find(|it| it.starts_with("Gates and grounds")).unwrap();
    let (table, rest) = section.split_once("\n\nThe `reason` of a tier").unwrap();
    let words = |text: &str| -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let cell = |row: &str| row.split('|').nth(2).map(words).unwrap_or_default();
    let documented: BTreeSet<String> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(cell)
        .filter(|word| word != "kind")
        .collect();
    assert_eq!(documented, kinds::<Ground>());
    let nested = words(rest);
    let parts = [kinds::<TierReason>(), kinds::<AccessGround>(), kinds::<LeaseProblem>()];
    for kind in parts.iter().flatten() {
        assert!(nested.contains(kind), "{kind}");
    }
}
