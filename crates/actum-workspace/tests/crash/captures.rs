//! Captures, from which runs take files. If a run is interrupted at any call, the files are in their old or new state.
//! The capture keeps its content until the run is committed (issue 28).

use std::collections::BTreeMap;

use actum_core::{Digest, FileMode, RunId};
use actum_edit::{ModeChange, Operation};
use actum_testkit::{Errno, Node, SimDisk};
use actum_workspace::{Error, ErrorKind, RunOptions, State};

use crate::changes::{apply, base, open, path, rename};
use crate::explore::{Effort, LARGE, explore};

const EFFORT: Effort = Effort { states: 8, states_in_recovery: 1, stride: 3 };

fn capture() -> RunId {
    RunId::from_random(28)
}

fn upper(at: &str) -> String {
    format!(".actum/captures/{}/upper/{at}", capture())
}

/// Returns content that is too large for the journal.
fn large(byte: u8) -> Vec<u8> {
    vec![byte; (1 << 20) + 5_000]
}

fn take(at: &str, content: &[u8], mode: Option<u32>, expected: Option<&[u8]>) -> Operation {
    Operation::Take {
        path: path(at),
        capture: capture(),
        sha256: Digest::of(content),
        size: content.len() as u64,
        mode: mode.map(|mode| ModeChange::Exact(FileMode::new(mode))),
        expected: expected.map(Digest::of),
    }
}

/// Returns a workspace with a capture of all kinds of files, none of which is durable yet.
fn captured() -> SimDisk {
    let disk = base();
    disk.put("large", large(b'x'));
    disk.settle();
    capture_small(&disk);
    disk.put(upper("large"), large(b'y'));
    disk.put(upper("n/large"), large(b'z'));
    disk
}

/// Writes the small files of the capture.
fn capture_small(disk: &SimDisk) {
    disk.mkdir_p(upper("n/e"));
    disk.put(format!(".actum/captures/{}/lock", capture()), b"");
    disk.put(upper("a"), b"ONE\ntwo\n");
    disk.set_xattr_at(upper("a"), "user.overlay.origin", "mark");
    disk.put_mode(upper("n/e/w"), b"new\n", 0o755);
    disk.put_mode(upper("closed"), b"closed\n", 0o400);
    disk.put(upper("n/one"), b"both\n");
    disk.hard_link(upper("n/one"), upper("n/other"));
}

fn operations() -> Vec<Operation> {
    small().into_iter().chain(of_large()).collect()
}

fn of_large() -> Vec<Operation> {
    vec![
        take("large", &large(b'y'), None, Some(&large(b'x'))),
        take("n/large", &large(b'z'), Some(0o644), None),
    ]
}

fn small() -> Vec<Operation> {
    vec![
        take("a", b"ONE\ntwo\n", None, Some(b"one\ntwo\n")),
        take("closed", b"closed\n", Some(0o400), None),
        take("n/e/w", b"new\n", Some(0o755), None),
        take("n/one", b"both\n", Some(0o644), None),
        take("n/other", b"both\n", Some(0o644), None),
    ]
}

fn tree(disk: &SimDisk) -> BTreeMap<String, Node> {
    disk.snapshot_without(".actum")
}

fn run(disk: &SimDisk, operations: &[Operation]) -> Result<RunId, Error> {
    open(disk)?.apply_operations(operations, RunOptions::default())
}

fn holds(
    disk: &SimDisk,
    effort: Effort,
    change: impl Fn(SimDisk) -> Result<(), Error> + 'static,
    what: &str,
) {
    let result = explore(disk, &change, effort);
    result.unwrap_or_else(|violation| panic!("{what}: {violation}"));
}

/// Checks that the operations and their undo are atomic, and that the undo restores the tree.
fn taking_and_undo_hold(disk: &SimDisk, operations: Vec<Operation>, effort: Effort, what: &str) {
    let all = operations.clone();
    holds(disk, effort, move |disk| apply(&disk, &all), what);
    let was = tree(disk);
    let of = run(disk, &operations).unwrap();
    let done = disk.clone_deep();
    holds(&done, effort, move |disk| open(&disk)?.revert(of).map(drop), &format!("undo: {what}"));
    open(disk).unwrap().revert(of).unwrap();
    assert_eq!(tree(disk), was, "{what}");
}

/// FO-2, issue 28
#[test]
fn publishing_captured_files_is_atomic_and_undoable() {
    for is_durable in [false, true] {
        let disk = base();
        capture_small(&disk);
        if is_durable {
            disk.settle();
        }
        taking_and_undo_hold(&disk, small(), EFFORT, &format!("durable: {is_durable}"));
    }
    taking_and_undo_hold(&captured(), of_large(), LARGE, "large");
}

/// Issue 28
#[test]
fn taken_files_keep_their_content_and_mode() {
    let disk = captured();
    let of = run(&disk, &operations()).unwrap();
    let is = tree(&disk);
    for (at, content) in [("a", &b"ONE\ntwo\n"[..]), ("n/e/w", b"new\n"), ("n/other", b"both\n")] {
        assert_eq!(disk.get(at).as_deref(), Some(content), "{at}");
    }
    assert_eq!(disk.get("large"), Some(large(b'y')));
    assert_eq!(disk.stat_of("closed").unwrap().mode, FileMode::new(0o400));
    assert_eq!(disk.stat_of("n/e/w").unwrap().mode, FileMode::new(0o755));
    let undo = open(&disk).unwrap().revert(of).unwrap();
    open(&disk).unwrap().revert(undo).unwrap();
    assert_eq!(tree(&disk), is);
}

/// Issue 28: no content is copied, modification times are preserved, and after the commit the capture has no hard link
/// to the file.
#[test]
fn a_taken_file_keeps_its_inode_and_modification_time() {
    let disk = captured();
    let made = disk.stat_of(upper("n/e/w")).unwrap();
    let large = disk.stat_of(upper("n/large")).unwrap();
    disk.advance(5_000);
    run(&disk, &operations()).unwrap();
    let taken = disk.stat_of("n/e/w").unwrap();
    assert_eq!((taken.inode, taken.modified, taken.links), (made.inode, made.modified, 1));
    assert_eq!(disk.stat_of("n/large").unwrap().inode, large.inode);
    assert_eq!(disk.stat_of(format!(".actum/captures/{}", capture())), None);
    let one = disk.stat_of("n/one").unwrap();
    assert_ne!(one.inode, disk.stat_of("n/other").unwrap().inode);
    let Node::File { xattrs, .. } = &tree(&disk)["a"] else { panic!("no file") };
    assert!(xattrs.is_empty(), "{xattrs:?}");
}

/// FO-2, issue 28: the error states the condition of the workspace, and content that was not taken remains in the
/// capture.
#[test]
fn a_failed_call_leaves_the_capture_for_a_retry() {
    let whole = captured();
    let first = whole.calls();
    run(&whole, &operations()).unwrap();
    let (calls, after) = (whole.calls() - first, tree(&whole));
    for errno in [Errno::NOSPC, Errno::IO, Errno::MFILE] {
        for at in 0..calls {
            let disk = captured();
            let before = tree(&disk);
            disk.fail_at(at, errno);
            let result = run(&disk, &operations());
            disk.clear_faults();
            let what = format!("{errno:?} at call {at}");
            if let Err(error) = &result {
                assert!(!error.to_string().is_empty());
                let unchanged = matches!(error.state, State::Unchanged | State::Restored);
                assert!(unchanged || error.state == State::Published, "{what}: {error}");
            }
            drop(open(&disk).unwrap());
            if tree(&disk) == before {
                run(&disk, &operations()).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            assert_eq!(tree(&disk), after, "{what}");
        }
    }
}

/// FO-2, issue 28: a killed run leaves no second link that a later run could find.
#[test]
fn killed_run_leaves_no_second_link_and_its_capture_is_swept() {
    let whole = captured();
    let first = whole.calls();
    run(&whole, &operations()).unwrap();
    let calls = whole.calls() - first;
    for at in 0..calls {
        let disk = captured();
        disk.kill_at(at);
        drop(run(&disk, &operations()));
        disk.revive();
        let mut workspace = open(&disk).unwrap();
        let rename = [rename("n/e/w", "moved")];
        let is_there = disk.get("n/e/w").is_some();
        if is_there {
            workspace.apply_operations(&rename, RunOptions::default()).unwrap();
            assert_eq!(disk.stat_of("moved").unwrap().links, 1, "killed at call {at}");
        }
        disk.advance(120_000);
        let none = || Ok::<_, Error>(std::collections::BTreeSet::new());
        workspace.sweep_captures(none).unwrap();
        assert_eq!(disk.stat_of(format!(".actum/captures/{}", capture())), None, "{at}");
    }
}

/// Issue 28
#[test]
fn a_capture_stays_while_an_open_plan_needs_it() {
    let disk = captured();
    let plan = RunId::from_random(7);
    let mut workspace = open(&disk).unwrap();
    workspace.begin(RunOptions::default()).unwrap().keep_capture(capture(), plan).unwrap();
    let open_plans = |plans: &[RunId]| {
        let plans = plans.iter().copied().collect();
        || Ok::<_, Error>(plans)
    };
    assert_eq!(workspace.sweep_captures(open_plans(&[plan])).unwrap(), 0);
    assert!(disk.stat_of(upper("a")).is_some());
    assert_eq!(workspace.sweep_captures(open_plans(&[capture()])).unwrap(), 1);
    assert_eq!(disk.stat_of(upper("a")), None);
}

/// Issue 28
#[test]
fn a_changed_or_missing_capture_is_a_conflict() {
    type Harm = fn(&SimDisk);
    let harms: [Harm; 4] = [
        |disk| disk.replace(upper("n/e/w"), b"NEW\n"),
        |disk| disk.remove(upper("n/e/w")),
        |disk| {
            disk.remove(upper("n/e/w"));
            disk.symlink(upper("n/e/w"), "/etc/passwd");
        },
        |disk| disk.rename_path(format!(".actum/captures/{}", capture()), ".actum/elsewhere"),
    ];
    for harm in harms {
        let disk = captured();
        let before = tree(&disk);
        harm(&disk);
        let error = run(&disk, &operations()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "{error}");
        assert!(error.to_string().contains("run the command again"), "{error}");
        assert_eq!(error.state, State::Unchanged);
        assert_eq!(tree(&disk), before);
    }
}

/// Issue 28: contents that do not fit into the record are read from the capture without keeping a handle for each file.
#[test]
fn many_captured_files_are_published_and_undone() {
    let disk = base();
    disk.put(format!(".actum/captures/{}/lock", capture()), b"");
    let content = |number: u8| vec![number; 900 << 10];
    let files: Vec<_> = (0..24).map(|number| (format!("many/{number}"), content(number))).collect();
    disk.mkdir_p(upper("many"));
    for (at, content) in &files {
        disk.put(upper(at), content);
    }
    let before = tree(&disk);
    let taken: Vec<_> =
        files.iter().map(|(at, content)| take(at, content, Some(0o600), None)).collect();
    let of = run(&disk, &taken).unwrap();
    for (at, content) in &files {
        assert_eq!(disk.get(at).as_ref(), Some(content), "{at}");
    }
    open(&disk).unwrap().revert(of).unwrap();
    assert_eq!(tree(&disk), before);
}
