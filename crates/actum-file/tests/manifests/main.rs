//! Parses every manifest that the fuzzer kept.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and reads its inputs"
)]

mod rules;

use std::fs;

/// FE-3
#[test]
fn every_corpus_manifest_satisfies_all_rules() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/file_manifests");
    let inputs: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &inputs {
        eprintln!("{}", path.display());
        rules::check(&fs::read(path).unwrap());
    }
    assert!(inputs.len() > 4);
}
