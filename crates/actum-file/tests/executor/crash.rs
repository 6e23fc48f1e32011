//! The host is killed at each system call on a simulated disk, and the task is asked for again: before or after, never between.

use std::collections::BTreeMap;
use std::path::Path;

use actum::Engine;
use actum_file::{BaseDirectories, FileTaskEnd, Host, HostError, InProcess, OpenError, TaskStatus};
use actum_record::lease::BaseDirectory;
use actum_record::ledger::Actor;
use actum_testkit::{Node, SimDisk};
use actum_workspace::Workspace;

use crate::world::World;

type Tree = BTreeMap<String, Node>;

fn tree(disk: &SimDisk) -> Tree {
    let mut tree = disk.snapshot_without(".actum");
    tree.retain(|path, _| !path.contains(".actum"));
    tree
}

/// Carries out a task on a simulated disk.
fn run(world: &World, disk: &SimDisk, manifest: &str) -> Result<FileTaskEnd, HostError> {
    let open = |base: &BaseDirectory| {
        let root = Path::new(base.as_str().trim_end_matches('/'));
        let workspace = Workspace::open_on(disk.clone(), root);
        let workspace = workspace.map_err(actum::Error::from).map_err(OpenError::from)?;
        Ok(Engine::new(workspace, root, world.records.clone()))
    };
    Host {
        records: world.records.clone(),
        bases: BaseDirectories::new(["/a", "/b"]).unwrap(),
        open: &open,
        worker: &mut InProcess(disk.clone()),
        leases: &world.lease,
        log: &world.log,
        actor: Actor { user: "tester".to_owned(), uid: 1000, agent: None },
        is_cancelled: &|| false,
    }
    .run(manifest.as_bytes())
}

/// FE-1, FE-8, FE-11
#[test]
fn a_task_that_is_killed_at_any_call_is_done_or_not_done_when_it_is_asked_for_again() {
    let manifest = |capability: &str, to: &str| {
        let input = match to {
            "" => serde_json::json!({"source_path": "/a/f"}),
            to => serde_json::json!({"source_path": "/a/f", "destination_path": to}),
        };
        serde_json::json!({
            "task_id": "t", "capability_id": capability, "input": input,
            "constraints": {"reversible": true},
        })
        .to_string()
    };
    let cases =
        [("FILE_MOVE", "/a/g"), ("FILE_COPY", "/b/g"), ("FILE_DELETE", ""), ("FILE_MOVE", "/b/g")];
    for (capability, to) in cases {
        let manifest = manifest(capability, to);
        let base = SimDisk::new();
        base.put("a/f", b"content");
        base.put("b/other", b"other");
        base.settle();
        let before = tree(&base);
        let whole = base.clone_deep();
        let done = run(&World::new(), &whole, &manifest).unwrap();
        assert_eq!(done.result.status, TaskStatus::Success, "{:?}", done.result.detail);
        let (after, calls) = (tree(&whole), whole.calls());
        let (mut failed, mut succeeded) = (0, 0);
        for at in 0..=calls {
            let (world, disk) = (World::new(), base.clone_deep());
            disk.kill_at(at);
            *world.log.disk.borrow_mut() = Some(disk.clone());
            drop(run(&world, &disk, &manifest));
            disk.revive();
            disk.clear_faults();
            let end = run(&world, &disk, &manifest);
            let end = end.unwrap_or_else(|error| panic!("{capability} {to} at {at}: {error}"));
            let what = format!("{capability} {to} at {at}: {:?}", end.result.detail);
            match end.result.status {
                TaskStatus::Success => {
                    succeeded += 1;
                    assert_eq!(tree(&disk), after, "{what}");
                }
                TaskStatus::Failed => {
                    failed += 1;
                    assert_eq!(tree(&disk), before, "{what}");
                }
            }
            let again = run(&world, &disk, &manifest).unwrap();
            assert_eq!(again.envelope, end.envelope, "{what}");
        }
        assert!(succeeded > 10 && failed > 3, "{capability} {to}: {succeeded}, {failed}");
    }
}
