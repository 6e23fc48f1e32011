//! Tests which signatures are checked when a ledger is verified.

use crate::grounds::{Grounds, fill};
use actum_ledger::conformance::sample::key_rotated;
use actum_ledger::verify::{Checks, Finding, Receipts, Subject, Verification, verify};
use actum_ledger::{Ledger, LedgerView, export};
use actum_record::ledger::EntryKind;

/// Verifies the database and an export of it. Returns the entries passed to the receipt check, and the result, for each. The check
/// rejects the entry `forged`.
fn looked(grounds: &Grounds, receipts: Receipts, forged: u64) -> [(Vec<u64>, Verification); 2] {
    let view = grounds.view();
    let mut file = Vec::new();
    export::export(&view, &mut file).unwrap();
    let mut from_export = |checks: &mut Checks<'_>| {
        export::verify(&mut file.as_slice(), checks, None, &mut |_| {}).unwrap()
    };
    let mut from_database = |checks: &mut Checks<'_>| verify(&view, checks, &mut |_| {}).unwrap();
    [
        look(grounds, &view, receipts, forged, &mut from_database),
        look(grounds, &view, receipts, forged, &mut from_export),
    ]
}

fn look(
    grounds: &Grounds,
    view: &LedgerView,
    receipts: Receipts,
    forged: u64,
    run: &mut dyn FnMut(&mut Checks<'_>) -> Verification,
) -> (Vec<u64>, Verification) {
    use actum_ledger::Log;
    let entries = view.entries(0, 10_000).unwrap();
    let mut asked = Vec::new();
    let mut entry = |kind: EntryKind, body: &[u8]| {
        let found = entries.iter().find(|entry| entry.body == body).unwrap();
        assert_eq!(found.kind, kind);
        asked.push(found.index);
        if found.index == forged { Err("it is forged".to_owned()) } else { Ok(()) }
    };
    let mut checks = Checks { note: &mut grounds.check(), entry: &mut entry, receipts };
    let verification = run(&mut checks);
    (asked, verification)
}

/// Appends entries 1 to 4 with a checkpoint, a key change before and after it, and two more runs.
fn half_covered(ledger: &Ledger) {
    fill(ledger, 0..2);
    ledger.append(vec![key_rotated().unwrap()]).wait().unwrap();
    ledger.checkpoint().wait().unwrap();
    fill(ledger, 2..4);
    ledger.append(vec![key_rotated().unwrap()]).wait().unwrap();
}

/// AEC-11: receipts after the newest checkpoint are protected only by their own signatures.
#[test]
fn receipts_without_a_covering_checkpoint_are_checked() {
    let grounds = Grounds::new();
    half_covered(&grounds.ledger());
    for (asked, result) in looked(&grounds, Receipts::NotCovered, 9) {
        assert_eq!(asked.iter().filter(|index| **index != 5 && **index != 10).count(), 2);
        assert!(asked.contains(&7) && asked.contains(&9), "{asked:?}");
        let message = "it is forged".to_owned();
        assert_eq!(result.findings, [Finding { subject: Subject::Entry(9), message }]);
        assert_eq!((result.covered, result.receipts), (6, 1));
    }
}

/// AEC-11
#[test]
fn every_receipt_is_checked_on_request() {
    let grounds = Grounds::new();
    half_covered(&grounds.ledger());
    for (mut asked, result) in looked(&grounds, Receipts::All, 2) {
        // Both sample key changes have identical bytes, so one check covers both.
        asked.retain(|index| *index != 5);
        assert_eq!(asked, [2, 4, 7, 9]);
        assert_eq!((result.is_sound(), result.receipts), (false, 3));
    }
}

/// AEC-11: receipts under an invalid checkpoint are checked individually.
#[test]
fn receipts_under_an_invalid_checkpoint_are_checked() {
    let grounds = Grounds::new();
    half_covered(&grounds.ledger());
    let view = grounds.view();
    let mut asked = 0;
    let mut entry = |_, _: &[u8]| {
        asked += 1;
        Ok(())
    };
    let note = &mut |_: &str| Err("nobody signed it".to_owned());
    let mut checks = Checks { note, entry: &mut entry, receipts: Receipts::NotCovered };
    let result = verify(&view, &mut checks, &mut |_| {}).unwrap();
    assert_eq!((result.covered, result.receipts, asked), (0, 4, 6));
}

/// A key change is checked wherever it appears in the log.
#[test]
fn invalid_key_change_is_found() {
    let grounds = Grounds::new();
    half_covered(&grounds.ledger());
    for (asked, result) in looked(&grounds, Receipts::NotCovered, 5) {
        assert_eq!(asked.iter().filter(|index| **index == 5).count(), 2);
        let subjects: Vec<_> = result.findings.iter().map(|finding| &finding.subject).collect();
        assert_eq!(subjects, [&Subject::Entry(5), &Subject::Entry(10)]);
    }
}

/// There are more receipts than the verifier buffers while it waits for a checkpoint.
#[test]
fn every_receipt_of_a_long_export_without_checkpoints_is_checked() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..300);
    drop(ledger);
    let foreign = grounds.foreign();
    foreign.execute_batch("DROP TRIGGER checkpoint_delete; DELETE FROM checkpoint").unwrap();
    for (asked, result) in looked(&grounds, Receipts::NotCovered, 600) {
        assert_eq!((asked.len(), result.receipts, result.covered), (300, 299, 0));
    }
}
