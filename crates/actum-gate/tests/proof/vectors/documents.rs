//! Canonical JSON, and decisions that are made again.

use actum_core::canonical::{self, CanonicalError};
use actum_core::receipt::{DecisionRecord, EffectKind, PathEffect};
use actum_core::{Budget, Digest, Scope, ScopeRule};
use actum_gate::{Bundle, DECISION_SEMANTICS, ReplayProblem, decide, replay};
use serde_json::{Map, Value, json};

use super::{Case, Vectors, accepted, refused};
use crate::material::{bundle, change, path};

pub(super) fn canonical_json() -> Vectors {
    let text = |text: &str| json!({ "text": text });
    let sound = [
        ("a literal", "null"),
        ("spaces", " { \"b\" : [ 1 , 2 ] ,\n\t\"a\" : { } } "),
        ("numbers", "[1,-1,0,-0,1.0,1e3,1E-7,0.000001,1e-27,4.50,123456789.125,5e-324]"),
        ("the largest number", "9007199254740991"),
        ("the smallest number", "-9007199254740991"),
        ("escapes", r#""\u0000\u001f\u007f\b\f\n\r\t\"\\\/\u00e9\ud83d\ude00""#),
        ("names in the order of UTF-16", r#"{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"a":4,"B":5}"#),
        ("names that a reader could normalise", r#"{"\u00e9":1,"e\u0301":2}"#),
        ("an empty name", r#"{"":0}"#),
    ];
    let unsound = [
        ("nothing", "NOT_JSON", ""),
        ("two values", "NOT_JSON", "1 2"),
        ("a comma too many", "NOT_JSON", "[1,]"),
        ("a comment", "NOT_JSON", "// a\n1"),
        ("a number with a plus", "NOT_JSON", "+1"),
        ("a number with a zero before it", "NOT_JSON", "01"),
        ("not a number", "NOT_JSON", "NaN"),
        ("half a character", "NOT_JSON", r#""\ud800""#),
        ("a line feed in a string", "NOT_JSON", "\"\n\""),
        ("a byte order mark", "NOT_JSON", "\u{feff}1"),
        ("a number that a double cannot hold", "NUMBER_NOT_EXACT", "[9007199254740993]"),
        ("2^53", "NUMBER_NOT_EXACT", "9007199254740992"),
        ("a large exponent", "NUMBER_NOT_EXACT", "1e300"),
        ("a larger exponent", "NUMBER_NOT_EXACT", "-1e400"),
        ("a name twice", "NAME_TWICE", r#"{"a":1,"a":1}"#),
        ("a name twice, spelled in two ways", "NAME_TWICE", r#"[{"a":1,"\u0061":2}]"#),
    ];
    let sound = sound.map(|(name, given)| accepted(name, text(given)));
    let unsound = unsound.map(|(name, reason, given)| refused(name, reason, text(given)));
    let bytes = refused("bytes that are no text", "NOT_JSON", json!({ "hex": "22ff22" }));
    Vectors {
        name: "canonical",
        about: "Canonical JSON (RFC 8785), of which every reader has the same idea. `text` or the \
                bytes in `hex` become `canonical`.",
        keyrings: Map::new(),
        cases: sound.into_iter().chain(unsound).chain([bytes]).collect(),
        judge: |input, _| {
            let bytes = match input["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => b"\"\xff\"".to_vec(),
            };
            let written = canonical::read(&bytes).and_then(|value| canonical::to_vec(&value));
            match written {
                Ok(written) => Ok(json!({ "canonical": String::from_utf8(written).unwrap() })),
                Err(CanonicalError::Number { .. }) => Err("NUMBER_NOT_EXACT"),
                Err(CanonicalError::Duplicate { .. }) => Err("NAME_TWICE"),
                Err(CanonicalError::Syntax { .. }) => Err("NOT_JSON"),
                Err(error @ CanonicalError::Unwritable { .. }) => panic!("{error}"),
            }
        },
    }
}

pub(super) fn decisions() -> Vectors {
    Vectors {
        name: "decisions",
        about: "Decisions made again (AEC-11): the canonical bytes of a bundle, and what was \
                recorded of the decision. Accepted where the same bundle leads to it again.",
        keyrings: Map::new(),
        cases: decision_cases(),
        judge: |input, _| {
            let record: DecisionRecord = serde_json::from_value(input["record"].clone()).unwrap();
            let bytes = input["bundle"].as_str().unwrap().as_bytes();
            replay(bytes, &record).map_err(|problem: ReplayProblem| problem.reason())?;
            let decision = decide(&Bundle::read(bytes).unwrap());
            Ok(json!({ "verdict": decision.verdict.as_str() }))
        },
    }
}

fn input(bundle: &str, record: &DecisionRecord) -> Value {
    json!({ "bundle": bundle, "record": record })
}

fn recorded(bundle: &Bundle) -> (String, DecisionRecord) {
    let bytes = bundle.to_vec().unwrap();
    let record = decide(bundle).record(&bytes).unwrap();
    (String::from_utf8(bytes).unwrap(), record)
}

fn decision_cases() -> Vec<Case> {
    let rules = |texts: &[&str]| texts.iter().map(|text| ScopeRule::new(text).unwrap()).collect();
    let unlimited = Budget::unlimited();
    let directory = PathEffect { effect: EffectKind::DirectoryCreated, ..change().remove(2) };
    let mut strange: Vec<ScopeRule> = rules(&["docs/"]);
    strange.push(ScopeRule::new(b"str\xffnge\n\"name\"").unwrap());
    let many: Vec<String> = (0..12).map(|number| format!("d{number}/")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases = [
        ("allowed", bundle()),
        ("no change", Bundle::new(Scope::everything(), unlimited, Vec::new())),
        (
            "allowed by rules",
            Bundle::new(
                Scope { allow: Some(rules(&["src", "docs/", "str"])), deny: strange },
                unlimited,
                change()[1..4].to_vec(),
            ),
        ),
        (
            "denied by a rule and over the budget",
            Bundle::new(
                Scope { allow: None, deny: rules(&["docs/gone.md"]) },
                Budget { max_files: Some(3), max_loc: Some(5) },
                change(),
            ),
        ),
        (
            "at the limit",
            Bundle::new(
                Scope::everything(),
                Budget { max_files: Some(4), max_loc: Some(6) },
                change(),
            ),
        ),
        (
            "renamed out of the scope",
            Bundle::new(
                Scope { allow: Some(rules(&["src/new/"])), deny: Vec::new() },
                unlimited,
                change()[2..4].to_vec(),
            ),
        ),
        (
            "a directory that nothing leads to",
            Bundle::new(
                Scope { allow: Some(rules(&["src/new/"])), deny: Vec::new() },
                unlimited,
                vec![directory, PathEffect { path: path("src/newer"), ..change().remove(1) }],
            ),
        ),
        (
            "nothing is allowed",
            Bundle::new(Scope { allow: Some(Vec::new()), deny: Vec::new() }, unlimited, change()),
        ),
        (
            "in none of many places",
            Bundle::new(Scope { allow: Some(rules(&many)), deny: Vec::new() }, unlimited, change()),
        ),
    ];
    let sound = cases.into_iter().map(|(name, bundle)| {
        let (text, record) = recorded(&bundle);
        accepted(name, input(&text, &record))
    });
    sound.chain(mismatches()).collect()
}

fn mismatches() -> Vec<Case> {
    let (text, record) = recorded(&bundle());
    let of = |text: &str, semantics| {
        let bundle = Digest::of(text.as_bytes());
        input(text, &DecisionRecord { semantics, bundle, ..record.clone() })
    };
    let altered = |change: &dyn Fn(&mut DecisionRecord)| {
        let mut record = record.clone();
        change(&mut record);
        input(&text, &record)
    };
    let later = text.replace("\"semantics\":1", "\"semantics\":2");
    let format = text.replace("actum.bundle/1", "actum.bundle/2");
    let more = text.replacen("{\"budget\"", "{\"access\":{},\"budget\"", 1);
    let mismatch = "REPLAY_DECISION_MISMATCH";
    let unsupported = "REPLAY_ENGINE_UNSUPPORTED";
    vec![
        refused(
            "another bundle",
            "REPLAY_REF_HASH_MISMATCH",
            input(&text.replace("\"max_files\":15", "\"max_files\":16"), &record),
        ),
        refused("another ground", mismatch, altered(&|r| r.gates[0].ground.push('.'))),
        refused("another verdict", mismatch, altered(&|r| r.gates[1].verdict = "deny".to_owned())),
        refused("a gate is missing", mismatch, altered(&|r| drop(r.gates.pop()))),
        refused("another digest", mismatch, altered(&|r| r.digest = Digest::of(b"other"))),
        refused("other rules", unsupported, of(&text, DECISION_SEMANTICS + 1)),
        refused("a bundle for other rules", unsupported, of(&later, DECISION_SEMANTICS)),
        refused("a bundle of another format", unsupported, of(&format, DECISION_SEMANTICS)),
        refused("a bundle that says more", unsupported, of(&more, DECISION_SEMANTICS)),
    ]
}
