//! Backups of large files: block deltas if these are smaller, otherwise full copies (EX-13, EX-16, EX-21).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{actum, workspace};
use crate::task::{REPORTS, action, document, edit_envelope, plan, put, report, run, run_as, tree};
use actum_core::{Digest, RelPath};
use actum_task::report::displaced_name;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Length of a line of the file, in bytes.
const LINE: usize = 64;
/// Smallest size at which a file is not held in memory, and can therefore have a delta.
const LARGE: usize = (1 << 20) + LINE;

/// Returns a digest as a line of text, without its last digit.
fn digits(number: usize) -> String {
    let digest = Digest::of(&number.to_le_bytes()).to_string();
    digest.get(..LINE - 1).unwrap().to_owned()
}

/// Returns lines without repetitions.
fn lines(size: usize) -> Vec<u8> {
    (0..size / LINE).flat_map(|number| (digits(number) + "\n").into_bytes()).collect()
}

/// Returns an action that writes the whole file, with one line replaced.
fn write(id: &str, target: &str, number: usize) -> Value {
    let content = String::from_utf8(lines(LARGE)).unwrap();
    let content = content.replace(&digits(number), &digits(usize::MAX));
    action(id, "FILE_MODIFY", target, json!({ "type": "content", "content": content }))
}

/// Returns an action that replaces a line with another one of equal length.
fn edit(id: &str, target: &str, number: usize) -> Value {
    let (pattern, replacement) = (digits(number), digits(usize::MAX - number));
    let operation =
        json!({ "type": "text_replace", "pattern": pattern, "replacement": replacement });
    action(id, "FILE_MODIFY", target, operation)
}

fn script(root: &Path) -> Output {
    let name = report(root).file_name().unwrap().to_str().unwrap().to_owned();
    let script = format!("{REPORTS}/{name}/rollback.sh");
    Command::new("sh").arg(script).current_dir(root).output().unwrap()
}

fn backups(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(report(root).join("backups")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Returns the total size of the files below a directory, in bytes.
fn stored(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.metadata().unwrap() {
            facts if facts.is_dir() => stored(&entry.path()),
            facts => facts.len(),
        })
        .sum()
}

/// EX-13, EX-16: the backup of a large file contains only the changed blocks, and both the script and `rollback`
/// restore the file from it.
#[test]
fn large_file_is_backed_up_by_block_and_restored_by_script_or_rollback() {
    let name = "it's a \"name\"\nof = 'two' lines";
    for (size, is_delta) in [(1 << 20, false), (LARGE, true)] {
        for by_script in [true, false] {
            let (_directory, root) = workspace();
            fs::write(root.join(name), lines(size)).unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o640)).unwrap();
            let before = tree(&root);
            let ended = run(&root, &plan(json!([edit("a1", name, 7), edit("a2", name, 9_000)])));
            assert_eq!(ended.code, 0, "{ended:?}");
            let backup = backups(&root).pop().unwrap();
            let facts = fs::metadata(&backup).unwrap();
            assert_eq!(
                (facts.permissions().mode() & 0o777, facts.len() < 10_000),
                (0o600, is_delta)
            );
            let manifest = document(&root, "rollback_manifest.json");
            let checkpoint = &manifest["checkpoints"][0];
            let sha256 = |bytes: &[u8]| json!(Digest::of(bytes).to_string());
            assert_eq!(checkpoint["original_hash"], sha256(&lines(size)));
            assert_eq!(checkpoint["original_size"], size);
            match is_delta {
                true => {
                    assert_eq!(checkpoint["backup_format"], "block_delta");
                    assert_eq!(checkpoint["backup_hash"], sha256(&fs::read(&backup).unwrap()));
                }
                false => assert!(checkpoint.get("backup_format").is_none(), "{checkpoint}"),
            }
            match by_script {
                true => {
                    let done = script(&root);
                    assert!(done.status.success(), "{done:?}");
                    assert_eq!(actum(&root, &["status"]).code, 0);
                }
                false => assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0),
            }
            assert!(tree(&root) == before, "{size} {by_script}");
            assert_eq!(document(&root, "rollback_manifest.json")["status"], "EXECUTED");
        }
    }
}

/// EX-16: a file that was edited after the task is reported and left unchanged.
#[test]
fn rollback_of_a_large_file_edited_since_is_refused() {
    let (_directory, root) = workspace();
    fs::write(root.join("large"), lines(LARGE)).unwrap();
    assert_eq!(run(&root, &plan(json!([edit("a1", "large", 7)]))).code, 0);
    let mut edited = fs::read(root.join("large")).unwrap();
    edited[500_000] ^= 1;
    fs::write(root.join("large"), edited).unwrap();
    let left = tree(&root);
    let refused = script(&root);
    let output = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{output}");
    assert!(output.contains("large: has another content than the run left"), "{output}");
    let refused = actum(&root, &["rollback", "task-7"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("`large`"), "{refused:?}");
    assert!(tree(&root) == left);
}

/// EX-16: a modified delta is rejected, like a modified copy.
#[test]
fn rollback_with_a_rewritten_delta_is_refused() {
    let (_directory, root) = workspace();
    fs::write(root.join("large"), lines(LARGE)).unwrap();
    let before = tree(&root);
    assert_eq!(run(&root, &plan(json!([edit("a1", "large", 7)]))).code, 0);
    let backup = backups(&root).pop().unwrap();
    let sound = fs::read(&backup).unwrap();
    let mut other = sound.clone();
    other[100] ^= 1;
    fs::write(&backup, other).unwrap();
    let refused = actum(&root, &["rollback", "task-7"]);
    assert!(refused.stderr.contains("ROLLBACK_REWRITTEN"), "{refused:?}");
    fs::write(&backup, sound).unwrap();
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert!(tree(&root) == before);
}

/// EX-16: if the workspace history has lost its blocks, the backup's blocks restore the file.
#[test]
fn rollback_uses_the_backup_delta_when_the_history_lost_its_own() {
    let (_directory, root) = workspace();
    fs::write(root.join("large"), lines(LARGE)).unwrap();
    let before = tree(&root);
    assert_eq!(run(&root, &plan(json!([write("a1", "large", 7)]))).code, 0);
    assert_eq!(actum(&root, &["gc"]).code, 0);
    let keep = fs::read_dir(root.join(".actum/keep")).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = keep.collect();
    assert!(!kept.is_empty());
    kept.iter().for_each(|file| fs::remove_file(file).unwrap());
    let done = actum(&root, &["rollback", "task-7"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(tree(&root) == before);
}

/// EX-16: a delta can restore the old content only from the result of the run, so the result is kept until the old
/// content is in place.
#[test]
fn moved_aside_file_is_kept_until_the_delta_is_applied() {
    let aside = displaced_name(&RelPath::new(b"large").unwrap());
    for (at_path, code) in [(None, 0), (Some(&b"saved\n"[..]), 1), (Some(&lines(LARGE)[..]), 0)] {
        let (_directory, root) = workspace();
        fs::write(root.join("large"), lines(LARGE)).unwrap();
        let before = tree(&root);
        assert_eq!(run(&root, &plan(json!([edit("a1", "large", 7)]))).code, 0);
        let left = fs::read(root.join("large")).unwrap();
        let aside = report(&root).join(&aside);
        fs::rename(root.join("large"), &aside).unwrap();
        if let Some(content) = at_path {
            fs::write(root.join("large"), content).unwrap();
        }
        let ended = actum(&root, &["rollback", "task-7"]);
        assert_eq!(ended.code, code, "{ended:?}");
        if code == 1 {
            assert!(fs::read(&aside).unwrap() == left);
            fs::remove_file(root.join("large")).unwrap();
            assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
        }
        assert!(tree(&root) == before);
        assert!(!aside.exists());
    }
}

/// EX-16: a task from an earlier version, which backed up a large file as a full copy, can still be rolled back.
#[test]
fn manifest_with_whole_copies_of_large_files_still_rolls_back() {
    for by_script in [true, false] {
        let (_directory, root) = workspace();
        fs::write(root.join("large"), lines(LARGE)).unwrap();
        let before = tree(&root);
        // The edit changes more than a quarter of the file.
        let operation = json!({ "type": "line_insert", "line_number": 1, "content": "first\n" });
        let ended = run(&root, &plan(json!([action("a1", "FILE_MODIFY", "large", operation)])));
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(fs::metadata(backups(&root).pop().unwrap()).unwrap().len(), LARGE as u64);
        match by_script {
            true => assert!(script(&root).status.success()),
            false => assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0),
        }
        assert!(tree(&root) == before, "{by_script}");
    }
}

/// EX-21: the limit applies to the bytes that are stored, and a backup that exceeds it leaves nothing behind.
#[test]
fn backup_limit_applies_to_the_stored_bytes() {
    let (_directory, root) = workspace();
    fs::write(root.join("large"), lines(LARGE)).unwrap();
    let before = tree(&root);
    let plan = plan(json!([edit("a1", "large", 7)]));
    assert_eq!(run(&root, &plan).code, 0);
    let size = fs::metadata(backups(&root).pop().unwrap()).unwrap().len();
    assert!((4096..5000).contains(&size), "{size}");
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    for (bytes_max, code) in [(size - 1, 1), (size, 0)] {
        put(&root, &plan, &format!("limits: {{ max_backup_bytes: {bytes_max} }}"));
        edit_envelope(&root, |envelope| envelope["task_id"] = json!(format!("task-{code}")));
        let ended = actum(&root, &["run", "../task.json"]);
        assert_eq!(ended.code, code, "{ended:?}");
        if code == 1 {
            let output = document(&root, "error_report.json").to_string();
            assert!(
                output.contains("1042") && output.contains(&format!("{size} bytes")),
                "{output}"
            );
            assert!(tree(&root) == before);
            assert!(!report(&root).join("backups").exists());
        }
    }
}

/// EX-21: the total includes both the history and the backups.
#[test]
fn twenty_tasks_on_a_large_file_use_little_storage() {
    let (_directory, root) = workspace();
    let size = 16 << 20;
    fs::write(root.join("large"), lines(size)).unwrap();
    for number in 0..20 {
        let ended = run_as(
            &root,
            &format!("task-{number}"),
            &plan(json!([edit("a1", "large", number * 1000)])),
        );
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    assert_eq!(actum(&root, &["gc"]).code, 0);
    let stored = stored(&root.join("agent")) + stored(&root.join(".actum"));
    assert!(stored < size as u64, "{stored} bytes");
    for number in (0..20).rev() {
        assert_eq!(actum(&root, &["rollback", &format!("task-{number}")]).code, 0);
    }
    assert!(fs::read(root.join("large")).unwrap() == lines(size));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// EX-16: the script and the history restore the same bytes.
    #[test]
    fn script_and_history_restore_the_same_bytes(
        size in LARGE / LINE..3 * LARGE / LINE,
        edits in proptest::collection::btree_set(0usize..LARGE / LINE, 1..8),
    ) {
        let (_directory, root) = workspace();
        fs::write(root.join("large"), lines(size * LINE)).unwrap();
        let before = tree(&root);
        let mut actions: Vec<_> = edits.iter().map(|at| edit(&format!("a{at}"), "large", *at)).collect();
        // The file shrinks or grows at its end.
        let end = match size % 2 {
            0 => json!({ "type": "line_insert", "line_number": size + 1, "content": "one more\n" }),
            _ => json!({ "type": "line_delete", "start_line": size - 9, "end_line": size }),
        };
        actions.push(action("end", "FILE_MODIFY", "large", end));
        let ended = run(&root, &plan(json!(actions)));
        prop_assert_eq!(ended.code, 0, "{:?}", ended);
        prop_assert!(fs::metadata(backups(&root).pop().unwrap()).unwrap().len() < 100_000);
        let copy = root.join("../copy");
        prop_assert!(Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap().success());
        let done = script(&copy);
        prop_assert!(done.status.success(), "{:?}", done);
        prop_assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
        prop_assert!(tree(&root) == before);
        prop_assert!(tree(&copy) == before);
    }
}
