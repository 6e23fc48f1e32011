//! Tasks on a simulated disk.

use std::collections::BTreeMap;
use std::path::Path;

use actum::Engine;
use actum_file::{BaseDirectories, FileTaskEnd, Host, HostError, InProcess, OpenError};
use actum_record::lease::BaseDirectory;
use actum_record::ledger::Actor;
use actum_testkit::{Node, SimDisk};
use actum_workspace::Workspace;

use crate::world::World;

pub(crate) type Tree = BTreeMap<String, Node>;

/// Every file capability with the destination of its file, including moves and copies within one base directory and between two.
pub(crate) const CASES: [(&str, &str); 5] = [
    ("FILE_MOVE", "/a/e/g"),
    ("FILE_COPY", "/a/e/g"),
    ("FILE_DELETE", ""),
    ("FILE_MOVE", "/b/e/g"),
    ("FILE_COPY", "/b/e/g"),
];

/// Creates a disk with the file `/a/d/f`.
pub(crate) fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.put("a/d/f", b"content");
    disk.put("a/e/other", b"other");
    disk.put("b/e/other", b"other");
    disk.put("outside/f", b"outside");
    disk.settle();
    disk
}

/// Returns everything on the disk except actum's own state.
pub(crate) fn tree(disk: &SimDisk) -> Tree {
    let mut tree = disk.snapshot();
    tree.retain(|path, _| !path.contains(".actum"));
    tree
}

pub(crate) fn manifest((capability, to): (&str, &str)) -> String {
    let input = match to {
        "" => serde_json::json!({"source_path": "/a/d/f"}),
        to => serde_json::json!({"source_path": "/a/d/f", "destination_path": to}),
    };
    serde_json::json!({
        "task_id": "t", "capability_id": capability, "input": input,
        "constraints": {"reversible": true},
    })
    .to_string()
}

/// Carries out a task with the base directories `/a` and `/b`.
pub(crate) fn run(world: &World, disk: &SimDisk, manifest: &str) -> Result<FileTaskEnd, HostError> {
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
