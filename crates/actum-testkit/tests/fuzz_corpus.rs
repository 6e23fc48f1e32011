//! Runs every input that the fuzzers have kept.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and reads its inputs"
)]

use std::fs;
use std::path::PathBuf;

use actum_testkit::fuzz::TARGETS;

/// Fuzz targets whose invariants are tested in a crate that this one does not depend on.
const TARGETS_OF_OTHER_CRATES: [&str; 1] = ["file_manifests"];

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

#[test]
fn every_corpus_input_passes_its_target() {
    for target in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpus().join("corpus").join(target.name)).unwrap() {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            (target.run)(&fs::read(&path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{} has no inputs", target.name);
    }
}

#[test]
fn every_target_has_a_fuzzer_binary() {
    let manifest = fs::read_to_string(corpus().join("Cargo.toml")).unwrap();
    for target in TARGETS {
        let source = fs::read_to_string(corpus().join(format!("fuzz_targets/{}.rs", target.name)));
        assert!(source.unwrap().contains(&format!("run(\"{}\", input)", target.name)));
        assert!(manifest.contains(&format!("name = \"{}\"\n", target.name)));
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len() + TARGETS_OF_OTHER_CRATES.len());
    assert!(
        TARGETS_OF_OTHER_CRATES
            .iter()
            .all(|name| manifest.contains(&format!("name = \"{name}\"\n")))
    );
}
