//! Exit codes, and the state of the workspace that each of them implies (D-1).

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, text, workspace};
use actum_workspace::{RunOptions, Workspace};

const APPLY: [&str; 2] = ["apply", "../change.diff"];
const NOBODY: u32 = 65534;

#[test]
fn the_help_lists_every_exit_code() {
    let help = actum(Path::new("/"), &["--help"]);
    let codes = help.stdout.split_once("Exit codes:\n").unwrap().1;
    assert_eq!(
        codes,
        "  0  success\n\
         \x20 1  refused: nothing was changed\n\
         \x20 2  invalid command line: nothing was changed\n\
         \x20 3  rolled back: the workspace is as it was before\n\
         \x20 4  needs attention: `actum status` reports what to check\n\
         \x20 5  in use: another process is using the workspace; nothing was changed\n\
         \x20 6  queued: approval required; nothing was changed\n"
    );
}

#[test]
fn exit_code_page_matches_the_help() {
    let help = actum(Path::new("/"), &["--help"]).stdout;
    let page = include_str!("../../../../docs/exit-codes.md");
    let cells = |line: &str| -> Option<(String, String)> {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (code, meaning) = (cells.next()?, cells.next()?);
        code.parse::<u8>().ok()?;
        Some((code.to_owned(), meaning.to_owned()))
    };
    let rows: Vec<_> = page.lines().filter_map(cells).collect();
    assert_eq!(rows.len(), 7);
    for (code, meaning) in rows {
        assert!(help.contains(&format!("  {code}  {meaning}\n")), "{code}: {meaning}");
    }
}

#[test]
fn success_exits_with_0() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
}

#[test]
fn rejection_exits_with_1_and_changes_nothing() {
    let (_directory, root) = workspace();
    fs::write(root.join("sub/b.txt"), "other\n").unwrap();
    assert_eq!(actum(&root, &APPLY).code, 1);
    assert_eq!(text(&root, "a.txt"), "1\n");
}

#[test]
fn invalid_command_line_exits_with_2() {
    let (_directory, root) = workspace();
    for wrong in [&["frobnicate"][..], &["apply"], &["undo", "abc"], &["log", "-n", "x"], &[]] {
        assert_eq!(actum(&root, wrong).code, 2, "{wrong:?}");
    }
}

/// FO-2: the second file is in a read-only directory, which causes an error only after the first file is published.
#[test]
fn rolled_back_run_exits_with_3_and_restores_the_workspace() {
    let (directory, root) = workspace();
    let outside = directory.path();
    // Permissions do not stop root, so in that case an ordinary user runs a copy of the program.
    let program = outside.join("actum");
    // Copy in a child process. If this process had the copy open for writing, a concurrent test could inherit it and block
    // execution.
    let mut copy = Command::new("/bin/cp");
    let copied = copy.arg(env!("CARGO_BIN_EXE_actum")).arg(&program).status().unwrap();
    assert!(copied.success());
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let is_root = fs::metadata(outside).unwrap().uid() == 0;
    // The ordinary user has a different home, so the recorded binding is removed.
    fs::remove_dir_all(root.join(".actum/recorded")).unwrap();
    let home = outside.join("records");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
    if is_root {
        fs::set_permissions(outside, Permissions::from_mode(0o755)).unwrap();
        give_to_nobody(&root);
        give_to_nobody(&home);
    }
    fs::set_permissions(root.join("sub"), Permissions::from_mode(0o555)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
            .env_clear()
            .env("XDG_CONFIG_HOME", crate::program::operator_of(&root))
            .env("ACTUM_HOME", &home)
            .current_dir(&root);
        Ended::from(command.args(arguments).output().unwrap())
    };
    let Ended { code, stdout, stderr } = run(&APPLY);
    assert_eq!((code, stdout.as_str()), (3, ""), "{stderr}");
    assert_eq!(
        stderr.lines().next(),
        Some(
            "error: cannot move the new `sub/b.txt` into place: Permission denied (os error 13); \
             the workspace was restored to its previous state"
        )
    );
    assert_eq!((text(&root, "a.txt"), text(&root, "sub/b.txt")), ("1\n".into(), "2\n".into()));
    let log = run(&["log"]).stdout;
    assert!(log.contains("  reverted  #2     ") && log.contains("  2      "), "{log}");
    // Undo could not restore the owner of a deleted file, so the run does not delete it.
    if is_root {
        fs::write(root.join("theirs"), "work\n").unwrap();
        let deletion = "diff --git a/theirs b/theirs\ndeleted file mode 100644\n--- a/theirs\n+++ /dev/null\n@@ -1 +0,0 \
                        @@\n-work\n";
        fs::write(outside.join("deletion.diff"), deletion).unwrap();
        let refused = run(&["apply", "../deletion.diff"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("`theirs`: its owner cannot be preserved"), "{refused:?}");
        assert_eq!(text(&root, "theirs"), "work\n");
        // Repeat this for a directory that is removed together with its last file.
        let directory = root.join("other");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("x"), "x\n").unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        std::os::unix::fs::chown(directory.join("x"), Some(NOBODY), Some(NOBODY)).unwrap();
        std::os::unix::fs::chown(&directory, Some(NOBODY), Some(0)).unwrap();
        let deletion = deletion.replace("theirs", "other/x").replace("-work", "-x");
        fs::write(outside.join("deletion.diff"), deletion).unwrap();
        let refused = run(&["apply", "../deletion.diff"]);
        assert!(refused.stderr.contains("`other`: its owner cannot be preserved"), "{refused:?}");
        assert!(directory.join("x").exists());
    }
    assert_eq!(run(&["undo"]).code, 1);
    fs::set_permissions(root.join("sub"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(&APPLY).code, 0);
}

fn give_to_nobody(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_to_nobody(&entry.unwrap().path());
        }
    }
}

/// FO-2: a path that recovery could not restore blocks all runs until the user resolves it.
#[test]
fn blocked_path_exits_with_4_until_it_is_resolved() {
    let (_directory, root) = workspace();
    let run = "0123456789ab";
    fs::write(root.join(".actum/blocked"), format!("{run} 612e747874 a.txt\n")).unwrap();
    let status = actum(&root, &["status"]);
    assert_eq!(status.code, 4);
    assert!(status.stdout.contains(&format!("\nblocked     a.txt since run {run}; ")));
    assert_eq!(actum(&root, &["recover"]).code, 4);
    let refused = actum(&root, &APPLY);
    assert_eq!(refused.code, 1);
    assert_eq!(
        refused.stderr,
        format!(
            "error: `a.txt` has been blocked since run {run} and must be resolved first; nothing was changed\n\
             hint: the versions that actum saved are in `.actum/lost/{run}/`; once the file is as you want it, run `actum resolve a.txt`\n\
         help: `actum explain PATH_BLOCKED`\n"
        )
    );
    // `resolve` handles either all of the given paths or none of them.
    assert_eq!(actum(&root, &["resolve", "a.txt", "sub/b.txt"]).code, 1);
    assert_eq!(actum(&root, &["status"]).code, 4);
    let resolved = actum(&root, &["resolve", "a.txt"]);
    // Resolving a path raises an alert for the operator.
    let alerts = actum(&root, &["queue"]).stdout;
    assert!(
        alerts.contains("PATH_BLOCKED") && alerts.contains("runs may change a.txt of run"),
        "{alerts}"
    );
    assert_eq!((resolved.code, resolved.stderr.as_str()), (0, ""));
    assert_eq!(actum(&root, &["status"]).code, 0);
    assert_eq!(actum(&root, &APPLY).code, 0);
}

#[test]
fn damaged_journal_exits_with_4_until_it_is_set_aside() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let sound = actum(&root, &["recover", "--set-aside-journal"]);
    assert_eq!(
        (sound.code, sound.stderr.lines().next().unwrap()),
        (1, "error: the journal is not damaged, so it cannot be set aside; nothing was changed")
    );
    let journal = root.join(".actum/journal");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[..8192].fill(0x55);
    fs::write(&journal, &bytes).unwrap();
    for verb in ["status", "undo", "log", "recover", "gc"] {
        assert_eq!(actum(&root, &[verb]).code, 4, "{verb}");
    }
    assert_eq!(fs::read(&journal).unwrap(), bytes);
    let set_aside = actum(&root, &["recover", "--set-aside-journal"]);
    assert_eq!(set_aside.code, 0, "{set_aside:?}");
    assert!(set_aside.stdout.starts_with("the damaged journal is kept as .actum/lost/journal."));
    assert_eq!(text(&root, "a.txt"), "one\n");
    // The run existed only in that journal, so it is listed but can no longer be undone.
    let lost = actum(&root, &["status"]);
    assert_eq!(lost.code, 4, "{lost:?}");
    assert!(lost.stdout.contains("missing     1 recorded run lost"), "{lost:?}");
}

#[test]
fn busy_workspace_exits_with_5_and_names_the_process() {
    let (_directory, root) = workspace();
    let mut workspace = Workspace::open(&root).unwrap();
    let options = RunOptions { label: "a long piece of work".into(), ..RunOptions::default() };
    let at_work = workspace.begin(options).unwrap();
    for arguments in [&APPLY[..], &["recover"], &["gc"]] {
        let refused = actum(&root, arguments);
        assert_eq!(refused.code, 5, "{arguments:?}");
        let process = std::process::id();
        let expected =
            format!("error: the workspace is in use by process {process} (a long piece of work)");
        assert!(refused.stderr.starts_with(&expected), "{}", refused.stderr);
    }
    assert_eq!(actum(&root, &["status"]).code, 0);
    let mut waiting = command(&root, &["apply", "../change.diff", "--wait"]);
    let waiting = waiting.stdout(Stdio::null()).spawn().unwrap();
    at_work.abort();
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(text(&root, "a.txt"), "one\n");
}
