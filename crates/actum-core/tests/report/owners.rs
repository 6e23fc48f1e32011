//! The rollback script, and whose the files are that it puts back (EX-16).

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use tempfile::TempDir;

use crate::rollback::{files, run, said};
use crate::tree::{Files, Run};

/// EX-16: root gives nobody's program to itself.
#[test]
fn what_runs_as_its_owner_keeps_its_owner_or_does_not_come_back() {
    let root = TempDir::new().unwrap();
    let is_root = fs::metadata(root.path()).unwrap().uid() == 0;
    let a_run = Run {
        before: files(&[(b"it's a tool", b"old\n", 0o4755)]),
        after: files(&[(b"it's a tool", b"new\n", 0o4755)]),
        ..Run::default()
    };
    let script = a_run.write_after(root.path());
    let tool = root.path().join("it's a tool");
    if is_root {
        chown(&tool, Some(1234), Some(1234)).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let owner = fs::metadata(&tool).unwrap().uid();
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let now = fs::metadata(&tool).unwrap();
    assert_eq!((now.uid(), now.mode() & 0o7777), (owner, 0o4755));
    assert_eq!(fs::read(&tool).unwrap(), b"old\n");

    let gone = Run { after: Files::new(), ..a_run };
    let root = TempDir::new().unwrap();
    let script = gone.write_after(root.path());
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(i32::from(is_root)), "{}", said(&done));
    assert_eq!(root.path().join("it's a tool").exists(), !is_root);
}

/// EX-16: who may not give a program its owner back is told before anything is changed.
#[test]
fn what_runs_as_somebody_else_stops_a_user_before_anything_is_changed() {
    let root = TempDir::new().unwrap();
    let a_run = Run {
        before: files(&[(b"first", b"old\n", 0o644), (b"tool", b"old\n", 0o4755)]),
        after: files(&[(b"first", b"new\n", 0o644), (b"tool", b"new\n", 0o4755)]),
        ..Run::default()
    };
    let script = a_run.write_after(root.path());
    let tool = fs::metadata(root.path().join("tool")).unwrap();
    // Who runs it is what `id` says.
    let programs = TempDir::new().unwrap();
    let id = programs.path().join("id");
    let run_as = |user: u32, groups: &str, arguments: &[&str]| {
        let says = format!("#!/bin/sh\n[ \"$1\" = -u ] && echo {user} || echo {groups}\n");
        fs::write(&id, says).unwrap();
        fs::set_permissions(&id, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
        Command::new("/bin/sh").arg(&script).args(arguments).env("PATH", path).output().unwrap()
    };
    let group = tool.gid();
    for arguments in [&["--check"][..], &[]] {
        let refused = run_as(tool.uid() + 4321, &group.to_string(), arguments);
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains("tool: runs as its owner"), "{}", said(&refused));
        assert_eq!(fs::read(root.path().join("first")).unwrap(), b"new\n");
    }
    let done = run_as(tool.uid(), &format!("{} {group}", group + 4321), &[]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(fs::read(root.path().join("tool")).unwrap(), b"old\n");
}
