//! Rollback scripts that were killed, and the commands that complete their work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{actum, text, workspace};
use crate::task::{action, after, create, document, every_kind, plan, replace, report, run, tree};
use serde_json::{Value, json};

fn rename(id: &str, from: &str, to: &str) -> Value {
    action(id, "FILE_RENAME", from, json!({ "type": "rename", "new_path": to }))
}

/// Returns a plan whose rollback script has steps of every kind.
fn rich(root: &Path) -> Value {
    let mut rich = every_kind(root);
    for (path, content) in
        [("plain.txt", "plain\n"), ("gone/in/it.txt", "it\n"), ("place/a", "a\n")]
    {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    }
    rich["action_plan"].as_array_mut().unwrap().extend([
        rename("b1", "plain.txt", "new/place/plain.txt"),
        rename("b2", "gone/in/it.txt", "it.txt"),
        rename("b3", "place/a", "moved-a"),
        after(create("b4", "place/a"), "b3"),
    ]);
    rich
}

fn script(root: &Path) -> PathBuf {
    report(root).join("rollback.sh")
}

/// Kills the script at its change number `turn`, and returns true if it was killed before it finished.
fn cut_off(root: &Path, turn: usize) -> bool {
    let programs = root.join("../programs");
    fs::create_dir(&programs).unwrap();
    let counter = programs.join("turn");
    fs::write(&counter, turn.to_string()).unwrap();
    for name in ["rm", "mv", "cat", "chown", "chmod", "mkdir", "rmdir", "link", "ln"] {
        let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let real = real.into_iter().find(|program| program.exists()).unwrap();
        let half = if name == "cat" { "printf x\n" } else { "" };
        let text = format!(
            "#!/bin/sh\nread -r turn <'{counter}'\nif [ \"$turn\" -eq 0 ]; then\n{half}kill -9 \"$PPID\"\nexit 1\nfi\n\
             echo $((turn - 1)) >'{counter}'\nexec {real} \"$@\"\n",
            counter = counter.display(),
            real = real.display(),
        );
        fs::write(programs.join(name), text).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let output = Command::new("/bin/sh").arg(script(root)).env("PATH", path).output().unwrap();
    output.status.code().is_none()
}

/// EX-16, EX-17: a script that was killed at any point can be completed by a rollback or by running the script again.
#[test]
fn killed_script_is_completed_by_a_rollback_or_a_rerun() {
    let mut turn = 0;
    loop {
        let mut is_killed = false;
        // Recovery of a script from its own leftovers is tested beside the code that generates the script.
        let both = [false, true];
        for &by_script in if turn % 8 == 0 { &both[..] } else { &both[..1] } {
            let (_directory, root) = workspace();
            let plan = rich(&root);
            let before = tree(&root);
            let ended = run(&root, &plan);
            assert_eq!(ended.code, 0, "{ended:?}");
            is_killed = cut_off(&root, turn);
            if by_script {
                let done = Command::new("/bin/sh").arg(script(&root)).output().unwrap();
                assert!(done.status.success(), "turn {turn}: {done:?}");
            } else {
                let done = actum(&root, &["rollback", "task-7"]);
                assert_eq!(done.code, 0, "turn {turn}: {done:?}");
                assert_eq!(document(&root, "rollback_manifest.json")["status"], "EXECUTED");
            }
            assert_eq!(tree(&root), before, "turn {turn}");
            let names = fs::read_dir(report(&root)).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let left: Vec<_> = names.filter(|name| name.starts_with('.')).collect();
            assert!(left.is_empty(), "turn {turn}: {left:?}");
        }
        if !is_killed {
            break;
        }
        turn += 1;
    }
    assert!(turn > 20, "only {turn} steps");
}

/// Runs the script until it moves aside `a.txt`, which an editor has just saved, and then kills it.
fn cut_off_behind_a_save(root: &Path) {
    let programs = root.join("../programs");
    fs::create_dir(&programs).unwrap();
    let text = "#!/bin/sh\nprintf 'saved\\n' >saved && /bin/mv saved a.txt && /bin/mv \"$@\" && kill -9 \"$PPID\"\n";
    fs::write(programs.join("mv"), text).unwrap();
    fs::set_permissions(programs.join("mv"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let output = Command::new("/bin/sh").arg(script(root)).env("PATH", path).output().unwrap();
    assert_eq!((output.status.code(), root.join("a.txt").exists()), (None, false), "{output:?}");
}

/// Returns the files that a script moved aside.
fn aside(root: &Path) -> Vec<String> {
    let names = fs::read_dir(report(root)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".displaced-")).collect()
}

/// EX-16: a rollback restores a file that an editor saved and that a killed script had moved aside. This is finding A2
/// of issue 22.
#[test]
fn rollback_restores_a_file_moved_aside_by_a_killed_script() {
    let (_directory, root) = workspace();
    assert_eq!(run(&root, &plan(json!([replace("a1", "a.txt", "1")]))).code, 0);
    cut_off_behind_a_save(&root);
    let refused = actum(&root, &["rollback", "task-7"]);
    assert_eq!((refused.code, text(&root, "a.txt")), (1, "saved\n".into()), "{refused:?}");
    let back =
        "before that, actum restored `a.txt`, which a killed rollback script had moved aside";
    assert!(refused.stderr.contains(back), "{refused:?}");
    assert!(!refused.stderr.contains("nothing was changed"), "{refused:?}");
    assert!(aside(&root).is_empty());
}

/// EX-16: if another file occupies the path, the file that a killed script moved aside is kept and reported.
#[test]
fn rollback_reports_a_moved_aside_file_that_it_cannot_restore() {
    let (_directory, root) = workspace();
    assert_eq!(run(&root, &plan(json!([replace("a1", "a.txt", "1")]))).code, 0);
    let mode = fs::metadata(root.join("a.txt")).unwrap().permissions();
    cut_off_behind_a_save(&root);
    fs::write(root.join("a.txt"), "new\n").unwrap();
    fs::set_permissions(root.join("a.txt"), mode).unwrap();
    let done = actum(&root, &["rollback", "task-7"]);
    assert_eq!((done.code, text(&root, "a.txt")), (0, "1\n".into()), "{done:?}");
    let aside = aside(&root);
    assert_eq!(aside.len(), 1, "{done:?}");
    assert_eq!(fs::read_to_string(report(&root).join(&aside[0])).unwrap(), "saved\n");
    assert!(done.stderr.contains(&aside[0]), "{done:?}");
}

/// FO-5: a file that the user renamed back is already in its earlier state, so it does not block the undo.
#[test]
fn manually_reverted_rename_does_not_block_undo() {
    let (_directory, root) = workspace();
    fs::write(root.join("old.txt"), "old\n").unwrap();
    let plan = plan(json!([rename("a1", "old.txt", "new.txt"), replace("a2", "a.txt", "1")]));
    assert_eq!(run(&root, &plan).code, 0);
    fs::rename(root.join("new.txt"), root.join("old.txt")).unwrap();
    let undone = actum(&root, &["undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!((text(&root, "old.txt"), text(&root, "a.txt")), ("old\n".into(), "1\n".into()));
    assert!(!root.join("new.txt").exists());
}

/// FO-5: a renamed file counts as lost if its new path no longer exists.
#[test]
fn missing_renamed_file_blocks_undo() {
    let (_directory, root) = workspace();
    fs::write(root.join("old.txt"), "old\n").unwrap();
    let plan = plan(json!([rename("a1", "old.txt", "new.txt"), replace("a2", "a.txt", "1")]));
    assert_eq!(run(&root, &plan).code, 0);
    fs::remove_file(root.join("new.txt")).unwrap();
    let refused = actum(&root, &["undo"]);
    assert_eq!((refused.code, text(&root, "a.txt")), (1, "new\n".into()), "{refused:?}");
    assert!(refused.stderr.contains("new.txt"), "{refused:?}");
}

/// EX-16, FE-14: the files used for a rollback must match the digests in the task's receipt.
#[test]
fn rollback_with_rewritten_files_is_refused() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    assert_eq!(run(&root, &plan(json!([replace("a1", "a.txt", "1"), create("a2", "b")]))).code, 0);
    let left = tree(&root);
    let backup = report(&root).join("backups/a.txt.bak");
    let manifest = report(&root).join("rollback_manifest.json");
    for (file, old, new) in [
        (script(&root), "restore_all\n", "restore_all; touch pwned\n"),
        (backup, "1\n", "2\n"),
        (manifest, "\"MODIFY\"", "\"CREATE\""),
    ] {
        let was = fs::read_to_string(&file).unwrap();
        assert!(was.contains(old), "{was}");
        fs::write(&file, was.replace(old, new)).unwrap();
        let refused = actum(&root, &["--json", "rollback", "task-7"]);
        let error: Value = serde_json::from_str(&refused.stdout).unwrap();
        assert_eq!(
            (refused.code, &error["reason"]),
            (1, &json!("ROLLBACK_REWRITTEN")),
            "{error:#}"
        );
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        assert!(error["message"].as_str().unwrap().contains(name), "{error:#}");
        assert_eq!(tree(&root), left);
        fs::write(&file, was).unwrap();
    }
    // A missing script does not prevent the rollback.
    fs::remove_file(script(&root)).unwrap();
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(tree(&root), before);
}
