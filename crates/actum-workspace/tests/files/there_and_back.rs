//! Checks a run, its undo, and the undo of that undo.

use actum_edit::Operation;
use actum_testkit::TestDir;
use actum_workspace::{RunOptions, Workspace};

/// Applies the operations, compares the tree with `expect`, undoes them, compares it with the original, and redoes
/// them.
pub(crate) fn there_and_back(dir: &TestDir, operations: &[Operation], expect: impl Fn()) {
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(operations, RunOptions::default()).unwrap();
    let after = dir.tree();
    expect();
    let undo = workspace.revert(run).unwrap();
    assert_eq!(dir.tree(), before, "undo");
    // Repeat this with another handle, and from the history.
    drop(workspace);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    let redo = workspace.revert(undo).unwrap();
    assert_eq!(dir.tree(), after, "undo of the undo");
    workspace.revert(redo).unwrap();
    assert_eq!(dir.tree(), before, "undo of the undo of the undo");
}
