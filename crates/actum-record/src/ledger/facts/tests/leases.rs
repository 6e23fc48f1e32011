//! Tests the facts of ledger entries about leases and file tasks.

use actum_core::canonical;
use serde_json::json;

use super::super::*;
use super::{actor, judged, started};
use crate::lease::{Capability, LeaseBlockRecord, LeaseId, LeaseRecord, TaskName};
use crate::ledger::{FileTaskRoot, JudgedPlan};
use crate::signer::{KeyId, KeyRole, PublicKey};

/// Returns the record of a lease with the given number of blocks. Every block except the first is limited to 3 uses.
fn lease(blocks: usize) -> LeaseRecord {
    let block = |number: usize| LeaseBlockRecord {
        agent: None,
        id: LeaseId(Digest::of(&number.to_be_bytes())),
        uses: (number > 0).then_some(3),
    };
    LeaseRecord {
        blocks: (0..blocks).map(block).collect(),
        document: Digest::of(b"chain"),
        key: KeyId::new(KeyRole::Lease, &PublicKey([4; 32])),
    }
}

/// FE-17, D-7: a run under a lease counts as a use of each block of the lease. The runs of a file task do not, because the start
/// of the task has already been counted. A lease must have 1 to 8 blocks.
#[test]
fn run_under_a_lease_counts_as_a_use_of_each_block() {
    let under = |door: &str, lease| {
        let started = EffectStarted { lease: Some(lease), door: door.to_owned(), ..started(3) };
        EntryFacts::parse(EntryKind::EffectStarted, &canonical::to_vec(&started).unwrap())
    };
    let facts = under("cli", lease(2)).unwrap();
    let LeaseRecord { blocks, document, .. } = lease(2);
    let blocks: Vec<LeaseUse> =
        blocks.iter().map(|block| LeaseUse { id: block.id, uses: block.uses }).collect();
    assert_eq!(facts.lease, Some(LeaseEvent::Used { blocks: blocks.clone() }));
    assert_eq!(facts.blobs.last(), Some(&document));
    let half = under("file task", lease(2)).unwrap();
    assert_eq!(half.lease, Some(LeaseEvent::UsedByTask { blocks }));
    for blocks in [0, 9] {
        let error = under("cli", lease(blocks)).unwrap_err();
        assert!(error.message.starts_with("a lease must have 1 to 8 blocks"), "{error}");
    }
    assert!(under("cli", lease(8)).is_ok());
}

/// FE-17: a refused plan refers to the document of its lease, but does not count as a use of the lease.
#[test]
fn rejected_plan_does_not_use_its_lease() {
    let plan = JudgedPlan { lease: Some(lease(1)), ..judged(3) };
    let refused =
        PlanRefused { format: PlanRefused::FORMAT.to_owned(), time: started(3).time, plan };
    let body = canonical::to_vec(&refused).unwrap();
    let facts = EntryFacts::parse(EntryKind::PlanRefused, &body).unwrap();
    assert_eq!((facts.lease, facts.blobs.last()), (None, Some(&lease(1).document)));
}

/// FE-11, FE-6: a file task must have one or two base directories, and an end that refers to a start must name its task.
#[test]
fn file_task_entries_require_base_directories_and_a_task() {
    let root = || FileTaskRoot {
        workspace: started(3).workspace,
        root: "/srv".to_owned(),
        run: started(3).run,
    };
    let of = |roots: usize| {
        let task = FileTaskStarted {
            format: FileTaskStarted::FORMAT.to_owned(),
            time: started(3).time,
            tenant: started(3).tenant,
            task: "move-1".parse().unwrap(),
            manifest: Digest::of(b"manifest"),
            capability: Capability::FileMove,
            source: "/srv/a/one".to_owned(),
            destination: Some("/srv/b/one".to_owned()),
            lease: lease(1),
            roots: (0..roots).map(|_| root()).collect(),
            actor: actor(1),
            engine: "actum 0.1.0".to_owned(),
        };
        EntryFacts::parse(EntryKind::FileTaskStarted, &canonical::to_vec(&task).unwrap())
    };
    let facts = of(2).unwrap();
    let task: TaskName = "move-1".parse().unwrap();
    assert_eq!(facts.file_task, Some(FileTaskEvent::Started { task: task.clone() }));
    assert!(matches!(facts.lease, Some(LeaseEvent::Used { .. })));
    assert_eq!(facts.blobs, [lease(1).document]);
    assert!(of(1).is_ok() && of(0).is_err() && of(3).is_err());
    let time = started(3).time;
    let ended = |task_id: Option<TaskName>, is_started: bool| {
        let leaf = Digest::of(b"started");
        let entry = EntryRef { origin: "actum/log/default".to_owned(), index: 4, leaf };
        let started = is_started.then_some(entry);
        let ended = FileTaskEnded { task_id, started, time };
        let body = canonical::to_vec(&json!({
            "payload": STANDARD.encode(canonical::to_vec(&ended).unwrap()),
            "payloadType": FileTaskEnded::PAYLOAD_TYPE,
            "signatures": [],
        }));
        EntryFacts::parse(EntryKind::FileTaskEnded, &body.unwrap())
    };
    let facts = ended(Some(task.clone()), true).unwrap();
    assert_eq!(facts.file_task, Some(FileTaskEvent::Ended { task: task.clone() }));
    assert_eq!(facts.follows, Some((4, Digest::of(b"started"))));
    assert_eq!(ended(Some(task), false).unwrap().follows, None);
    assert_eq!(ended(None, false).unwrap().file_task, None);
    assert!(ended(None, true).is_err());
}
