//! Golden vectors in `vectors/` at the repository root. They are generated here from fixed keys, and judged both here and by a
//! program in another language.
//!
//! `UPDATE_VECTORS=1` rewrites them. A changed vector means that a format changed.
#![allow(clippy::disallowed_methods, reason = "these tests own the files, and start the checker")]

mod answers;
mod built_in;
mod canonical_json;
mod changes;
mod checker;
mod documents;
mod leases;
mod proofs;
mod receipts;

use std::path::{Path, PathBuf};

use actum_core::canonical;
use serde_json::{Map, Value, json};

/// Question with its expected answer.
pub(super) struct Case {
    name: String,
    /// Fields of the question.
    input: Value,
    /// Permanent name of the reason, or `None` if the input is accepted.
    refused: Option<&'static str>,
}

pub(super) fn accepted(name: &str, input: Value) -> Case {
    Case { name: name.to_owned(), input, refused: None }
}

pub(super) fn refused(name: &str, reason: &'static str, input: Value) -> Case {
    Case { name: name.to_owned(), input, refused: Some(reason) }
}

/// File of test vectors.
pub(super) struct Vectors {
    /// File name without `.json`, which also identifies the kind of question.
    name: &'static str,
    about: &'static str,
    /// Keyrings that the cases refer to.
    keyrings: Map<String, Value>,
    cases: Vec<Case>,
    /// Computes actum's answer: the value it parsed, or the name of the reason.
    judge: fn(&Value, &Map<String, Value>) -> Result<Value, &'static str>,
}

fn all() -> Vec<Vectors> {
    vec![
        canonical_json::canonical_json(),
        documents::decisions(),
        proofs::inclusion(),
        proofs::consistency(),
        proofs::checkpoints(),
        receipts::receipts(),
        receipts::bundles(),
        receipts::rotations(),
        answers::answers(),
        changes::changes(),
    ]
}

/// Returns the directory of the vectors, and rewrites them first if requested.
fn directory() -> PathBuf {
    static WRITTEN: std::sync::Once = std::sync::Once::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    WRITTEN.call_once(|| {
        if std::env::var_os("UPDATE_VECTORS").is_some() {
            for vectors in all() {
                let path = directory.join(format!("{}.json", vectors.name));
                std::fs::write(path, vectors.to_text()).unwrap();
            }
            std::fs::create_dir_all(directory.join("rules")).unwrap();
            std::fs::write(rules(&directory), built_in::text()).unwrap();
        }
    });
    directory
}

/// Returns the path of the file with the built-in rules.
fn rules(directory: &Path) -> PathBuf {
    directory.join("rules/built-in.json")
}

impl Vectors {
    fn to_text(&self) -> String {
        let cases: Vec<Value> = self.cases.iter().map(|case| self.written(case)).collect();
        let whole = json!({
            "format": "actum.vectors/1",
            "kind": self.name,
            "about": self.about,
            "keyrings": self.keyrings,
            "cases": cases,
        });
        // The canonical form fixes the order of fields.
        let sorted: Value = canonical::read(&canonical::to_vec(&whole).unwrap()).unwrap();
        serde_json::to_string_pretty(&sorted).unwrap() + "\n"
    }

    fn written(&self, case: &Case) -> Value {
        let mut written = json!({ "name": case.name, "input": case.input });
        let judged = (self.judge)(&case.input, &self.keyrings);
        match (judged, case.refused) {
            (Ok(result), None) => {
                written["expect"] = json!("accept");
                written["result"] = result;
            }
            (Err(found), Some(reason)) => {
                assert_eq!(found, reason, "{}: {}", self.name, case.name);
                written["expect"] = json!("refuse");
                written["reason"] = json!(reason);
            }
            (judged, expected) => {
                panic!("{}: {}: {judged:?} and not {expected:?}", self.name, case.name)
            }
        }
        written
    }
}

/// FE-14, AEC-8, AEC-11
#[test]
fn vectors_have_their_stated_results_and_unchanged_formats() {
    let directory = directory();
    let mut names = std::collections::BTreeSet::new();
    for vectors in all() {
        let path = directory.join(format!("{}.json", vectors.name));
        let text = vectors.to_text();
        for case in &vectors.cases {
            let is_new = names.insert((vectors.name, case.name.clone()));
            assert!(is_new, "{}: `{}` stands there twice", vectors.name, case.name);
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{}: UPDATE_VECTORS=1 writes it anew", path.display());
    }
    let found = std::fs::read_to_string(rules(&directory)).unwrap_or_default();
    assert!(found == built_in::text(), "the rules: UPDATE_VECTORS=1 writes them anew");
}
