//! Tests for the claims in SECURITY.md and docs/approvals.md about which party decides, and for the commands that show
//! the decision (issue 22).

use super::*;

/// AA-5, AEC-8: pending requests are reported by read-only commands, by commands that fail, and with `--json`.
#[test]
fn every_verb_reports_pending_requests() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\nprofile = \"critical\"\n")
        .unwrap();
    assert_eq!(actum(&root, &["trust"]).code, 0);
    assert_eq!(with_home(&root, &directory.path().join("other-home"), &["bind"]).code, 6);
    approval_key(&root);
    let expected = [
        "`actum key deny approval` rejects it",
        "`actum trust --remove` there rejects it",
        "`actum bind --cancel` rejects it",
    ];
    let verbs: [(&[&str], bool); 30] = [
        (&["init"], true),
        (&["apply", "missing.diff"], false),
        (&["apply", "../change.diff"], false),
        (&["exec", "--drop", "--", "true"], true),
        (&["exec", "--", "false"], false),
        (&["sandbox", "run", "--", "true"], true),
        (&["undo", "--dry-run"], true),
        (&["redo"], false),
        (&["queue"], true),
        (&["approve", "zzzz"], false),
        (&["deny", "zzzz", "--reason", "no"], false),
        (&["revoke", "zzzz", "--reason", "no"], false),
        (&["feedback"], true),
        (&["log"], true),
        (&["show"], true),
        (&["diff"], true),
        (&["status"], true),
        (&["recover"], true),
        (&["resolve", "a.txt"], false),
        (&["gc"], true),
        (&["receipt"], true),
        (&["verify", "missing"], false),
        (&["ledger", "verify"], true),
        (&["ledger", "checkpoint"], true),
        (&["key", "list"], true),
        (&["policy", "check"], true),
        (&["policy", "explain", "a.txt"], true),
        (&["doctor"], true),
        (&["explain", "CHANGE_DENIED"], true),
        (&["plan", "lint", "missing.json"], false),
    ];
    for (verb, succeeds) in verbs {
        for options in [&[][..], &["--json"]] {
            let ended = actum(&root, &[options, verb].concat());
            if ended.code == 2 && ended.stderr.contains("For more information, try '--help'") {
                panic!("{verb:?} is no command: {ended:?}");
            }
            assert!(succeeds || ended.code != 0, "{verb:?}: {ended:?}");
            for expected in expected {
                assert!(ended.stderr.contains(expected), "{options:?} {verb:?}: {ended:?}");
            }
        }
    }
}

/// AA-5: a trust decision applies to the whole installation, so every tenant's ledger records its alert.
#[test]
fn trust_alert_is_recorded_in_the_ledger_of_every_tenant() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let elsewhere = directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(actum(&elsewhere, &["--tenant", "other", "init"]).code, 0);
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\nprofile = \"critical\"\n")
        .unwrap();
    assert_eq!(actum(&root, &["trust"]).code, 0);
    assert_eq!(alerts(&root), ["TRUST_WAITS"]);
    let other = value(&actum(&elsewhere, &["--tenant", "other", "queue", "--json"]));
    assert_eq!(other["alerts"][0]["name"], "TRUST_WAITS", "{other}");
}

/// AA-5, EX-18: repeated attempts with a wrong passphrase raise a single alert, which stays until it is marked as seen.
#[test]
fn wrong_passphrase_without_a_terminal_raises_one_alert() {
    let (directory, root) = workspace();
    let key = approval_key(&root);
    fs::write(root.join("actum.toml"), "version = 1\n").unwrap();
    let wrong = directory.path().join("wrong");
    fs::write(&wrong, "no passphrase of anybody\n").unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).unwrap();
    let wrong = wrong.to_str().unwrap();
    let guesses: [&[&str]; 4] = [
        &["trust", "--passphrase-file", wrong],
        &["gc", "--max-runs", "0", "--below-retention", "--passphrase-file", wrong],
        &["key", "rotate", "approval", "--old-passphrase-file", wrong, "--passphrase-file", &key],
        &["--tenant", "other", "trust", "--passphrase-file", wrong],
    ];
    for guess in guesses {
        for _ in 0..2 {
            let ended = actum(&root, &[guess, &["--json"]].concat());
            assert_eq!(reason(&ended), "PASSPHRASE_WRONG", "{ended:?}");
        }
        assert_eq!(alerts(&root), ["PASSPHRASE_WRONG"], "{guess:?}");
        let seen = ["queue", "--seen", "all", "--passphrase-file", &key];
        assert_eq!(actum(&root, &seen).code, 0);
        assert!(alerts(&root).is_empty());
    }
    // If the alert cannot be recorded, the passphrase is not even tried.
    for passphrase in [wrong, &key] {
        let elsewhere = directory.path().join("other-config");
        let arguments = ["trust", "--json", "--passphrase-file", passphrase];
        let ended = command(&root, &arguments).env("XDG_CONFIG_HOME", elsewhere).output().unwrap();
        assert_eq!(reason(&ended.into()), "CONFIGURATION_ELSEWHERE");
    }
}

/// AEC-10, D-5: a configuration that only the environment names cannot set any key that gives programs more
/// permissions.
#[test]
fn no_key_of_an_environment_configuration_loosens_the_rules() {
    let (directory, root) = workspace();
    let place = directory.path().canonicalize().unwrap();
    let (evil, secret, hidden) =
        (place.join("evil"), place.join("secret"), place.join("evil-person/.vim"));
    for made in [&evil.join("actum"), &secret, &hidden, &root.join("target")] {
        fs::create_dir_all(made).unwrap();
    }
    let policy = format!(
        "version = 1\n[sandbox]\nread = [{secret:?}]\nexec = [{secret:?}]\nwrite = [{secret:?}]\nenv = ['SECRET']\n\
         caches = ['target']\nlimits = ['memory=16G']\n[workspaces]\nroots = [{hidden:?}]\n"
    );
    fs::write(evil.join("actum/actum.toml"), policy).unwrap();
    let elsewhere = |start: &Path, arguments: &[&str]| -> Ended {
        let mut command = command(start, arguments);
        command.env("ACTUM_HOME", place.join("evil-home")).env("XDG_CONFIG_HOME", &evil);
        command.env("SECRET", "hunter2");
        let own = actum_testkit::known_home::User::Own;
        let mut command =
            actum_testkit::known_home::command(&command, own, &place.join("evil-person"));
        command.output().unwrap().into()
    };
    let secret = secret.to_str().unwrap();
    let asked = [
        &["--read", secret][..],
        &["--exec", secret],
        &["--write", secret],
        &["--env", "SECRET"],
        &["--capture", "--cache", "target"],
        &["--limit", "memory=16G"],
    ];
    for options in asked {
        let run = [&["sandbox", "run"], options, &["--", "env"]].concat();
        let refused = elsewhere(&root, &run);
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{options:?}: {refused:?}");
        assert!(refused.stderr.contains("SANDBOX_NOT_ALLOWED"), "{options:?}: {refused:?}");
    }
    let init = elsewhere(&hidden, &["--json", "init"]);
    assert_eq!(reason(&init), "ROOT_NOT_ALLOWED", "{init:?}");
    let check = elsewhere(&root, &["policy", "check"]);
    for key in ["sandbox", "workspaces"] {
        assert!(check.stdout.contains(&format!("`{key}")), "{key}: {check:?}");
    }
}

/// AEC-10: the machine-wide policy is accepted only if root owns it and controls its directory.
#[test]
fn machine_policy_not_controlled_by_root_rejects_every_change() {
    let (directory, root) = workspace();
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    fs::write(directory.path().join("system.toml"), "version = 1\n").unwrap();
    let script = "mount -t tmpfs tmpfs /etc && mkdir /etc/actum && cp \"$1\" /etc/actum/actum.toml && \
                  eval \"$2\" && shift 2 && exec \"$@\"";
    let within = |change: &str| -> Ended {
        let mut unshare = std::process::Command::new("unshare");
        unshare
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(directory.path().join("system.toml"));
        unshare.args([change, env!("CARGO_BIN_EXE_actum"), "--json"]).args(APPLY);
        unshare.current_dir(&root).env("ACTUM_HOME", home_of(&root));
        unshare.env("XDG_CONFIG_HOME", program::operator_of(&root)).output().unwrap().into()
    };
    for change in ["chown 65534 /etc/actum/actum.toml", "chmod 666 /etc/actum/actum.toml"] {
        let refused = within(change);
        assert_eq!((refused.code, reason(&refused)), (1, json!("POLICY_UNUSABLE")), "{refused:?}");
    }
    assert_eq!(text(&root, "a.txt"), "1\n");
    assert_eq!(within("true").code, 0);
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

/// AEC-8, D-5: the rules about workspace locations apply to the path after symbolic links are resolved.
#[test]
fn workspace_is_not_created_above_home_or_via_a_link_to_a_hidden_dir() {
    let (directory, root) = workspace();
    let above = directory.path().canonicalize().unwrap().join("above");
    let person = above.join("person");
    fs::create_dir_all(person.join("dotfiles/nvim")).unwrap();
    fs::create_dir_all(person.join(".real")).unwrap();
    std::os::unix::fs::symlink("dotfiles/nvim", person.join(".nvim")).unwrap();
    std::os::unix::fs::symlink(".real", person.join("plain")).unwrap();
    let init = |place: &Path| -> Value {
        let mut command = command(&root, &["--json", "init", place.to_str().unwrap()]);
        let command = command.env("XDG_CONFIG_HOME", above.join("config"));
        let mut command = actum_testkit::known_home::command(
            command,
            actum_testkit::known_home::User::Own,
            &person,
        );
        command.env_clear().env("ACTUM_HOME", home_of(&root));
        command.env("XDG_CONFIG_HOME", program::operator_of(&root));
        reason(&command.output().unwrap().into())
    };
    for place in [&above, &person, &person.join("plain")] {
        assert_eq!(init(place), "ROOT_NOT_ALLOWED", "{}", place.display());
    }
    // A link to a hidden directory is treated like the directory itself.
    assert_eq!(init(&person.join(".nvim")), Value::Null);
    fs::create_dir(person.join("project")).unwrap();
    assert_eq!(init(&person.join("project")), Value::Null);
    fs::write(
        root.join("actum.toml"),
        format!("version = 1\n[workspaces]\nroots = [{person:?}]\n"),
    )
    .unwrap();
    let refused = actum(&root, &APPLY);
    assert!(refused.stderr.contains("only the operator's policy can"), "{refused:?}");
}

/// AEC-8, AA-5: access policy rules about a directory also apply when the workspace root is inside that directory.
#[test]
fn an_access_policy_holds_from_a_root_inside_the_workspace() {
    let (directory, root) = workspace();
    let access = program::operator_of(&root).join("actum/access");
    fs::create_dir_all(&access).unwrap();
    let policy = "permit (principal, action, resource);\n\
                  @id(\"release\") forbid (principal, action, resource) when { context.directories.contains(\"release\") };\n";
    fs::write(access.join("team.cedar"), policy).unwrap();
    let change = files(&root, "release.json", &[("x.txt", "x\n")]);
    let inner = root.join("release");
    fs::create_dir(&inner).unwrap();
    let made = actum(&inner, &["init", "."]);
    assert_eq!(made.code, 0, "{made:?}");
    let refused = actum(&inner, &["-C", ".", "apply", &change, "--agent", "builder"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("the gate `access`: forbidden by `release`"), "{refused:?}");
    assert!(!inner.join("x.txt").exists());
    let beside = actum(&root, &["apply", &change]);
    assert_eq!(beside.code, 0, "{beside:?}");
    drop(directory);
}

/// D-4: commands cannot see the credential locations below the caller's `HOME`, and neither can checks.
#[test]
fn a_check_that_would_not_see_a_part_of_the_workspace_does_not_run() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join(".docker")).unwrap();
    fs::write(root.join(".docker/config.json"), "evil\n").unwrap();
    let check = "sh -c '! grep -rq evil .docker'";
    let asked = ["--json", "exec", "--verify", check, "--", "touch", "new"];
    let in_home = |home: &Path| -> Ended {
        let mut command = command(&root, &asked);
        command.env("HOME", home).output().unwrap().into()
    };
    let elsewhere = in_home(&root.with_file_name("another-home"));
    let error = value(&elsewhere)["error"].clone();
    assert_eq!(error["reason"], "VERIFICATION_FAILED", "{elsewhere:?}");
    let within = in_home(&root);
    let error = value(&within)["error"].clone();
    assert_eq!(error["reason"], "SANDBOX_NOT_ALLOWED", "{within:?}");
    let message = error["message"].as_str().unwrap().to_owned();
    assert!(message.contains("is hidden from commands, so a check would not see it"), "{message}");
    assert!(!root.join("new").exists());
}

/// D-4: the approver sees the environment, start directory and limits that determine which program a check runs.
#[test]
fn the_queue_shows_where_checks_start_their_environment_and_limits() {
    let (_directory, root) = workspace();
    approval_key(&root);
    let ask = |path: &str, options: &[&str], file: &str| {
        let asked = [&["exec", "--review", "--verify", "true"], options, &["--", "touch", file]];
        let mut command = command(&root, &asked.concat());
        let ended: Ended = command
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .current_dir(root.join("sub"))
            .output()
            .unwrap()
            .into();
        assert_eq!(ended.code, 116, "{ended:?}");
        let plans = value(&actum(&root, &["queue", "--json"]));
        let plan = plans["plans"].as_array().unwrap().last().unwrap()["plan"].clone();
        actum(&root, &["queue", plan.as_str().unwrap()]).stdout
    };
    let tools = root.join("tools");
    fs::create_dir(&tools).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let shown = ask(&path, &["--env", "WORD=x y"], "new");
    assert!(shown.contains("start    checks start in sub\n"), "{shown}");
    assert!(shown.contains(&format!("env      PATH={path}\n")), "{shown}");
    assert!(shown.contains("env      WORD=x y\n"), "{shown}");
    let path = format!("/usr/..{}:/usr/bin:/bin", tools.display());
    let shown = ask(&path, &[], "third");
    assert!(shown.contains(&format!("env      PATH={path}\n")), "{shown}");
    let shown = ask("/usr/bin:/bin", &["--limit", "processes=20"], "fourth");
    assert!(
        shown.contains("limit    processes=20\n") && !shown.contains("limit    wall"),
        "{shown}"
    );
    let shown = ask("/usr/bin:/bin", &[], "other");
    assert!(shown.contains("check    true\n") && !shown.contains("env "), "{shown}");
    assert!(!shown.contains("limit "), "{shown}");
}
