//! Conformance rules about snapshots, which show the complete log at a single point in time.

use actum_core::Status;
use actum_record::merkle::{Node, leaf_hash};

use super::sample::SampleRun;
use super::{Broken, Outcome, put, same};
use crate::snapshot::{Snapshot, StoredBytes, StoredEntry};
use crate::store::Store;
use crate::verify::{Checks, Receipts, verify};

/// Checks that a snapshot does not change when entries are appended, and that a later snapshot shows them. Stores without
/// snapshots pass.
pub(super) fn stays(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleRun::numbered(1, 0), SampleRun::numbered(2, 1));
    put(store, vec![one.started()?, one.done(Status::Succeeded, 1)?])?;
    let Some(open) = store.opener() else { return Ok(()) };
    let snapshot = open()?;
    same("a snapshot must show all earlier entries", snapshot.size()?, 3)?;
    put(store, vec![two.started()?])?;
    same("a snapshot must not show later entries", snapshot.size()?, 3)?;
    same("a snapshot must not show later runs", snapshot.run(two.run)?, None)?;
    check_snapshot(&*snapshot)?;
    let later = snapshot.opener()()?;
    same("a later snapshot must show later entries", later.size()?, 4)?;
    check_snapshot(&*later)
}

/// Checks the scans of a snapshot against its queries, and that verification of the log reports no findings.
///
/// # Errors
/// Returns [`Broken`] for the first rule that the snapshot violates.
pub fn check_snapshot(snapshot: &dyn Snapshot) -> Outcome {
    let size = snapshot.size()?;
    let (mut indexes, mut wrong) = (Vec::new(), None);
    let mut look = |stored: StoredEntry<'_>| -> Outcome {
        indexes.push(stored.index);
        let Some(entry) = snapshot.entry(stored.index)? else {
            return same("every scanned entry must be found by its index", false, true);
        };
        let facts = actum_record::ledger::EntryFacts::parse(entry.kind, &entry.body)
            .map_err(crate::error::Refusal::from)?;
        same("a scanned entry must have its kind", stored.kind, Some(entry.kind.as_str()))?;
        same("a scanned entry must have its bytes", stored.body, StoredBytes::Whole(&entry.body))?;
        same(
            "a scanned entry must have its fields",
            stored.fields,
            StoredEntry::fields_of(&facts),
        )?;
        let levels = 0..=entry.index.trailing_ones();
        let node = |level| snapshot.node(Node { level, index: entry.index >> level });
        let nodes = levels.map(node).collect::<Result<Vec<_>, _>>()?;
        same(
            "the first node of an entry must be its hash",
            nodes.first().copied(),
            Some(leaf_hash(&entry.body)),
        )?;
        let side_by_side: Vec<u8> = nodes.iter().flat_map(|node| *node.as_bytes()).collect();
        same(
            "a scanned entry must have the hashes of its nodes",
            stored.nodes,
            Some(&*side_by_side),
        )
    };
    snapshot.scan_entries(0..size, &mut |stored| {
        if wrong.is_none() {
            wrong = look(stored).err();
        }
    })?;
    wrong.map_or(Ok(()), Err)?;
    same("all entries must be scanned in order", indexes, (0..size).collect())?;
    same("all entries must be counted", snapshot.count_entries()?, size)?;
    let mut documents = Vec::new();
    snapshot.scan_documents(i64::MIN..=i64::MAX, &mut |document| {
        documents.push((document.number, document.name.to_vec()));
    })?;
    let numbers: Vec<i64> = documents.iter().map(|(number, _)| *number).collect();
    same("documents must be numbered from 0", numbers, (0..).take(documents.len()).collect())?;
    let (note, entry) = (&mut |_: &str| Ok(()), &mut |_, _: &[u8]| Ok(()));
    let mut checks = Checks { note, entry, receipts: Receipts::All };
    let verification = verify(snapshot, &mut checks, &mut |_| {}).map_err(Broken::from)?;
    same("verification must report no findings", verification.findings, Vec::new())?;
    same("verification must read all entries", verification.entries, size)
}
