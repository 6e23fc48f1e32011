//! Helpers for operations and trees that the simulated-disk tests share.

use std::path::Path;

use actum_core::RelPath;
use actum_edit::{EmptyParents, LineHunk, Operation};
use actum_testkit::SimDisk;
use actum_workspace::{Error, RunOptions, Workspace};

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

pub(crate) fn patch(file: &str, line: u32, old: &str, new: &str) -> Operation {
    let body = format!("-{old}\n+{new}\n").into_bytes();
    let hunk = LineHunk {
        old_start: line,
        old_lines: 1,
        new_start: line,
        new_lines: 1,
        body,
        at_end: false,
    };
    Operation::Patch { path: path(file), hunks: vec![hunk], expected: None }
}

pub(crate) fn create(file: &str, content: &str) -> Operation {
    Operation::Create { path: path(file), content: content.into(), mode: None }
}

pub(crate) fn delete(file: &str) -> Operation {
    Operation::Delete { path: path(file), expected: None, parents: EmptyParents::Remove }
}

pub(crate) fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Remove }
}

pub(crate) fn open(disk: &SimDisk) -> Result<Workspace<SimDisk>, Error> {
    Workspace::open_on(disk.clone(), Path::new("/"))
}

pub(crate) fn apply(disk: &SimDisk, operations: &[Operation]) -> Result<(), Error> {
    open(disk)?.apply_operations(operations, RunOptions::default()).map(drop)
}

/// Returns a durable workspace with a few files.
pub(crate) fn base() -> SimDisk {
    let disk = SimDisk::new();
    disk.put("a", b"one\ntwo\n");
    disk.put("b", b"uno\ndos\n");
    disk.mkdir_p("d");
    disk.put("d/c", b"eins\n");
    disk.put_mode("run.sh", b"#!/bin/sh\n", 0o755);
    drop(open(&disk).unwrap());
    disk.settle();
    disk
}

/// Returns operations of every kind.
pub(crate) fn mixture() -> Vec<Operation> {
    vec![
        patch("a", 1, "one", "ONE"),
        create("n/new", "new\n"),
        delete("d/c"),
        rename("run.sh", "bin/run.sh"),
    ]
}
