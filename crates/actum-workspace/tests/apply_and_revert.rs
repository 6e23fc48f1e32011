//! A change set is applied and reverted on a real directory.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail loudly")]

use actum_core::{ChangeSet, Hunk, Patch};
use actum_workspace::Workspace;

#[test]
fn smoke() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "one\ntwo\n").unwrap();
    let mut ws = Workspace::open(dir.path()).unwrap();
    let set = ChangeSet { patches: vec![Patch { path: "a".into(), hunks: vec![Hunk { old_start: 1, old_lines: 2, new_start: 1, new_lines: 2, lines: " one\n-two\n+TWO\n".into() }], expected_prev_sha256: None },
     Patch { path: "d/e/b".into(), hunks: vec![Hunk { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines: "+x\n".into() }], expected_prev_sha256: None }] };
    let id = ws.apply(&set).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "one\nTWO\n");
    assert_eq!(std::fs::read_to_string(dir.path().join("d/e/b")).unwrap(), "x\n");
    let undo = ws.revert(id).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "one\ntwo\n");
    assert!(!dir.path().join("d").exists());
    println!("{}", ws.revert(id).unwrap_err());
    drop(ws);
    let mut ws = Workspace::open(dir.path()).unwrap();
    ws.revert(undo).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("d/e/b")).unwrap(), "x\n");
    std::fs::write(dir.path().join("a"), "one\n3\n").unwrap();
    println!("{}", ws.revert(id).unwrap_err());
    println!("{}", ws.apply(&set).unwrap_err());
}
