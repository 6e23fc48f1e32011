//! Bad input is rejected with an error that names the problem, and nothing changes.

use std::os::unix::net::UnixListener;

use actum_core::{Budget, PathRule, RelPath, RunId, Scope};
use actum_edit::edit::{Chunk, EDIT_BYTES_MAX};
use actum_edit::{ChangeSet, Edit, EmptyParents, Hunk, Operation, Patch};
use actum_testkit::{Errno, TestDir, limited_host};
use actum_workspace::{Limits, RunOptions, State, View, Workspace};

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn write(file: &str) -> Operation {
    Operation::Write { path: path(file), content: b"new\n".to_vec(), expected: None }
}

fn create(file: &str) -> Operation {
    Operation::Create { path: path(file), content: b"new\n".to_vec(), mode: None }
}

fn patch(file: &str, old: &str) -> Patch {
    let hunk = Hunk {
        old_start: 1,
        old_lines: 1,
        new_start: 1,
        new_lines: 1,
        lines: format!("-{old}\n+new\n"),
    };
    Patch { path: file.into(), hunks: vec![hunk], expected_prev_sha256: None }
}

/// Checks that the operations are rejected with this message, and that the tree and the staged files are unchanged.
fn refused(dir: &TestDir, operations: &[Operation], options: RunOptions, message: &str) {
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let error = workspace.apply_operations(operations, options).unwrap_err();
    assert_eq!(error.to_string(), format!("{message}; nothing was changed"));
    assert_eq!(error.state, State::Unchanged);
    assert_eq!(dir.tree(), before, "{message}");
    assert_eq!(std::fs::read_dir(dir.join(".actum/stage")).unwrap().count(), 0, "{message}");
}

fn refused_change_set(dir: &TestDir, patches: Vec<Patch>, message: &str) {
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let error = workspace.apply(&ChangeSet { patches }).unwrap_err();
    assert_eq!(error.to_string(), format!("{message}; nothing was changed"));
    assert_eq!(dir.tree(), before, "{message}");
}

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.put("good", "old\n");
    dir.put("file", "old\n");
    dir.mkdir("directory");
    dir
}

/// FO-2
#[test]
fn a_second_patch_that_fails_leaves_nothing_of_the_first() {
    refused_change_set(
        &dir(),
        vec![patch("good", "old"), patch("file", "something else")],
        "cannot patch `file`: hunk 1 does not match at line 1: \
         expected `something else\\n`, found `old\\n`",
    );
}

/// FO-6
#[test]
fn a_wrong_expected_digest_blocks_the_whole_change_set() {
    let mut wrong = patch("file", "old");
    let digest = "0".repeat(64);
    wrong.expected_prev_sha256 = Some(digest.clone());
    let found = actum_core::Digest::of(b"old\n");
    refused_change_set(
        &dir(),
        vec![patch("good", "old"), wrong],
        &format!("cannot change `file`: expected SHA-256 {digest}, found {found}"),
    );
    let mut missing = patch("absent", "old");
    missing.expected_prev_sha256 = Some(digest.clone());
    refused_change_set(
        &dir(),
        vec![missing],
        &format!("cannot change `absent`: expected SHA-256 {digest}, found no file"),
    );
}

/// FO-7
#[test]
fn invalid_and_protected_paths_are_rejected() {
    for (given, problem) in [
        ("../file", "it contains `..`"),
        ("a/../../file", "it contains `..`"),
        ("/etc/passwd", "it is absolute; make it relative to the workspace root"),
        ("", "it is empty"),
        ("a\0b", "it contains a NUL byte"),
        (".git/config", "it is part of `.git` or `.actum`, which must not be changed"),
        ("sub/.GIT/hooks/x", "it is part of `.git` or `.actum`, which must not be changed"),
        (".actum/journal", "it is part of `.git` or `.actum`, which must not be changed"),
    ] {
        let shown = given.replace('\0', "\\000");
        refused_change_set(
            &dir(),
            vec![patch("good", "old"), patch(given, "old")],
            &format!(
                "the change set cannot be used: patch 2: the path `{shown}` cannot be used: {problem}"
            ),
        );
    }
}

/// FO-7, D-6
#[test]
fn operations_never_follow_a_symlink() {
    let dir = dir();
    let outside = TestDir::new();
    outside.put("target", "old\n");
    dir.symlink("link", outside.join("target"));
    dir.symlink("way", outside.path());
    dir.symlink("inside", "directory");
    let all = RunOptions::default;
    refused(
        &dir,
        &[write("link")],
        all(),
        "cannot change `link`: it is a symbolic link; only regular files can be changed",
    );
    refused(
        &dir,
        &[write("way/target")],
        all(),
        "cannot reach `way/target`: `way` is a symbolic link",
    );
    refused(
        &dir,
        &[create("inside/new")],
        all(),
        "cannot reach `inside/new`: `inside` is a symbolic link",
    );
    assert_eq!(outside.get("target").unwrap(), b"old\n");
}

/// FO-7, issue 22 (claims): on a host without openat2(2), paths are resolved component by component.
#[test]
fn without_openat2_neither_links_nor_mounts_below_the_root_are_followed() {
    limited_host::without(&[limited_host::OPENAT2], Errno::NOSYS, || {
        operations_never_follow_a_symlink();
        a_file_system_mounted_below_the_root_is_not_entered();
        only_regular_files_are_changed();
        let dir = dir();
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let options = RunOptions::default();
        workspace.apply_operations(&[write("good"), create("directory/new")], options).unwrap();
        assert_eq!(dir.get("directory/new").unwrap(), b"new\n");
    });
}

/// FO-7, issue 22 (claims): a bind mount has the same device as the root, but is still a mount point.
#[test]
fn bind_mount_below_the_root_is_not_entered() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test must run as root, as all of `cargo xtask test` that needs it"
    );
    let refused_below_mount = || {
        let dir = dir();
        let outside = TestDir::new();
        outside.put("file", "old\n");
        dir.mkdir("mounted");
        let mount_point = dir.join("mounted");
        rustix::mount::mount_bind(outside.path(), &mount_point).unwrap();
        let result = std::panic::catch_unwind(|| {
            let message =
                "cannot reach `mounted/file`: it is on a different file system from the workspace";
            refused(&dir, &[write("mounted/file")], RunOptions::default(), message);
        });
        rustix::mount::unmount(&mount_point, rustix::mount::UnmountFlags::DETACH).unwrap();
        result.unwrap();
    };
    refused_below_mount();
    limited_host::without(&[limited_host::OPENAT2], Errno::NOSYS, refused_below_mount);
}

/// FO-7
#[test]
fn only_regular_files_are_changed() {
    let dir = dir();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let _listener = UnixListener::bind(dir.join("socket")).unwrap();
    for name in ["fifo", "socket"] {
        refused(
            &dir,
            &[write(name)],
            RunOptions::default(),
            &format!(
                "cannot change `{name}`: it is a FIFO, socket or device; only regular files can be changed"
            ),
        );
    }
    refused(
        &dir,
        &[write("directory")],
        RunOptions::default(),
        "cannot change `directory`: it is a directory; only regular files can be changed",
    );
    refused(
        &dir,
        &[create("file/below")],
        RunOptions::default(),
        "cannot reach `file/below`: `file` is a file, not a directory",
    );
}

/// FO-7
#[test]
fn a_file_system_mounted_below_the_root_is_not_entered() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test must run as root, as all of `cargo xtask test` that needs it"
    );
    let dir = dir();
    dir.mkdir("mounted");
    rustix::mount::mount(
        "tmpfs",
        dir.join("mounted"),
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        None,
    )
    .unwrap();
    dir.put("mounted/file", "old\n");
    let result = std::panic::catch_unwind(|| {
        refused(
            &dir,
            &[write("mounted/file")],
            RunOptions::default(),
            "cannot reach `mounted/file`: it is on a different file system from the workspace",
        );
    });
    rustix::mount::unmount(dir.join("mounted"), rustix::mount::UnmountFlags::DETACH).unwrap();
    result.unwrap();
}

/// FO-10
#[test]
fn missing_sources_and_existing_targets_are_rejected() {
    let all = RunOptions::default;
    refused(&dir(), &[create("file")], all(), "cannot create `file`: it already exists");
    refused(&dir(), &[write("none")], all(), "cannot change `none`: it does not exist");
    let delete = Operation::Delete {
        path: path("none/deep"),
        expected: None,
        parents: EmptyParents::Remove,
    };
    refused(&dir(), &[delete], all(), "cannot delete `none/deep`: it does not exist");
    let rename =
        Operation::Rename { from: path("none"), to: path("other"), parents: EmptyParents::Remove };
    refused(&dir(), &[rename], all(), "cannot rename `none`: it does not exist");
    let copy = Operation::Copy { from: path("none"), to: path("other") };
    refused(&dir(), &[copy], all(), "cannot copy `none`: it does not exist");
    let onto =
        Operation::Rename { from: path("file"), to: path("good"), parents: EmptyParents::Remove };
    refused(&dir(), &[onto], all(), "cannot create `good`: it already exists");
    let copy = Operation::Copy { from: path("file"), to: path("directory") };
    refused(&dir(), &[copy], all(), "cannot create `directory`: it already exists");
}

/// FO-1
#[test]
fn two_patches_for_one_path_are_refused() {
    refused_change_set(
        &dir(),
        vec![patch("file", "old"), patch("file", "new")],
        "the change set cannot be used: patch 2: the path `file` already has a patch in this change set",
    );
}

/// FO-3
#[test]
fn path_outside_the_scope_is_rejected_with_its_rule() {
    let scope = Scope {
        allow: Some(vec![PathRule::new("directory/").unwrap()]),
        deny: vec![PathRule::new("directory/secret").unwrap()],
    };
    let limits = Limits { scope, ..Limits::default() };
    let options = || RunOptions { limits: limits.clone(), ..RunOptions::default() };
    refused(
        &dir(),
        &[create("directory/ok"), write("file")],
        options(),
        "outside the scope: the path `file` matches none of the allowed paths (`directory/`)",
    );
    refused(
        &dir(),
        &[create("directory/secret/key")],
        options(),
        "outside the scope: the path `directory/secret/key` is denied by the scope rule \
         `directory/secret`",
    );
    let away = Operation::Rename {
        from: path("file"),
        to: path("directory/x"),
        parents: EmptyParents::Keep,
    };
    refused(
        &dir(),
        &[away],
        options(),
        "outside the scope: the path `file` matches none of the allowed paths (`directory/`)",
    );
}

/// FO-4
#[test]
fn change_over_the_budget_is_rejected_with_the_budget_status() {
    let budget = |max_files, max_loc| RunOptions {
        limits: Limits { budget: Budget { max_files, max_loc }, ..Limits::default() },
        ..RunOptions::default()
    };
    refused(
        &dir(),
        &[write("good"), write("file")],
        budget(Some(1), None),
        "over the budget: 2 files (limit 1), 4 changed lines (no limit); \
         the largest: `file` +1 -1, `good` +1 -1",
    );
    refused(
        &dir(),
        &[write("good"), create("new")],
        budget(Some(2), Some(2)),
        "over the budget: 2 files (limit 2), 3 changed lines (limit 2); \
         the largest: `good` +1 -1, `new` +1 -0",
    );
    let dir = dir();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let within = budget(Some(2), Some(3));
    workspace.apply_operations(&[write("good"), create("new")], within).unwrap();
}

/// FO-9
#[test]
fn impossible_undo_is_rejected_with_the_reason() {
    let dir = dir();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run =
        workspace.apply_operations(&[write("good"), create("new")], RunOptions::default()).unwrap();
    let message = |workspace: &mut Workspace, run| {
        let before = dir.tree();
        let error = workspace.revert(run).unwrap_err();
        assert_eq!(error.state, State::Unchanged);
        assert_eq!(dir.tree(), before);
        error.to_string()
    };
    let unknown = RunId::from_random(1);
    assert_eq!(
        message(&mut workspace, unknown),
        format!("there is no run `{unknown}` in this workspace; nothing was changed")
    );
    dir.put("good", "mine\n");
    assert_eq!(
        message(&mut workspace, run),
        format!(
            "cannot undo run {run}: `good` has changed since (its content is different); \
             nothing was changed"
        )
    );
    dir.put("good", "new\n");
    dir.remove("good");
    assert_eq!(
        message(&mut workspace, run),
        format!(
            "cannot undo run {run}: `good` has changed since (it no longer exists); \
             nothing was changed"
        )
    );
    dir.put("good", "new\n");
    // Writing the same bytes again restores the state that the run left.
    let undo = workspace.revert(run).unwrap();
    assert_eq!(
        message(&mut workspace, run),
        format!("cannot undo run {run}: run {undo} has already undone it; nothing was changed")
    );
    workspace.revert(undo).unwrap();
    workspace.revert(run).unwrap();
}

/// FO-2
#[test]
fn workspace_in_use_error_names_the_lock_holder() {
    let dir = dir();
    let mut first = Workspace::open(dir.path()).unwrap();
    let mut second = Workspace::open(dir.path()).unwrap();
    let options = RunOptions { label: "a long job".into(), ..RunOptions::default() };
    let transaction = first.begin(options).unwrap();
    let error = second.apply_operations(&[write("good")], RunOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the workspace is in use by process {} (a long job); nothing was changed",
            std::process::id()
        )
    );
    drop(transaction);
    let undo = first.begin(RunOptions { label: String::new(), ..RunOptions::default() }).unwrap();
    let error = second.apply_operations(&[write("good")], RunOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the workspace is in use by process {}; nothing was changed", std::process::id())
    );
    let transaction = undo;
    // A read-only view can be opened while the lock is held.
    assert_eq!(View::open(dir.path()).unwrap().runs().unwrap(), []);
    drop(transaction);
    second.apply_operations(&[write("good")], RunOptions::default()).unwrap();
    // The first handle sees the changes of the second.
    first.apply_operations(&[write("file")], RunOptions::default()).unwrap();
    assert_eq!(View::open(dir.path()).unwrap().runs().unwrap().len(), 2);
}

/// FO-7
#[test]
fn state_directory_of_another_user_is_rejected() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test must run as root, as all of `cargo xtask test` that needs it"
    );
    let dir = dir();
    drop(Workspace::open(dir.path()).unwrap());
    std::os::unix::fs::chown(dir.join(".actum"), Some(12), Some(34)).unwrap();
    let error = Workspace::open(dir.path()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the state directory `.actum` cannot be used: it belongs to another user, whose records \
         would be trusted; run actum as that user; nothing was changed"
    );
}

/// FO-2
#[test]
fn invalid_state_directory_is_rejected() {
    let message = |dir: &TestDir| Workspace::open(dir.path()).err().unwrap().to_string();
    let file = dir();
    file.put(".actum", "x");
    assert_eq!(
        message(&file),
        "the state directory `.actum` cannot be used: it is not a directory; nothing was changed"
    );
    let link = dir();
    link.mkdir("elsewhere");
    link.symlink(".actum", "elsewhere");
    assert_eq!(
        message(&link),
        "the state directory `.actum` cannot be used: it is not a directory; nothing was changed"
    );
    let gone = dir();
    let mut workspace = Workspace::open(gone.path()).unwrap();
    workspace.apply_operations(&[write("good")], RunOptions::default()).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    gone.remove(".actum/journal");
    assert_eq!(
        message(&gone),
        "the journal `.actum/journal` is missing, although this workspace has runs; nothing was changed"
    );
}

/// FO-5
#[test]
fn undo_of_manually_restored_files_reports_nothing_to_undo() {
    let dir = dir();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let operations = [write("file"), create("made")];
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    dir.put("file", "old\n");
    let half = workspace.begin_undo(run, RunOptions::default()).unwrap();
    assert_eq!(half.as_before(), [path("file")], "there is still something to undo");
    drop(half);
    std::fs::remove_file(dir.join("made")).unwrap();
    assert_eq!(
        workspace.revert(run).unwrap_err().to_string(),
        format!(
            "cannot undo run {run}: its files are already as they were before the run; nothing was \
             changed"
        )
    );
}

/// FO-9
#[test]
fn removed_journal_is_not_silently_replaced() {
    let dir = dir();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.apply_operations(&[write("file")], RunOptions::default()).unwrap();
    drop(workspace);
    std::fs::remove_file(dir.join(".actum/journal")).unwrap();
    let error = Workspace::open(dir.path()).err().unwrap().to_string();
    let missing = "the journal `.actum/journal` is missing, although this workspace has runs; nothing was changed";
    assert_eq!(error, missing);
    assert_eq!(View::open(dir.path()).err().unwrap().to_string(), missing);
    assert_eq!(Workspace::set_aside_journal(dir.path()).unwrap().journal, None);
    Workspace::open(dir.path())
        .unwrap()
        .apply_operations(&[write("good")], RunOptions::default())
        .unwrap();
}

/// FO-5
#[test]
fn file_creation_patch_is_not_an_insertion_into_an_existing_file() {
    let dir = dir();
    let hunk =
        Hunk { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines: "+new\n".into() };
    let patch = Patch { path: "file".into(), hunks: vec![hunk], expected_prev_sha256: None };
    refused_change_set(&dir, vec![patch], "cannot create `file`: it already exists");
}

/// FO-4
#[test]
fn large_copy_is_charged_by_its_lines() {
    let dir = dir();
    dir.put("large", "line\n".repeat(300_000));
    let budget = Budget { max_files: None, max_loc: Some(299_999) };
    let limits = Limits { budget, ..Limits::default() };
    let copy = Operation::Copy { from: path("large"), to: path("copy") };
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let options = RunOptions { limits, ..RunOptions::default() };
    let error = workspace.apply_operations(&[copy], options).unwrap_err().to_string();
    assert!(error.starts_with("over the budget: 1 file (no limit), 300000"), "{error}");
}

/// FO-1
#[test]
fn all_errors_are_reported_together_without_consequential_ones() {
    let dir = dir();
    let before = dir.tree();
    let delete = |file: &str| Operation::Delete {
        path: path(file),
        expected: None,
        parents: EmptyParents::Keep,
    };
    let operations = [
        delete("gone"),
        create("gone"),
        create("gone/below"),
        create("fine"),
        write("missing"),
        delete("fine"),
        write("fine"),
    ];
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let error = workspace.apply_operations(&operations, RunOptions::default()).unwrap_err();
    let reported: Vec<_> =
        std::iter::once(&error.kind).chain(&error.also).map(ToString::to_string).collect();
    let missing = |effect: &str, file: &str| format!("cannot {effect} `{file}`: it does not exist");
    let expected = [("delete", "gone"), ("change", "missing"), ("change", "fine")];
    assert_eq!(reported, expected.map(|(effect, file)| missing(effect, file)));
    assert_eq!((error.state, dir.tree()), (State::Unchanged, before));

    let many: Vec<_> = (0..200).map(|number| delete(&format!("gone-{number}"))).collect();
    let error = workspace.apply_operations(&many, RunOptions::default()).unwrap_err();
    assert_eq!(error.also.len(), 99);
}

/// Issue 22 (claims): a short list of edits of a large file is rejected before it can run for hours.
#[test]
fn edits_that_read_too_much_in_total_are_rejected_early() {
    let dir = dir();
    std::fs::File::create(dir.join("large")).unwrap().set_len(EDIT_BYTES_MAX).unwrap();
    let anchors = vec![b"anchor".to_vec(); 90];
    let chunk = Chunk { anchors, lines: Vec::new(), at_end: true };
    let edit = Edit::Chunks(vec![chunk]);
    let edit = Operation::Edit { path: path("large"), edit, expected: None };
    let message = "cannot edit `large`: 91 edits that read 9542041600 bytes in total exceed the \
                   work limit; split the change";
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let error = workspace.apply_operations(&[edit], RunOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{message}; nothing was changed"));
}
