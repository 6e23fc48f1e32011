//! The rollback script on trees and names of all kinds, and interrupted at each of its steps.

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use actum_task::report::{Rollback, RollbackError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use crate::tree::{Files, Run, Snapshot, at, report_name, snapshot};

/// A shell with its arguments.
pub(crate) type Shell = (&'static str, &'static [&'static str]);

/// Returns the shells that can run the script.
pub(crate) fn shells() -> Vec<Shell> {
    vec![("/bin/sh", &[]), ("/bin/bash", &["--posix"]), ("/bin/busybox", &["sh"])]
}

pub(crate) fn run_in((program, options): Shell, script: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(options).arg(script).args(arguments).output().unwrap()
}

pub(crate) fn run(script: &Path, arguments: &[&str]) -> Output {
    run_in(("/bin/sh", &[]), script, arguments)
}

pub(crate) fn output_text(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    texts.concat()
}

pub(crate) fn before(run: &Run) -> Snapshot {
    let root = TempDir::new().unwrap();
    run.write_before(root.path());
    snapshot(root.path())
}

pub(crate) fn files(files: &[(&[u8], &[u8], u32)]) -> Files {
    files.iter().map(|(path, content, mode)| (path.to_vec(), (content.to_vec(), *mode))).collect()
}

/// Builds a run with every kind of change, under file names that break careless scripts.
fn rich() -> Run {
    Run {
        before: files(&[
            (b"-rf", b"old\n", 0o644),
            (b"a b/it's", b"kept\n", 0o755),
            (b"mode", b"same\n", 0o750),
            (b"$(touch pwned)", b"gone\n", 0o600),
            (b"gone\n/deep/`id`", b"deep\n", 0o644),
            (b"moved \xff\x81\x88", b"moved\n", 0o644),
            (b"edited;ls", b"one\n", 0o644),
            (b"turns", b"a file\n", 0o640),
            (b"room/inside", b"inside\n", 0o644),
            (b"untouched", b"untouched\n", 0o644),
        ]),
        after: files(&[
            (b"-rf", b"new\n", 0o644),
            (b"a b/it's", b"changed\n", 0o644),
            (b"mode", b"same\n", 0o600),
            (b"new/place/moved", b"moved\n", 0o644),
            (b"edited too", b"two\n", 0o755),
            (b"turns/into", b"a directory\n", 0o644),
            (b"room", b"a file\n", 0o644),
            (b"untouched", b"untouched\n", 0o644),
            (b"\"created\"*", b"created\n", 0o644),
            (b"made/-/\n", b"made\n", 0o644),
        ]),
        before_directories: BTreeMap::from([
            (b"gone\n".to_vec(), 0o710),
            (b"room".to_vec(), 0o711),
        ]),
        deltas: BTreeSet::from([b"-rf".to_vec()]),
        renamed: vec![
            (b"moved \xff\x81\x88".to_vec(), b"new/place/moved".to_vec()),
            (b"edited;ls".to_vec(), b"edited too".to_vec()),
        ],
    }
}

/// EX-16
#[test]
fn script_restores_everything_and_a_second_run_is_a_no_op() {
    let rich = rich();
    for shell in shells() {
        let root = TempDir::new().unwrap();
        let script = rich.write_after(root.path());
        let left = snapshot(root.path());
        let checked = run_in(shell, &script, &["--check"]);
        assert_eq!(checked.status.code(), Some(0), "{}", output_text(&checked));
        assert_eq!(snapshot(root.path()), left);
        let done = run_in(shell, &script, &[]);
        assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
        assert_eq!(snapshot(root.path()), before(&rich), "{}", output_text(&done));
        assert!(output_text(&done).contains("  restored    -rf\n"), "{}", output_text(&done));
        assert!(
            output_text(&done).contains("  moved back  moved \\377\\201\\210\n"),
            "{}",
            output_text(&done)
        );
        for arguments in [&[][..], &["--check"]] {
            let again = run_in(shell, &script, arguments);
            assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
            assert!(output_text(&again).contains("done already"), "{}", output_text(&again));
            assert_eq!(snapshot(root.path()), before(&rich));
        }
    }
}

/// EX-16
#[test]
fn script_runs_from_any_directory_but_rejects_a_moved_copy() {
    let rich = rich();
    let root = TempDir::new().unwrap();
    let script = rich.write_after(root.path());
    let left = snapshot(root.path());
    let outside = root.path().join("rollback.sh");
    fs::copy(&script, &outside).unwrap();
    let lost = run(&outside, &[]);
    fs::remove_file(&outside).unwrap();
    assert_eq!((lost.status.code(), snapshot(root.path())), (Some(1), left.clone()));
    let unknown = run(&script, &["--force"]);
    assert_eq!((unknown.status.code(), snapshot(root.path())), (Some(2), left));
    let directory = script.parent().unwrap();
    let near = Command::new("/bin/sh").arg("rollback.sh").current_dir(directory).output().unwrap();
    assert_eq!(near.status.code(), Some(0), "{}", output_text(&near));
    assert_eq!(snapshot(root.path()), before(&rich));
}

/// EX-16
#[test]
fn script_requires_one_of_three_digest_tools() {
    let tools = ["sha256sum", "shasum", "openssl"];
    let find = |name: &str| {
        let places = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        places.into_iter().find(|place| place.exists())
    };
    for tool in [&tools[..0], &tools[..1], &tools[1..2], &tools[2..]] {
        let programs = TempDir::new().unwrap();
        // Without `link`, the script creates hard links with `ln`.
        let linker = if tool.len() == 1 && tool[0] == "shasum" { "ln" } else { "link" };
        let needed =
            ["rm", "mv", "cat", "chmod", "mkdir", "rmdir", "find", "printf", "perl", "dd", linker];
        for name in needed.iter().chain(tool) {
            if let Some(program) = find(name) {
                symlink(program, programs.path().join(name)).unwrap();
            }
        }
        if !tool.iter().all(|name| find(name).is_some()) {
            continue;
        }
        let rich = rich();
        let root = TempDir::new().unwrap();
        let script = rich.write_after(root.path());
        let left = snapshot(root.path());
        let mut command = Command::new("/bin/sh");
        let output = command.arg(&script).env("PATH", programs.path()).output().unwrap();
        let expected = if tool.is_empty() { (Some(1), left) } else { (Some(0), before(&rich)) };
        assert_eq!(
            (output.status.code(), snapshot(root.path())),
            expected,
            "{}",
            output_text(&output)
        );
    }
}

/// A change that another process makes between the run and the rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tampering {
    Content,
    Removed,
    Mode,
    Link,
    Directory,
}

fn tamper(place: &Path, tampering: Tampering) {
    match tampering {
        Tampering::Content => fs::write(place, "tampered").unwrap(),
        Tampering::Removed => fs::remove_file(place).unwrap(),
        Tampering::Mode => fs::set_permissions(place, fs::Permissions::from_mode(0o4711)).unwrap(),
        Tampering::Link => {
            drop(fs::remove_file(place));
            symlink("untouched", place).unwrap();
        }
        Tampering::Directory => {
            drop(fs::remove_file(place));
            fs::create_dir(place).unwrap();
        }
    }
}

/// EX-16
#[test]
fn script_changes_nothing_if_any_file_was_tampered_with() {
    let rich = rich();
    let backups: Vec<String> =
        rich.rollback().backups().map(|(path, _)| report_name().backup(path)).collect();
    let mut places: Vec<(Vec<u8>, &[Tampering])> = Vec::new();
    let all = [
        Tampering::Content,
        Tampering::Removed,
        Tampering::Mode,
        Tampering::Link,
        Tampering::Directory,
    ];
    for file in rich.after.keys().filter(|file| *file != b"untouched") {
        // A created file, or a file at the path of a former directory, may be missing, because its path is then already as before
        // the run.
        let may_be_gone = !rich.before.contains_key(file);
        let is_renamed = rich.renamed.iter().any(|(_, to)| to == file);
        let tampering: &[Tampering] = match file.as_slice() {
            b"room" => &[Tampering::Content, Tampering::Mode, Tampering::Link],
            b"edited too" => {
                &[Tampering::Content, Tampering::Mode, Tampering::Link, Tampering::Directory]
            }
            _ if may_be_gone && !is_renamed => {
                &[Tampering::Content, Tampering::Mode, Tampering::Link, Tampering::Directory]
            }
            _ => &all,
        };
        places.push((file.clone(), tampering));
    }
    let absent: [&[u8]; 3] = [b"$(touch pwned)", b"moved \xff\x81\x88", b"edited;ls"];
    let appears: &[Tampering] = &[Tampering::Content, Tampering::Link, Tampering::Directory];
    places.extend(absent.map(|file| (file.to_vec(), appears)));
    places.push((
        b"turns/foreign".to_vec(),
        &[Tampering::Content, Tampering::Link, Tampering::Directory],
    ));
    let of_backup: &[Tampering] = &[Tampering::Content, Tampering::Removed, Tampering::Link];
    places.extend(backups.into_iter().map(|backup| (backup.into_bytes(), of_backup)));
    for (place, tampering) in
        places.iter().flat_map(|(place, all)| all.iter().map(move |one| (place, *one)))
    {
        let root = TempDir::new().unwrap();
        let script = rich.write_after(root.path());
        tamper(&at(root.path(), place), tampering);
        let left = snapshot(root.path());
        let refused = run(&script, &[]);
        let message =
            format!("{} {tampering:?}\n{}", String::from_utf8_lossy(place), output_text(&refused));
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert_eq!(snapshot(root.path()), left, "{message}");
    }
}

/// EX-16
#[test]
fn symlink_in_place_of_a_parent_directory_is_not_followed() {
    let rich = rich();
    let root = TempDir::new().unwrap();
    let script = rich.write_after(root.path());
    let outside = TempDir::new().unwrap();
    fs::rename(root.path().join("a b"), outside.path().join("a b")).unwrap();
    symlink(outside.path().join("a b"), root.path().join("a b")).unwrap();
    let left = (snapshot(root.path()), snapshot(outside.path()));
    assert_eq!(run(&script, &[]).status.code(), Some(1));
    assert_eq!((snapshot(root.path()), snapshot(outside.path())), left);
}

/// EX-16
#[test]
fn foreign_files_in_a_created_directory_are_kept() {
    let rich = rich();
    for is_file in [true, false] {
        let root = TempDir::new().unwrap();
        let script = rich.write_after(root.path());
        let mine = root.path().join("made/mine");
        if is_file {
            fs::write(mine, "mine").unwrap()
        } else {
            fs::create_dir(mine).unwrap()
        }
        let done = run(&script, &[]);
        assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
        let mut expected = before(&rich);
        let now = snapshot(root.path());
        for kept in [&b"made"[..], b"made/mine"] {
            expected.insert(kept.to_vec(), now[kept].clone());
        }
        assert_eq!(now, expected, "{}", output_text(&done));
        assert_eq!(run(&script, &[]).status.code(), Some(0));
        assert_eq!(snapshot(root.path()), expected);
    }
}

/// Builds a run that removed a file of each kind from a directory that still exists.
fn in_a_directory() -> Run {
    Run {
        before: files(&[
            (b"a", b"old\n", 0o644),
            (b"in/here/gone", b"gone\n", 0o644),
            (b"in/here/moved", b"moved\n", 0o644),
            (b"in/here/stays", b"stays\n", 0o644),
        ]),
        after: files(&[
            (b"a", b"new\n", 0o644),
            (b"in/here/stays", b"stays\n", 0o644),
            (b"moved", b"moved\n", 0o644),
        ]),
        renamed: vec![(b"in/here/moved".to_vec(), b"moved".to_vec())],
        ..Run::default()
    }
}

/// EX-16: a checkout may lack empty directories, because git does not store them.
#[test]
fn removed_directory_is_recreated_for_restored_files() {
    let a_run = in_a_directory();
    for shell in shells() {
        let root = TempDir::new().unwrap();
        let script = a_run.write_after(root.path());
        fs::remove_dir_all(root.path().join("in")).unwrap();
        assert_eq!(run_in(shell, &script, &["--check"]).status.code(), Some(0));
        let done = run_in(shell, &script, &[]);
        assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
        let mut expected = before(&a_run);
        expected.remove(&b"in/here/stays"[..]);
        assert_eq!(snapshot(root.path()), expected, "{}", output_text(&done));
    }
}

/// EX-16
#[test]
fn file_in_place_of_a_directory_blocks_the_rollback() {
    let root = TempDir::new().unwrap();
    let script = in_a_directory().write_after(root.path());
    fs::remove_dir_all(root.path().join("in")).unwrap();
    fs::write(root.path().join("in"), "mine").unwrap();
    let left = snapshot(root.path());
    let refused = run(&script, &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
    assert!(
        output_text(&refused).contains("in: is no directory any more"),
        "{}",
        output_text(&refused)
    );
    assert_eq!(snapshot(root.path()), left);
}

/// Creates wrappers for all programs that change something, each of which kills the script at its turn.
fn killers(turn: usize) -> TempDir {
    let programs = TempDir::new().unwrap();
    let counter = programs.path().join("turn");
    fs::write(&counter, turn.to_string()).unwrap();
    for name in ["rm", "mv", "cat", "chown", "chmod", "mkdir", "rmdir", "link", "ln", "dd"] {
        let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let real = real.into_iter().find(|program| program.exists()).unwrap();
        let half = if name == "cat" { "printf x\n" } else { "" };
        let text = format!(
            "#!/bin/sh\nread -r turn <'{counter}'\nif [ \"$turn\" -eq 0 ]; then\n{half}kill -9 0\nfi\n\
             echo $((turn - 1)) >'{counter}'\nexec {real} \"$@\"\n",
            counter = counter.display(),
            real = real.display(),
        );
        fs::write(programs.path().join(name), text).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(programs.path().join(name), mode).unwrap();
    }
    programs
}

/// Runs the script until its change number `turn`. Returns whether the script was killed.
pub(crate) fn cut_off(script: &PathBuf, turn: usize) -> bool {
    let programs = killers(turn);
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    // Use a new process group, because some of the programs are children of a subshell.
    let mut command = Command::new("/bin/sh");
    let output = command.arg(script).env("PATH", path).process_group(0).output().unwrap();
    output.status.code().is_none()
}

/// EX-16
#[test]
fn next_run_finishes_a_rollback_interrupted_anywhere() {
    let rich = rich();
    let expected = before(&rich);
    let mut turn = 0;
    loop {
        let root = TempDir::new().unwrap();
        let script = rich.write_after(root.path());
        let is_killed = cut_off(&script, turn);
        let checked = run(&script, &["--check"]);
        assert_eq!(checked.status.code(), Some(0), "turn {turn}: {}", output_text(&checked));
        let done = run(&script, &[]);
        assert_eq!(done.status.code(), Some(0), "turn {turn}: {}", output_text(&done));
        assert_eq!(snapshot(root.path()), expected, "turn {turn}: {}", output_text(&done));
        if !is_killed {
            break;
        }
        turn += 1;
    }
    assert!(turn > 20, "only {turn} steps");
}

/// EX-16
#[test]
fn contradictory_facts_are_rejected_as_a_rollback() {
    let rollback = rich().rollback();
    let twice: Vec<_> = rollback
        .checkpoints()
        .iter()
        .cloned()
        .chain(rollback.checkpoints().first().cloned())
        .collect();
    assert!(matches!(Rollback::new(twice, Vec::new()), Err(RollbackError::SameId { .. })));
    let mut again = rollback.checkpoints().to_vec();
    let first = again.first().unwrap().clone();
    let id = "another".parse().unwrap();
    again.push(actum_task::report::Checkpoint { id, ..first.clone() });
    let expected = RollbackError::Twice { path: first.path };
    assert_eq!(Rollback::new(again, Vec::new()), Err(expected));
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let hostile: Vec<&[u8]> = vec![
        b"-rf",
        b"--",
        b"a b",
        b"it's",
        b"''",
        b"$(touch pwned)",
        b"`id`",
        b"line\nline",
        b"end\n",
        b"\"",
        b"*",
        b"~",
        b"\\",
        b"!",
        b"(",
        b";ls",
        b"#",
        b"-",
        b"\x01\x7f",
        b" lead",
        b"%s",
        b"$HOME",
        b"=",
    ];
    let random = vec(any::<u8>(), 1..5).prop_filter("a name", |name| {
        !name.iter().any(|byte| matches!(byte, 0 | b'/'))
            && !matches!(name.as_slice(), b"." | b"..")
    });
    prop_oneof![2 => select(hostile).prop_map(<[u8]>::to_vec), 1 => random, 3 => "[abc]".prop_map(String::into_bytes)]
}

fn tree() -> impl Strategy<Value = Files> {
    let path = vec(name(), 1..4).prop_map(|names| names.join(&b'/'));
    let mode = select(vec![0o644, 0o600, 0o755, 0o444]);
    vec((path, ("[xy]{0,2}".prop_map(String::into_bytes), mode)), 0..7).prop_map(sound)
}

/// Removes files whose paths must be directories.
fn sound(files: impl IntoIterator<Item = (Vec<u8>, (Vec<u8>, u32))>) -> Files {
    let mut sound = Files::new();
    for (path, file) in files {
        let is_free = sound.keys().all(|other| {
            let lies_below =
                |a: &[u8], b: &[u8]| a.strip_prefix(b).is_some_and(|rest| rest.starts_with(b"/"));
            !lies_below(&path, other) && !lies_below(other, &path)
        });
        if is_free && path != b"agent" && !path.starts_with(b"agent/") {
            sound.insert(path, file);
        }
    }
    sound
}

/// The change that a run makes to one file.
#[derive(Debug, Clone)]
enum Fate {
    Kept,
    Deleted,
    Renamed(Vec<u8>, bool),
    Modified(Vec<u8>),
    Mode(u32),
}

fn a_run() -> impl Strategy<Value = Run> {
    let fate = prop_oneof![
        Just(Fate::Kept),
        Just(Fate::Deleted),
        (vec(name(), 1..3).prop_map(|names| names.join(&b'/')), any::<bool>())
            .prop_map(|(to, is_edited)| Fate::Renamed(to, is_edited)),
        "[xyz]{1,3}".prop_map(|content| Fate::Modified(content.into_bytes())),
        select(vec![0o700, 0o640]).prop_map(Fate::Mode),
    ];
    (tree(), vec(fate, 7), tree()).prop_map(|(before, fates, created)| {
        let mut after = Vec::new();
        let mut renamed = Vec::new();
        for ((path, (content, mode)), fate) in before.iter().zip(fates) {
            match fate {
                Fate::Kept => after.push((path.clone(), (content.clone(), *mode))),
                Fate::Deleted => {}
                Fate::Renamed(to, is_edited) => {
                    let added: &[u8] = if is_edited { b"edited" } else { b"" };
                    renamed.push((path.clone(), to.clone()));
                    after.push((to, ([content, added].concat(), *mode)));
                }
                Fate::Modified(content) => after.push((path.clone(), (content, *mode))),
                Fate::Mode(mode) => after.push((path.clone(), (content.clone(), mode))),
            }
        }
        let fresh = created
            .into_iter()
            .map(|(path, (content, mode))| (path, ([b"new", &*content].concat(), mode)));
        // Earlier changes of the run take precedence.
        let after = sound(after.into_iter().chain(fresh));
        renamed.retain(|(from, to)| {
            let is_this = after.get(to).is_some_and(|(content, _)| {
                before.get(from).is_some_and(|(old, _)| content.starts_with(old))
            });
            is_this && !after.contains_key(from) && !before.contains_key(to)
        });
        renamed.sort_by(|a, b| a.1.cmp(&b.1));
        renamed.dedup_by(|a, b| a.1 == b.1);
        let is_edited = |path: &&Vec<u8>| {
            let of = |files: &Files| files.get(*path).map(|(content, _)| content.clone());
            of(&after).is_some() && of(&before).is_some() && of(&after) != of(&before)
        };
        let deltas = before.keys().filter(is_edited).filter(|path| path.len() % 2 == 1);
        let deltas = deltas.cloned().collect();
        Run { before, after, before_directories: BTreeMap::new(), renamed, deltas }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// EX-16
    #[test]
    fn any_run_is_rolled_back_to_exact_bytes_and_modes(a_run in a_run(), turn in 0usize..12, shell in 0usize..3) {
        let expected = before(&a_run);
        let root = TempDir::new().unwrap();
        let script = a_run.write_after(root.path());
        cut_off(&script, turn);
        let shells = shells();
        let done = run_in(shells[shell % shells.len()], &script, &[]);
        prop_assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
        prop_assert_eq!(snapshot(root.path()), expected, "{}", output_text(&done));
    }

    /// EX-16
    #[test]
    fn one_tampered_file_stops_the_whole_rollback(a_run in a_run(), which in any::<prop::sample::Index>()) {
        let rollback = a_run.rollback();
        let left = |checkpoint: &actum_task::report::Checkpoint| {
            let path = checkpoint.path.as_bytes().to_vec();
            a_run.after.contains_key(&path).then_some(path)
        };
        let files: Vec<Vec<u8>> = rollback.checkpoints().iter().filter_map(left).collect();
        prop_assume!(!files.is_empty());
        let root = TempDir::new().unwrap();
        let script = a_run.write_after(root.path());
        tamper(&at(root.path(), &files[which.index(files.len())]), Tampering::Content);
        let left = snapshot(root.path());
        let refused = run(&script, &[]);
        prop_assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
        prop_assert_eq!(snapshot(root.path()), left);
    }
}
