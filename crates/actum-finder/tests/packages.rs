//! Packages with phrases registered by the operator.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests call")]

use actum::{Catalog, Registration, Step};
use actum_action::Manifest;
use actum_agent::FinderPacket;
use actum_agent::confirmation::LanguageTag;
use actum_core::{ActionName, Digest};
use actum_finder::{Finder, Goal, LearningDocument, LearningTable, limits};
use serde_json::{Value, json};

/// Creates a catalog of active packages, each with a name, phrases and input properties.
fn catalog(packages: &[(&str, Value, Value)]) -> Catalog {
    let core = Catalog::core().unwrap();
    packages.iter().fold(core, |catalog, (name, phrases, properties)| {
        let manifest = json!({
            "name": name, "riskTier": "R2", "outputSchema": {}, "version": "1.0.0",
            "inputSchema": {
                "type": "object", "properties": properties,
                "required": properties.as_object().unwrap().keys().collect::<Vec<_>>(),
            },
            "permissions": { "commands": [], "filesystem": "workspace" },
            "verification": { "required": true, "commands": [] },
            "rollback": { "required": true },
            "phrases": phrases,
        });
        let manifest = Manifest::read(manifest.to_string().as_bytes()).unwrap();
        let digest = Digest::of(name.as_bytes());
        let step = Step::Adopt(Box::new(Registration { manifest, digest }));
        let name: ActionName = name.parse().unwrap();
        catalog.after(&name, &step).unwrap().0
    })
}

fn find(catalog: &Catalog, language: Option<&str>, utterance: &str) -> FinderPacket {
    find_with(catalog, language, utterance, None)
}

fn find_with(
    catalog: &Catalog,
    language: Option<&str>,
    utterance: &str,
    learning: Option<&LearningTable>,
) -> FinderPacket {
    let finder = Finder::new().unwrap();
    let simulations = finder.simulations(catalog).unwrap();
    let goal = Goal {
        correlation_id: "goal".parse().unwrap(),
        tenant_id: "acme".parse().unwrap(),
        fingerprint: Digest::of(utterance.as_bytes()),
        utterance: utterance.to_owned(),
        normalized_intent: utterance.to_owned(),
        language: language.map(|tag| LanguageTag::new(tag).unwrap()),
        attempt_counter: 0,
    };
    finder.find(&goal, Digest::of(b"catalog"), &simulations, learning).unwrap().packet
}

fn matched(packet: &FinderPacket) -> Option<&str> {
    match packet {
        FinderPacket::Match(packet) => Some(packet.candidates[0].simulation_id.as_str()),
        FinderPacket::Clarify(_) | FinderPacket::Refuse(_) | FinderPacket::Missing(_) => None,
    }
}

/// Returns the simulations listed in a clarify packet.
fn asked(packet: &FinderPacket) -> Vec<&str> {
    match packet {
        FinderPacket::Clarify(packet) => {
            packet.candidates.iter().map(|it| it.simulation_id.as_str()).collect()
        }
        FinderPacket::Match(_) | FinderPacket::Refuse(_) | FinderPacket::Missing(_) => Vec::new(),
    }
}

fn path() -> Value {
    json!({ "path": { "type": "string" } })
}

/// AEC-2
#[test]
fn package_matches_by_its_manifest_phrases_in_their_language() {
    let phrases = json!({ "de": ["räume ein"], "en": ["tidy up"], "ja": ["整形"] });
    let catalog = catalog(&[("format_code", phrases, path())]);
    for (language, utterance) in [
        (None, "please tidy up a.rs"),
        (Some("en-GB"), "Tidy up the a.rs"),
        (Some("de"), "Bitte räume die a.rs ein"),
        (Some("de"), "raeume a.rs ein"),
        (Some("ja"), "整形 a.rs"),
        (None, "format code path a.rs"),
    ] {
        let packet = find(&catalog, language, utterance);
        assert_eq!(matched(&packet), Some("format_code"), "{utterance}");
    }
    assert_eq!(matched(&find(&catalog, Some("fr"), "tidy up a.rs")), None);
    assert_eq!(matched(&find(&catalog, None, "整形 a.rs")), None, "an unknown language");
}

/// AEC-2
#[test]
fn unusable_phrase_does_not_stop_the_search() {
    let phrases = json!({ "en": ["tidy|clean up", "a.txt", "\u{202e}", "tidy up"] });
    let catalog = catalog(&[("format_code", phrases, json!({}))]);
    assert_eq!(matched(&find(&catalog, None, "tidy up")), Some("format_code"));
    assert_eq!(matched(&find(&catalog, None, "clean up")), None);
    assert_eq!(matched(&find(&catalog, None, "delete a.txt")), Some("file_delete"));
}

/// AEC-2: a package cannot take over an utterance of a core action with the same phrase or a longer one.
#[test]
fn package_claiming_a_core_action_phrase_requires_clarification() {
    let two = json!({ "from": { "type": "string" }, "to": { "type": "string" } });
    for (phrase, properties, utterance, core) in [
        ("delete", path(), "delete a.txt", "file_delete"),
        ("delete file", path(), "delete the file a.txt", "file_delete"),
        ("undo last run", json!({}), "undo the last run", "undo_run"),
        ("copy to", two, "copy a.txt to b.txt", "file_copy"),
    ] {
        let catalog = catalog(&[("intruder", json!({ "en": [phrase] }), properties)]);
        let packet = find(&catalog, Some("en"), utterance);
        let mut asked = asked(&packet);
        asked.sort_unstable();
        let mut expected = ["intruder", core];
        expected.sort_unstable();
        assert_eq!(asked, expected, "{utterance}: {packet:?}");
    }
}

/// AEC-2: neither the order of registration nor scores nor a learned bonus give a package precedence.
#[test]
fn packages_claiming_the_same_phrase_are_both_named() {
    let optional = catalog(&[
        ("alpha", json!({ "en": ["tidy up", "tidy up code"] }), json!({})),
        ("beta", json!({ "en": ["tidy up", "tidy code up"] }), json!({})),
    ]);
    let document = LearningDocument {
        format: LearningTable::FORMAT.to_owned(),
        tenant_id: "acme".parse().unwrap(),
        bonuses: [("beta".parse().unwrap(), limits::BONUS_MAX)].into(),
    };
    let learning = LearningTable::read(&document.to_vec().unwrap()).unwrap();
    for learning in [None, Some(&learning)] {
        let packet = find_with(&optional, None, "tidy up", learning);
        assert_eq!(asked(&packet), ["alpha", "beta"]);
    }
    assert_eq!(matched(&find(&optional, None, "tidy up code")), Some("alpha"));
    assert_eq!(matched(&find(&optional, None, "tidy code up")), Some("beta"));
}

/// AEC-20: phrases of packages cannot override the non-goals of the core.
#[test]
fn package_can_declare_only_money_transfer_among_refused_goals() {
    let phrases = json!({ "en": ["alter schema", "grant access", "promote", "skip checks", "transfer money"] });
    let catalog = catalog(&[("intruder", phrases, json!({}))]);
    for (utterance, code) in [
        ("alter the schema", "SCHEMA_CHANGE"),
        ("grant me access", "PERMISSION_GRANT"),
        ("promote it", "ARTIFACT_PROMOTION"),
        ("skip the checks", "GATE_BYPASS"),
    ] {
        let packet = find(&catalog, Some("en"), utterance);
        let refused = match &packet {
            FinderPacket::Refuse(packet) => Some(packet.refusal_code.as_str()),
            FinderPacket::Match(_) | FinderPacket::Clarify(_) | FinderPacket::Missing(_) => None,
        };
        assert_eq!(refused, Some(code), "{utterance}: {packet:?}");
    }
    assert_eq!(matched(&find(&catalog, Some("en"), "transfer money")), Some("intruder"));
}
