//! Operator's configuration: variables in the environment can add rules to it, but cannot remove any.

use std::fs;
use std::path::{Path, PathBuf};

use actum_testkit::known_home::{self, User};
use serde_json::json;

use crate::program::{Ended, command, text};
use crate::{APPLY, reason, value};

const DENY_A: &str = "version = 1\n[scope]\ndeny = [\"a.txt\"]\n";
const DENY_B: &str = "version = 1\n[scope]\ndeny = [\"b.txt\"]\n";

/// User with a home directory in the password database, beside the workspace.
struct Person {
    home: PathBuf,
}

impl Person {
    fn in_place(place: &Path) -> Self {
        let home = place.join("person");
        fs::create_dir_all(&home).unwrap();
        Self { home }
    }

    /// Writes a file in the configuration directory that the password database leads to.
    fn write(&self, name: &str, text: &str) {
        write(&self.home.join(".config"), name, text);
    }

    /// Runs the program with only these environment variables set.
    fn run(&self, root: &Path, variables: &[(&str, &Path)], arguments: &[&str]) -> Ended {
        let mut plain = command(root, arguments);
        plain.env_clear();
        let mut within = known_home::command(&plain, User::Own, &self.home);
        within.env_clear().envs(variables.iter().copied());
        within.output().unwrap().into()
    }
}

/// Creates a project without a ledger, and beside it a change to its file `a.txt`.
fn project(place: &Path, name: &str) -> PathBuf {
    let root = place.join(name);
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a.txt"), "1\n").unwrap();
    let change = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n";
    fs::write(place.join("change.diff"), change).unwrap();
    root
}

fn write(configuration: &Path, name: &str, text: &str) {
    let path = configuration.join("actum").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// AEC-10: the operator's policy also applies in a project without a ledger, and with a new installation.
#[test]
fn operator_policy_applies_whatever_the_environment_names() {
    for (name, policy) in
        [("actum.toml", DENY_A), ("access/a.cedar", "forbid(principal, action, resource);")]
    {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let (home, elsewhere) = (place.join("new-home"), place.join("elsewhere"));
        let person = Person::in_place(&place);
        person.write(name, policy);
        let environments: [&[(&str, &Path)]; 4] = [
            &[("ACTUM_HOME", &home), ("XDG_CONFIG_HOME", &elsewhere)],
            &[("ACTUM_HOME", &home), ("HOME", &elsewhere)],
            &[("HOME", &elsewhere)],
            &[("ACTUM_HOME", &home)],
        ];
        for (index, variables) in environments.into_iter().enumerate() {
            let root = project(&place, &format!("project-{index}"));
            let apply = person.run(&root, variables, &["apply", "../change.diff"]);
            assert_eq!(apply.code, 1, "{name} {variables:?}: {apply:?}");
            assert!(apply.stderr.contains("CHANGE_DENIED"), "{name} {variables:?}: {apply:?}");
            assert_eq!(text(&root, "a.txt"), "1\n", "{name} {variables:?}");
        }
        let root = project(&place, "project");
        // Two different policies are an error, because one of them would be ignored.
        write(&elsewhere, "actum.toml", DENY_B);
        let two = &[("ACTUM_HOME", &*home), ("XDG_CONFIG_HOME", &*elsewhere)];
        let apply = person.run(&root, two, &[&["--json"], &APPLY[..]].concat());
        assert_eq!((apply.code, reason(&apply)), (1, json!("CONFIGURATION_ELSEWHERE")));
        // A link to the operator's policy counts as that policy.
        fs::remove_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(person.home.join(".config"), &elsewhere).unwrap();
        let apply = person.run(&root, two, &["apply", "../change.diff"]);
        assert!(apply.stderr.contains("CHANGE_DENIED"), "{name}: {apply:?}");
    }
}

/// AEC-10: the first process that uses an installation cannot lock out the operator's policy.
#[test]
fn remembered_location_does_not_lock_out_the_operators_policy() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let (root, person) = (project(&place, "project"), Person::in_place(&place));
    let (home, elsewhere) = (place.join("new-home"), place.join("elsewhere"));
    let agents = [("ACTUM_HOME", &*home), ("XDG_CONFIG_HOME", &*elsewhere)];
    let own = [("ACTUM_HOME", &*home)];
    assert_eq!(person.run(&root, &agents, &APPLY).code, 0);
    let undo = person.run(&root, &own, &["undo", "--json"]);
    assert_eq!(reason(&undo), "CONFIGURATION_ELSEWHERE", "{undo:?}");
    assert!(!undo.stdout.contains("unset"), "no variable is set: {undo:?}");
    person.write("actum.toml", DENY_B);
    let undo = person.run(&root, &own, &["undo"]);
    assert_eq!(undo.code, 0, "{undo:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// AEC-10, D-5: a policy that is reachable only through the environment can tighten the rules but not loosen them.
#[test]
fn policy_named_only_by_the_environment_cannot_loosen_rules() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let (root, person) = (project(&place, "project"), Person::in_place(&place));
    let (home, elsewhere) = (place.join("new-home"), place.join("elsewhere"));
    let agents = [("ACTUM_HOME", &*home), ("XDG_CONFIG_HOME", &*elsewhere)];
    let loosening = [
        ("protected.profile", "[protected]\nprofile = \"critical\"\n"),
        ("protected.except", "[protected]\nexcept = [\".env.example\"]\n"),
        ("command", "[[command]]\nargv = [\"true\"]\ndecision = \"allow\"\nmatch = [\"true\"]\n"),
        ("retention", "[retention]\nruns = 0\ndays = 0\n"),
        ("ledger", "[ledger]\nmax_bytes = 99999999999\n"),
        (
            "credentials",
            "[credentials]\nallow = [\"2f1c6f9d2d3a4c1d9f0f7c0b6b6b0f6f2f1c6f9d2d3a4c1d9f0f7c0b6b6b0f6f\"]\n",
        ),
    ];
    let protected = |variables: &[(&str, &Path)]| {
        let explained = person.run(&root, variables, &["policy", "explain", ".env.example"]);
        explained.stdout.contains("denied")
    };
    for (key, text) in loosening {
        write(&elsewhere, "actum.toml", &format!("version = 1\n{text}"));
        let check = value(&person.run(&root, &agents, &["policy", "check", "--json"]));
        let warnings = check["warnings"].to_string();
        assert!(warnings.contains(&format!("`{key}`")), "{key}: {check}");
        assert_eq!(check["files"][0]["trusted"], false, "{key}: {check}");
        assert!(protected(&agents), "{key}");
        let allowed = person.run(&root, &agents, &["policy", "explain", "--command", "true"]);
        assert!(!allowed.stdout.contains(": allowed"), "{key}: {allowed:?}");
    }
    let tightening = format!("{DENY_A}[protected]\nexcept = [\".env.example\"]\n");
    write(&elsewhere, "actum.toml", &tightening);
    assert_eq!(person.run(&root, &agents, &APPLY).code, 1);
    // Repeat the check with a configuration in the user's real home directory.
    let known = [("ACTUM_HOME", &*home)];
    person.write("actum.toml", &tightening);
    assert!(!protected(&known));
}
