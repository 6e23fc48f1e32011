//! Published JSON Schemas of the search evidence and the learning table.

use actum_agent::limits::UTTERANCE_CHARS_MAX;
use actum_core::NAME_CHARS_MAX;
use actum_document::json_schema::file;
use actum_document::{Characters, Form, Member, ObjectSchema, Others, SchemaFile, Text};

use crate::finder::{EVIDENCE_FORMAT, EVIDENCE_READINGS_MAX, LANGUAGES_MAX};
use crate::learning::LearningTable;
use crate::limits::{BONUS_MAX, PHRASE_CHARS_MAX, PHRASE_WORDS_MAX, SIMULATIONS_MAX};

const DIGEST: Form = Form::Text(Text::filled(64, Characters::Sha256));
const NAME: Text = Text::filled(NAME_CHARS_MAX, Characters::Name);
const LINE: Form = Form::Text(Text::filled(64, Characters::OneLine));
const LANGUAGE: Text = Text::filled(8, Characters::Lowercase);
const COUNT: Form = Form::Whole { min: 0, max: u32::MAX as i64 };
const BONUS: Form = Form::Whole { min: 0, max: BONUS_MAX as i64 };
/// Outcomes of a search that the evidence can contain.
const OUTCOMES: &[&str] = &[
    "match",
    "field",
    "doubt",
    "flawed",
    "empty",
    "MONEY_TRANSFER",
    "PERMISSION_GRANT",
    "SCHEMA_CHANGE",
    "ARTIFACT_PROMOTION",
    "GATE_BYPASS",
    "ATTEMPTS_EXHAUSTED",
    "missing",
];

static EVIDENCE: ObjectSchema = ObjectSchema {
    name: "the evidence of a search",
    about: "Evidence from which a Finder created a packet, in canonical JSON (RFC 8785). Its SHA-256 is the packet's finder_proof_ref. It contains no values from the utterance.",
    others: Others::Refused,
    members: &[
        Member::required("format", Form::Word(&[EVIDENCE_FORMAT]), "Format of the document."),
        Member::required("finder_version", LINE, "Name and version of the Finder."),
        Member::required("semantics", COUNT, "Version of the search rules."),
        Member::required("goal_fingerprint", DIGEST, "SHA-256 of the goal, as in the packet."),
        Member::required("catalog_snapshot_ref", DIGEST, "SHA-256 of the catalog."),
        Member::required("lexicons", DIGEST, "SHA-256 of the lexicons of all languages."),
        Member::required(
            "simulations",
            DIGEST,
            "SHA-256 of the names, versions, phrases and parameters of all simulations.",
        ),
        Member::required(
            "learning_table_ref",
            Form::NullOr(&DIGEST),
            "SHA-256 of the learning table, or `null` if none was used.",
        ),
        Member::required(
            "languages",
            Form::Texts { of: LANGUAGE, count_max: LANGUAGES_MAX },
            "Languages whose phrases were searched.",
        ),
        Member::required(
            "intended",
            Form::Texts { of: NAME, count_max: SIMULATIONS_MAX },
            "Simulations that match the normalised intent.",
        ),
        Member::required(
            "outcome",
            Form::Word(OUTCOMES),
            "Outcome of the ranking, or the reason for a refusal.",
        ),
        Member::required(
            "readings",
            Form::Objects { of: &READING, count_max: EVIDENCE_READINGS_MAX },
            "Best readings of the utterance, with the best one first.",
        ),
    ],
};

const WORDS_MAX: usize = UTTERANCE_CHARS_MAX;

static READING: ObjectSchema = ObjectSchema {
    name: "a reading",
    about: "Interpretation of the utterance as a phrase of one simulation in one language.",
    others: Others::Refused,
    members: &[
        Member::required("simulation", Form::Text(NAME), "Name of the simulation."),
        Member::required(
            "version",
            Form::NullOr(&LINE),
            "Version of the simulation, or `null` if it has none.",
        ),
        Member::required(
            "frame",
            LINE,
            "Name of the frame, which describes one form of the simulation's input.",
        ),
        Member::required("language", Form::Text(LANGUAGE), "Language of the phrase."),
        Member::required(
            "phrase",
            Form::Text(Text::filled(4 * PHRASE_CHARS_MAX, Characters::OneLine)),
            "Folded text of the phrase. A `|` separates alternatives for one word.",
        ),
        Member::required(
            "matched",
            Form::List { of: &COUNT, count_max: PHRASE_WORDS_MAX },
            "Positions in the utterance of the words that match the phrase, starting at 0.",
        ),
        Member::required(
            "unexplained",
            Form::List { of: &COUNT, count_max: WORDS_MAX },
            "Positions of the words that this reading does not explain.",
        ),
        Member::required(
            "surplus_values",
            COUNT,
            "Number of values in the utterance that no parameter accepts.",
        ),
        Member::required(
            "guarded",
            Form::Flag,
            "Whether the utterance has a word, such as a negation, that changes the meaning of the command.",
        ),
        Member::required(
            "mismatched",
            Form::Flag,
            "Whether the utterance has a destructive verb but the simulation is harmless, or the reverse.",
        ),
        Member::required(
            "clear",
            Form::Flag,
            "Whether every word and value is explained, and the verb fits the simulation.",
        ),
        Member::required("score", COUNT, "Score of the reading, without a learning bonus."),
        Member::required(
            "missing",
            Form::NullOr(&Form::Text(Text::filled(256, Characters::OneLine))),
            "JSON Pointer of the first parameter that lacks a usable value.",
        ),
        Member::required(
            "required_fields",
            DIGEST,
            "SHA-256 of the simulation's input in canonical JSON.",
        ),
    ],
};

static LEARNING: ObjectSchema = ObjectSchema {
    name: "a learning table",
    about: "Bonuses of simulations, in canonical JSON (RFC 8785). The table is the payload of a DSSE envelope of the type application/vnd.actum.finder-learning+json, signed by an approval key. Its SHA-256 is the learning_table_ref of a packet. A table of more than 256 KiB is rejected.",
    others: Others::Refused,
    members: &[
        Member::required("format", Form::Word(&[LearningTable::FORMAT]), "Format of the document."),
        Member::required(
            "tenant_id",
            Form::Text(Text::filled(64, Characters::Id)),
            "Tenant whose outcomes were counted.",
        ),
        Member::required(
            "bonuses",
            Form::Map { names: NAME, of: &BONUS, count_max: SIMULATIONS_MAX },
            "Bonus of each simulation.",
        ),
    ],
};

/// Returns the JSON Schemas (draft 2020-12) of the search evidence and the learning table, in this order.
pub fn schemas() -> [SchemaFile; 2] {
    [
        file(
            "finder-evidence.schema.json",
            "urn:actum:finder-evidence:v1",
            "Evidence of a search",
            &EVIDENCE,
        ),
        file(
            "finder-learning.schema.json",
            "urn:actum:finder-learning:v1",
            "Learning table",
            &LEARNING,
        ),
    ]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test reads the published files")]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use actum_core::{CoreAction, Digest};
    use actum_document::reader;
    use serde_json::Value;

    use super::*;
    use crate::finder::Finder;
    use crate::goal::Goal;
    use crate::learning::LearningDocument;

    /// AEC-3
    #[test]
    fn published_agent_schemas_match_the_types() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for file in schemas() {
            let published = std::fs::read_to_string(directory.join(file.name));
            assert!(
                published.is_ok_and(|it| it == file.text),
                "outdated schema: run `cargo xtask schemas`"
            );
        }
    }

    /// AEC-1
    #[test]
    fn evidence_matches_the_published_schema_for_every_outcome() {
        let finder = Finder::new().unwrap();
        let core = CoreAction::ALL.iter().map(|it| finder.core_simulation(*it).unwrap().clone());
        let simulations: Vec<_> = core.collect();
        let mut outcomes = std::collections::BTreeSet::new();
        for (utterance, attempt_counter) in [
            ("delete a.txt", 0),
            ("create a.txt", 0),
            ("create a.txt", 1000),
            ("write \"x\" to a.txt", 0),
            ("delete a.txt and b.txt, please, tomorrow", 0),
            ("delete \"a", 0),
            ("", 0),
            ("transfer money", 0),
            ("grant access", 0),
            ("alter the schema", 0),
            ("promote it", 0),
            ("skip the checks", 0),
            ("sing", 0),
        ] {
            let goal = Goal {
                correlation_id: "goal".parse().unwrap(),
                tenant_id: "acme".parse().unwrap(),
                fingerprint: Digest::of(b"goal"),
                utterance: utterance.to_owned(),
                normalized_intent: utterance.to_owned(),
                language: None,
                attempt_counter,
            };
            let found = finder.find(&goal, Digest::of(b"catalog"), &simulations, None).unwrap();
            let evidence: Value =
                reader::read_as(&found.evidence, found.evidence.len(), &EVIDENCE).unwrap();
            assert_eq!(found.packet.head().finder_proof_ref, Digest::of(&found.evidence));
            outcomes.insert(evidence["outcome"].as_str().unwrap().to_owned());
        }
        let known: std::collections::BTreeSet<String> =
            OUTCOMES.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(outcomes, known);
    }

    /// AEC-20
    #[test]
    fn learning_table_matches_the_published_schema() {
        let counts = BTreeMap::from([("tidy".parse().unwrap(), 3)]);
        let document = LearningDocument::from_counts("acme".parse().unwrap(), &counts);
        let bytes = document.to_vec().unwrap();
        let read = |bytes: &[u8]| reader::read_as::<Value>(bytes, bytes.len(), &LEARNING).is_ok();
        assert!(read(&bytes));
        let text = String::from_utf8(bytes).unwrap();
        for (from, to) in [("50", "51"), ("\"tidy\"", "\"Tidy\""), ("ing/1", "ing/2")] {
            assert!(!read(text.replace(from, to).as_bytes()), "{to}");
        }
    }
}
