//! A ledger exported to one file, which is verified without the database.

use crate::grounds::{Grounds, fill};
use actum_core::canonical::to_vec;
use actum_core::{Digest, Status};
use actum_ledger::Log;
use actum_ledger::conformance::sample::{SampleRun, catalog_changed};
use actum_ledger::export::{Exported, export, verify};
use actum_ledger::verify::{Checks, Receipts, Verification};
use actum_record::merkle::{Frontier, leaf_hash};
use serde_json::Value;

fn exported(grounds: &Grounds) -> (Exported, Vec<u8>) {
    let mut file = Vec::new();
    let exported = export(&grounds.view(), &mut file).unwrap();
    (exported, file)
}

fn read(grounds: &Grounds, mut file: &[u8]) -> Verification {
    let (note, entry) = (&mut grounds.check(), &mut |_, _: &[u8]| Ok(()));
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    verify(&mut file, &mut checks, None, &mut |_| {}).unwrap()
}

fn small() -> Grounds {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..2);
    ledger.checkpoint().wait().unwrap();
    fill(&ledger, 2..3);
    // Use the same document as an earlier entry.
    let bundle = SampleRun::numbered(0, 0).bundle;
    let again = SampleRun { bundle, ..SampleRun::numbered(9, 0) };
    ledger.append(vec![again.started().unwrap()]).wait().unwrap();
    let beginning = (0, leaf_hash(&grounds.view().sound_entry(0).unwrap().body));
    let changed = catalog_changed(beginning, b"{}").unwrap();
    let ended = again.action_ended(Status::Rejected).unwrap();
    ledger.append(vec![ended, changed]).wait().unwrap();
    grounds
}

/// AEC-11
#[test]
fn export_verifies_with_the_same_result_as_the_database() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..100);
    ledger.checkpoint().wait().unwrap();
    let (summary, file) = exported(&grounds);
    assert_eq!(summary, Exported { entries: 201, documents: 101, checkpoints: 4 });
    let result = read(&grounds, &file);
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!(result, grounds.verify().unwrap());
    for line in file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(actum_core::canonical::is_canonical(line));
    }
}

/// AEC-11
#[test]
fn any_flipped_byte_of_an_export_is_found() {
    let grounds = small();
    let (_, file) = exported(&grounds);
    assert!(read(&grounds, &file).is_sound());
    for at in 0..file.len() {
        let mut bytes = file.clone();
        bytes[at] ^= 1 << (at % 8);
        let result = read(&grounds, &bytes);
        assert!(!result.is_sound(), "byte {at} was flipped and not found");
    }
    println!("{} bytes flipped, all found", file.len());
}

/// AEC-11
#[test]
fn missing_duplicate_or_moved_export_lines_are_found() {
    let grounds = small();
    let (_, file) = exported(&grounds);
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    for at in 0..lines.len() {
        let (before, behind) = (&lines[..at], &lines[at + 1..]);
        let line = &lines[at..=at];
        assert!(!read(&grounds, &[before, behind].concat().concat()).is_sound(), "no line {at}");
        let twice = [before, line, line, behind].concat().concat();
        assert!(!read(&grounds, &twice).is_sound(), "line {at} twice");
        if let [next, behind @ ..] = behind {
            let exchanged = [before, &[*next], line, behind].concat().concat();
            assert!(!read(&grounds, &exchanged).is_sound(), "line {at} later");
        }
    }
    for length in 0..file.len() {
        assert!(!read(&grounds, &file[..length]).is_sound(), "cut at {length}");
    }
}

#[test]
fn export_of_a_newer_format_is_rejected() {
    let grounds = small();
    let (_, file) = exported(&grounds);
    let later =
        String::from_utf8(file).unwrap().replace("actum.ledger-export/1", "actum.ledger-export/2");
    let result = read(&grounds, later.as_bytes());
    let findings: Vec<String> = result.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        ["line 1: expected the format `actum.ledger-export/1`, found `actum.ledger-export/2`"]
    );
}

/// FE-14: a receipt with a wrong start entry is detected even if its other content and its signature are valid.
#[test]
fn receipt_that_names_a_wrong_start_entry_is_found() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    drop(ledger);
    let (_, file) = exported(&grounds);
    let body = SampleRun::numbered(0, 0).done(Status::Succeeded, 0).unwrap().body;
    let mut frontier = Frontier::default();
    let mut lines: Vec<Value> = file
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .map(|mut line: Value| {
            if line["kind"] == "EFFECT_DONE" {
                line["text"] = Value::from(std::str::from_utf8(&body).unwrap());
            }
            if line.get("entry").is_some() {
                let text = line["text"].as_str().unwrap();
                frontier.push(leaf_hash(text.as_bytes()), |_: Digest| {});
            }
            line
        })
        .collect();
    lines[0]["root"] = Value::from(frontier.root().to_string());
    let lines = lines.iter().map(|line| [to_vec(line).unwrap(), b"\n".to_vec()].concat());
    let result = read(&grounds, &lines.collect::<Vec<_>>().concat());
    let findings: Vec<String> = result.findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("entry 2: the receipt of run "), "{findings:?}");
    assert!(findings[0].contains(" refers to entry 0 with hash "), "{findings:?}");
}
