//! A workspace belongs to the installation that recorded it, which is identified by its keys and not by its name.

use std::path::Path;
use std::process::Command;

use crate::program::{Ended, actum, command, home_of, workspace};

/// Runs the program with the home of another installation.
fn with_home(root: &Path, home: &Path, arguments: &[&str]) -> Ended {
    let mut command = command(root, &[&["--json"], arguments].concat());
    command.env("ACTUM_HOME", home).env("XDG_CONFIG_HOME", home.with_extension("config"));
    command.output().unwrap().into()
}

/// AEC-8, AA-5: a copy of the ledger under other keys counts as a different ledger. Every process that has an export could make
/// such a copy.
#[test]
fn a_ledger_of_the_same_name_with_other_keys_is_rejected() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let namesake = directory.path().join("namesake");
    let elsewhere = directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    assert_eq!(with_home(&elsewhere, &namesake, &["init"]).code, 0);
    let tenants = namesake.join("tenants");
    std::fs::remove_dir_all(&tenants).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(home_of(&root).join("tenants")).arg(&tenants);
    assert!(copy.status().unwrap().success());
    let inner = root.join("sub");
    for (root, verb) in [
        (&root, &["undo"][..]),
        (&root, &["gc", "--max-runs", "0"]),
        (&root, &["apply", "../change.diff"]),
        (&inner, &["init"]),
    ] {
        let ended = with_home(root, &namesake, verb);
        assert!(ended.stdout.contains("BOUND_ELSEWHERE"), "{verb:?}: {ended:?}");
    }
    assert!(!inner.join(".actum").exists());
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-8: rotated keys still identify the installation they belong to.
#[test]
fn a_workspace_stays_with_its_ledger_when_keys_are_rotated() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    for role in ["result", "checkpoint"] {
        let rotated = actum(&root, &["key", "rotate", role]);
        assert_eq!(rotated.code, 0, "{rotated:?}");
    }
    let undone = actum(&root, &["undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
}
