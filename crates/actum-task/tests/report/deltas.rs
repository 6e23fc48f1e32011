//! Backups stored as block deltas: the rollback script restores the original from the file that the run left.

#![expect(clippy::disallowed_methods, reason = "the script is a program, and works on files")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::rollback::{before, cut_off, files, output_text, run, run_in, shells};
use crate::tree::{BLOCK, Run, at, report_name, snapshot};

/// Returns content without repetitions.
fn content(size: usize) -> Vec<u8> {
    let words = (0u64..).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_be_bytes).take(size).collect()
}

/// Returns the content with some bytes changed and with a new size.
fn edited(mut content: Vec<u8>, at: &[usize], size: usize) -> Vec<u8> {
    content.resize(size, 7);
    at.iter().filter(|at| **at < size).for_each(|&at| content[at] ^= 0xff);
    content
}

/// Builds a run that modifies files and stores their backups as deltas.
fn modified(changes: &[(&[u8], Vec<u8>, Vec<u8>)]) -> Run {
    let before: Vec<_> = changes.iter().map(|(path, old, _)| (*path, &**old, 0o640)).collect();
    let after: Vec<_> = changes.iter().map(|(path, _, new)| (*path, &**new, 0o755)).collect();
    Run {
        before: files(&before),
        after: files(&after),
        deltas: changes.iter().map(|(path, ..)| path.to_vec()).collect(),
        ..Run::default()
    }
}

/// Builds a run on files with hostile names that keep their size, grow and shrink.
fn hostile() -> Run {
    let old = || content(9 * BLOCK + 100);
    modified(&[
        (b"-rf", old(), edited(old(), &[0, BLOCK + 1, 5 * BLOCK, 9 * BLOCK + 99], 9 * BLOCK + 100)),
        (b"a b/it's \"=\"", old(), edited(old(), &[4 * BLOCK], 30 * BLOCK + 3)),
        (b"grown\n", old(), edited(old(), &[], 10 * BLOCK)),
        (b"$(touch pwned)", old(), edited(old(), &[7], 2 * BLOCK + 1)),
        (b"empty", old(), Vec::new()),
        (b"filled\\", Vec::new(), old()),
        (b"whole blocks", content(4 * BLOCK), edited(content(4 * BLOCK), &[3 * BLOCK], 4 * BLOCK)),
    ])
}

/// EX-16, EX-21: every shell restores a file and its mode, whether the file kept its size, grew or shrank.
#[test]
fn every_shell_restores_files_from_deltas() {
    let hostile = hostile();
    let shells = shells();
    assert!(shells.len() > 1, "{shells:?}");
    for shell in shells {
        let root = TempDir::new().unwrap();
        let script = hostile.write_after(root.path());
        let checked = run_in(shell, &script, &["--check"]);
        assert_eq!(checked.status.code(), Some(0), "{}", output_text(&checked));
        let done = run_in(shell, &script, &[]);
        assert_eq!(done.status.code(), Some(0), "{shell:?}: {}", output_text(&done));
        assert_eq!(snapshot(root.path()), before(&hostile), "{shell:?}");
        let again = run_in(shell, &script, &[]);
        assert!(output_text(&again).contains("done already"), "{}", output_text(&again));
    }
}

/// EX-16
#[test]
fn busybox_restores_files_from_deltas() {
    let busybox = Path::new("/bin/busybox");
    assert!(busybox.exists(), "`cargo xtask test` installs busybox");
    let programs = TempDir::new().unwrap();
    for name in [
        "sh",
        "sha256sum",
        "rm",
        "mv",
        "cat",
        "chmod",
        "chown",
        "mkdir",
        "rmdir",
        "link",
        "ln",
        "find",
        "ls",
        "id",
        "printf",
        "dd",
        "sync",
    ] {
        symlink(busybox, programs.path().join(name)).unwrap();
    }
    let hostile = hostile();
    let root = TempDir::new().unwrap();
    let script = hostile.write_after(root.path());
    let shell = programs.path().join("sh");
    let done = Command::new(shell).arg(&script).env("PATH", programs.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
    assert_eq!(snapshot(root.path()), before(&hostile));
}

/// EX-16: at any moment, a file has its old content or its new content, or is stored aside where the next start restores it.
#[test]
fn next_run_finishes_a_script_killed_while_applying_deltas() {
    let a_run = modified(&[
        (b"a", content(3 * BLOCK), edited(content(3 * BLOCK), &[0, 2 * BLOCK], 5 * BLOCK)),
        (b"it's\n", content(2 * BLOCK + 9), edited(content(2 * BLOCK + 9), &[9], 7)),
    ]);
    let mut turn = 0;
    loop {
        let root = TempDir::new().unwrap();
        let script = a_run.write_after(root.path());
        let is_killed = cut_off(&script, turn);
        for file in a_run.before.keys() {
            let known = [&a_run.before[file].0, &a_run.after[file].0];
            let now = fs::read(at(root.path(), file));
            assert!(now.is_err() || now.is_ok_and(|now| known.contains(&&now)), "turn {turn}");
        }
        let done = run(&script, &[]);
        assert_eq!(done.status.code(), Some(0), "turn {turn}: {}", output_text(&done));
        assert_eq!(snapshot(root.path()), before(&a_run), "turn {turn}: {}", output_text(&done));
        let names = fs::read_dir(script.parent().unwrap()).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name());
        assert!(names.all(|name| !name.as_encoded_bytes().starts_with(b".")), "turn {turn}");
        if !is_killed {
            break;
        }
        turn += 1;
    }
    assert!(turn > 20, "only {turn} steps");
}

/// EX-16: an edited file or a damaged delta stops the whole rollback with an error that names the file.
#[test]
fn edited_file_or_damaged_delta_is_rejected_by_name() {
    let a_run = hostile();
    let backup = report_name().backup(&crate::tree::path(b"-rf"));
    for (place, is_named) in [
        (b"-rf".as_slice(), "-rf: has another content"),
        (backup.as_bytes(), "is not the backup that was made"),
    ] {
        for size in [None, Some(5), Some(BLOCK)] {
            let root = TempDir::new().unwrap();
            let script = a_run.write_after(root.path());
            let file = at(root.path(), place);
            let mut bytes = fs::read(&file).unwrap();
            match size {
                Some(size) => bytes.truncate(size),
                None => bytes[BLOCK / 2] ^= 1,
            }
            fs::write(&file, bytes).unwrap();
            let left = snapshot(root.path());
            for arguments in [&["--check"][..], &[]] {
                let refused = run(&script, arguments);
                assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
                assert!(output_text(&refused).contains(is_named), "{}", output_text(&refused));
                assert!(
                    output_text(&refused).contains("Nothing was changed"),
                    "{}",
                    output_text(&refused)
                );
                assert_eq!(snapshot(root.path()), left);
            }
        }
    }
}

/// EX-16
#[test]
fn without_dd_a_delta_is_rejected_before_any_change() {
    let programs = TempDir::new().unwrap();
    for name in ["sha256sum", "rm", "find", "link", "printf", "id", "ls"] {
        let places = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let program = places.into_iter().find(|place| place.exists()).unwrap();
        symlink(program, programs.path().join(name)).unwrap();
    }
    let root = TempDir::new().unwrap();
    let script = hostile().write_after(root.path());
    let left = snapshot(root.path());
    let refused =
        Command::new("/bin/sh").arg(&script).env("PATH", programs.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
    assert!(output_text(&refused).contains("requires `dd`"), "{}", output_text(&refused));
    assert_eq!(snapshot(root.path()), left);
}

/// EX-16: a delta applies only to the file that the run left, so that file is kept if another one took its path.
#[test]
fn delta_base_is_kept_if_another_file_replaces_it() {
    let (old, new) = (content(3 * BLOCK), edited(content(3 * BLOCK), &[0], 3 * BLOCK));
    let a_run = modified(&[(b"a", old, new.clone())]);
    let root = TempDir::new().unwrap();
    let script = a_run.write_after(root.path());
    let aside = root.path().join(report_name().displaced(&crate::tree::path(b"a")));
    fs::rename(root.path().join("a"), &aside).unwrap();
    fs::write(root.path().join("a"), "saved\n").unwrap();
    let refused = run(&script, &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", output_text(&refused));
    assert!(
        output_text(&refused).contains("was saved while a script that was killed"),
        "{}",
        output_text(&refused)
    );
    assert_eq!(fs::read(&aside).unwrap(), new);
    // The user removes their own file and restores the one that the run left.
    fs::remove_file(root.path().join("a")).unwrap();
    let done = run(&script, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
    assert_eq!(snapshot(root.path()), before(&a_run));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// EX-16, EX-21: deltas convert between two contents in both directions.
    #[test]
    fn script_reverts_any_block_edits(
        size in 0usize..20 * BLOCK,
        other in 0usize..20 * BLOCK,
        at in vec(0usize..20 * BLOCK, 0..8),
        shell in 0usize..3,
    ) {
        let (a, b) = (content(size), edited(content(size), &at, other));
        prop_assume!(a != b);
        for (old, new) in [(&a, &b), (&b, &a)] {
            let a_run = modified(&[(b"f", old.clone(), new.clone())]);
            let root = TempDir::new().unwrap();
            let script = a_run.write_after(root.path());
            let shells = shells();
            let done = run_in(shells[shell % shells.len()], &script, &[]);
            prop_assert_eq!(done.status.code(), Some(0), "{}", output_text(&done));
            prop_assert!(snapshot(root.path()) == before(&a_run));
        }
    }
}
