//! Fuzz target that damages the journal of a workspace. Opening the workspace must either fail or recover it, and no file may
//! change in a way that an intact journal does not record.

use std::path::Path;

use actum_core::RelPath;
use actum_edit::Operation;
use actum_workspace::{RunOptions, View, Workspace, fuzzing};

use super::bytes::Bytes;
use crate::SimDisk;

pub(super) fn run(input: &[u8]) {
    // First test only the record decoder, which otherwise rarely sees input because of the checksums.
    let _is_sound = fuzzing::decode_record(input);
    let mut bytes = Bytes(input);
    let disk = SimDisk::new();
    disk.put("a", b"first\n");
    let mut workspace = Workspace::open_on(disk.clone(), Path::new("/")).unwrap();
    for content in [b"second\n", b"third!\n"] {
        let path = RelPath::new("a").unwrap();
        let write = Operation::Write { path, content: content.to_vec(), expected: None };
        workspace.apply_operations(&[write], RunOptions::default()).unwrap();
    }
    drop(workspace);
    let before = disk.snapshot_without(".actum");
    let mut journal = disk.get(".actum/journal").unwrap();
    while !bytes.is_empty() {
        // Damage only the beginning of the journal, which contains its records. The rest is mostly zeros.
        let at = (usize::from(bytes.byte()) << 8 | usize::from(bytes.byte())) % journal.len();
        for (index, byte) in bytes.piece().iter().enumerate() {
            if let Some(place) = journal.get_mut(at + index) {
                *place ^= byte;
            }
        }
    }
    disk.put(".actum/journal", &journal);
    drop(View::open_on(disk.clone(), Path::new("/")).and_then(|view| view.status()));
    match Workspace::open_on(disk.clone(), Path::new("/")) {
        Ok(mut workspace) => {
            // Damage can make a record look as if it had never been written. Even then, the file must have a content that
            // it had at some point.
            let held = disk.get("a").unwrap();
            assert!([&b"first\n"[..], b"second\n", b"third!\n"].contains(&held.as_slice()));
            drop(workspace.revert(actum_core::RunId::from_random(1)));
        }
        Err(error) => {
            assert_eq!(disk.snapshot_without(".actum"), before, "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
