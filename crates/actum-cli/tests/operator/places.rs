//! Directories that may become a workspace, and directories that no change may enter.

use super::*;

/// AEC-8, AA-5: a user does not become the operator by choosing a nested root.
#[test]
fn nested_workspace_belongs_to_the_ledger_of_the_outer_one() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let inner = root.join("sub");
    let change = files(&root, "inner.json", &[("new.txt", "x\n")]);
    for verb in [
        &["init", "."][..],
        &["-C", ".", "apply", &change],
        &["-C", ".", "apply", "--dry-run", &change],
        &["exec", "--drop", "--", "touch", "y"],
    ] {
        let ended = foreign(&inner, &other, verb);
        assert!(ended.stdout.contains("BOUND_ELSEWHERE"), "{verb:?}: {ended:?}");
    }
    assert!(!inner.join(".actum").exists());
    // The owner may create a nested workspace, which then belongs to the owner.
    let made = actum(&inner, &["init", "."]);
    assert_eq!(made.code, 0, "{made:?}");
    fs::remove_dir_all(inner.join(".actum/recorded")).unwrap();
    let refused = foreign(&inner, &other, &["apply", &change]);
    assert_bound_elsewhere(&refused);
    let message = value(&refused)["message"].to_string();
    assert!(message.contains("around this directory"), "{message}");
    assert_eq!(actum(&inner, &["apply", &change]).code, 0);
}

/// AEC-8, AA-5
#[test]
fn enclosing_workspace_cannot_change_files_of_a_recorded_one() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let around = directory.path();
    let homes = tempfile::tempdir().unwrap();
    let other = homes.path().join("other-home");
    assert_eq!(foreign(around, &other, &["init", "."]).code, 0);
    let inner = files(&root, "inner.json", &[("workspace/sub/b.txt", "evil\n")]);
    let apply = foreign(around, &other, &["apply", "--overwrite", &inner]);
    assert_bound_elsewhere(&apply);
    let message = value(&apply)["message"].to_string();
    assert!(message.contains("the workspace `workspace` inside this one"), "{message}");
    let script = "echo evil > workspace/sub/b.txt";
    let exec = foreign(around, &other, &["exec", "--", "sh", "-c", script]);
    assert!(exec.stdout.contains("BOUND_ELSEWHERE"), "{exec:?}");
    assert_eq!(text(&root, "sub/b.txt"), "two\n");
    let beside = files(&root, "beside.json", &[("beside/b.txt", "fine\n")]);
    assert_eq!(foreign(around, &other, &["apply", &beside]).code, 0);
    // The inner workspace existed first and keeps its own ledger.
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-8: a workspace is bound to the operator's ledger from the moment it is created.
#[test]
fn a_workspace_belongs_to_the_ledger_that_made_it() {
    let (directory, root) = workspace();
    let other = directory.path().join("other-home");
    assert_bound_elsewhere(&foreign(&root, &other, &["apply", "../change.diff"]));
    assert_eq!(text(&root, "a.txt"), "1\n");
    // Only the start of the log is recorded so far, so a first approval key is valid immediately.
    assert_eq!(value(&actum(&root, &["doctor", "--json"]))["findings"][0]["verdict"], "ok");
    approval_key(&root);
    assert_eq!(actum(&root, &APPLY).code, 0);
    assert_eq!(actum(&root, &["status"]).code, 0);
}

/// AEC-8: `init` creates nothing if it cannot bind the workspace to a ledger.
#[test]
fn init_creates_no_workspace_without_a_usable_ledger() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("workspace");
    fs::create_dir_all(&root).unwrap();
    let home = home_of(&root).join("tenants/default");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for above in home.ancestors().skip(1).take(2) {
        fs::set_permissions(above, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::write(home.join("ledger.db"), "no database").unwrap();
    let made = actum(&root, &["init"]);
    assert_ne!(made.code, 0, "{made:?}");
    assert!(!root.join(".actum").exists(), "{made:?}");
}

/// AEC-8, D-5: a user of actum must not be able to write files that the next login or the next command would run.
#[test]
fn directories_used_by_programs_are_refused_as_roots_unless_listed() {
    let (directory, root) = workspace();
    let person = directory.path().canonicalize().unwrap().join("person");
    let files = json!({ "files": [{ "path": "git", "content": "evil\n" }] }).to_string();
    fs::write(directory.path().join("git.json"), files).unwrap();
    let input = directory.path().join("git.json");
    let input = input.to_str().unwrap();
    let run = |place: &Path, arguments: &[&str]| -> Ended {
        let command = command(place, &[&["--json"], arguments].concat());
        program::at_known_place(command).output().unwrap().into()
    };
    fs::create_dir_all(person.join("tree/shims")).unwrap();
    let places = [
        "",
        "bin",
        "go/bin",
        "go",
        "tree",
        "node_modules",
        ".local/bin",
        ".vim",
        ".cargo/bin/deep",
    ];
    for place in places {
        let place = person.join(place);
        fs::create_dir_all(&place).unwrap();
        for arguments in [
            &["init"][..],
            &["apply", input],
            &["apply", "--dry-run", input],
            &["exec", "--", "touch", "git"],
            &["exec", "--drop", "--", "touch", "git"],
        ] {
            let refused = run(&place, arguments);
            let below = place.strip_prefix(&person).unwrap().to_str().unwrap();
            let is_plain = !below.is_empty() && !below.starts_with('.');
            let expected = match (arguments[0], is_plain) {
                // The rule about directories in which commands may not start takes precedence.
                ("exec", false) => (125, json!("SANDBOX_NOT_ALLOWED")),
                ("exec", true) => (111, json!("ROOT_NOT_ALLOWED")),
                _ => (1, json!("ROOT_NOT_ALLOWED")),
            };
            assert_eq!((refused.code, reason(&refused)), expected, "{refused:?}");
        }
        assert!(!place.join(".actum").exists() && !place.join("git").exists());
    }
    let listed = person.join(".vim");
    let configuration = program::operator_of(&root).join("actum");
    fs::create_dir_all(&configuration).unwrap();
    let policy = format!("version = 1\n[workspaces]\nroots = [{listed:?}]\n");
    fs::write(configuration.join("actum.toml"), policy).unwrap();
    let made = run(&listed, &["apply", input]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(reason(&run(&person.join(".local/bin"), &["init"])), "ROOT_NOT_ALLOWED");
    // A project in the home directory is an ordinary workspace, and so is a repository that contains scripts.
    fs::create_dir_all(person.join("project/src")).unwrap();
    assert_eq!(run(&person.join("project"), &["init"]).code, 0);
    fs::create_dir_all(person.join("repository/bin")).unwrap();
    fs::create_dir(person.join("repository/.git")).unwrap();
    assert_eq!(run(&person.join("repository/bin"), &["init", "."]).code, 0);
    let with_path = |place: &Path| -> Ended {
        let mut command = command(place, &["--json", "init", "."]);
        command.env("PATH", format!("{}/tools:/usr/bin:/bin", place.display()));
        program::at_known_place(command).output().unwrap().into()
    };
    for (name, made) in [("plain", false), ("another-repository", true)] {
        let place = person.join(name);
        fs::create_dir_all(place.join("tools")).unwrap();
        if made {
            fs::create_dir(place.join(".git")).unwrap();
        }
        assert_eq!(with_path(&place).code == 0, made, "{name}");
    }
    let check = run(&root, &["policy", "check"]);
    assert_eq!(value(&check)["roots"], json!([listed]), "{check:?}");
}

/// AA-5, D-5: no directory with ledgers, keys or credentials can be a workspace, so their content is neither changed
/// nor shown.
#[test]
fn ledger_key_and_credential_directories_cannot_be_workspaces() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let keys = home_of(&root).join("keys");
    let before = fs::read(keys.join("keyring.json")).unwrap();
    let input = json!({ "files": [{ "path": "keyring.json", "content": "{}\n" }] }).to_string();
    let input_file = directory.path().join("keyring-change.json");
    fs::write(&input_file, input).unwrap();
    let input = input_file.to_str().unwrap();
    for is_own in [true, false] {
        for arguments in [
            &["init"][..],
            &["apply", "--overwrite", input],
            &["apply", "--overwrite", "--dry-run", "--diff", input],
            &["exec", "--", "true"],
        ] {
            let mut command = command(&keys, arguments);
            let home = if is_own { home_of(&root) } else { directory.path().join("another") };
            command.env("ACTUM_HOME", home);
            let ended: Ended = command.output().unwrap().into();
            assert!(![0, 6].contains(&ended.code), "{arguments:?}: {ended:?}");
            assert!(!ended.stdout.contains("public"), "{ended:?}");
            assert!(!keys.join(".actum").exists(), "{arguments:?}");
        }
    }
    assert_eq!(fs::read(keys.join("keyring.json")).unwrap(), before);
    let person = directory.path().join("person");
    fs::create_dir_all(person.join(".ssh")).unwrap();
    fs::write(person.join(".ssh/id"), "private\n").unwrap();
    let input = json!({ "files": [{ "path": "id", "content": "" }] }).to_string();
    fs::write(directory.path().join("id.json"), input).unwrap();
    let look = ["apply", "--overwrite", "--dry-run", "--diff", "../../id.json"];
    let mut command = command(&person.join(".ssh"), &look);
    let ended: Ended = command.env("HOME", &person).output().unwrap().into();
    assert_eq!((ended.code, &*ended.stdout), (2, ""), "{ended:?}");
    assert!(!person.join(".ssh/.actum").exists());
}

/// Writes the input for an `apply` that changes one file.
fn change_of(directory: &Path, name: &str, path: &str, content: &str) -> String {
    let file = directory.join(name);
    let change = json!({ "files": [{ "path": path, "content": content }] });
    fs::write(&file, change.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// AA-5, D-5: a root above ledgers, keys or credentials gives no access to them, no matter which home is in use.
#[test]
fn changes_cannot_reach_ledgers_keys_or_credentials_below_the_root() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let around = directory.path().join("around");
    let person = around.join("person");
    fs::create_dir_all(person.join(".ssh")).unwrap();
    fs::write(person.join(".ssh/id"), "private line\n").unwrap();
    fs::create_dir_all(person.join(".config/actum")).unwrap();
    fs::write(person.join(".config/actum/actum.toml"), "version = 1\n# private line\n").unwrap();
    let vault = around.join("deep/vault");
    fs::create_dir_all(vault.parent().unwrap()).unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-a", home_of(&root).to_str().unwrap(), vault.to_str().unwrap()])
        .status();
    assert!(copied.unwrap().success());
    let other = directory.path().join("other-home");
    let run = |arguments: &[&str]| -> Ended {
        let mut command = command(&around, arguments);
        command.env("ACTUM_HOME", &other).env("HOME", &person);
        command.env("XDG_CONFIG_HOME", person.join(".config"));
        command.output().unwrap().into()
    };
    assert_eq!(run(&["init"]).code, 0);
    let keyring = fs::read(vault.join("keys/keyring.json")).unwrap();
    for path in [
        "deep/vault/keys/keyring.json",
        "deep/vault/waiting",
        "deep/vault/tenants/default/x",
        "deep/vault/new/sub/file",
        "person/.ssh/id",
        "person/.ssh/new",
        "person/.config/actum/actum.toml",
        "person/.config/actum/access/x.cedar",
    ] {
        let input = change_of(directory.path(), "within.json", path, "mine\n");
        for arguments in [
            &["--json", "apply", "--overwrite", &input][..],
            &["--json", "apply", "--overwrite", "--dry-run", "--diff", &input],
        ] {
            let ended = run(arguments);
            assert_eq!(
                (ended.code, reason(&ended)),
                (1, json!("PATH_REFUSED")),
                "{path}: {ended:?}"
            );
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!shown.contains("private line") && !shown.contains("\"public\""), "{shown}");
        }
    }
    // A copy would expose the content at another path, and a hunk that does not match would quote it in the error
    // message.
    let copy = json!({ "operations": [{ "op": "copy", "from": "person/.ssh/id", "to": "shown" }] });
    let diff = "--- a/person/.ssh/id\n+++ b/person/.ssh/id\n@@ -1 +1 @@\n-guess\n+mine\n";
    for (name, content) in [("copy.json", copy.to_string()), ("guess.diff", diff.to_owned())] {
        let input = directory.path().join(name);
        fs::write(&input, content).unwrap();
        let ended = run(&["apply", "--dry-run", "--diff", input.to_str().unwrap()]);
        assert_ne!(ended.code, 0, "{ended:?}");
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("private line"), "{ended:?}");
    }
    assert_eq!(fs::read(vault.join("keys/keyring.json")).unwrap(), keyring);
    let script = "echo mine > deep/vault/keys/new; echo mine > plain";
    let exec = run(&["--json", "exec", "--", "sh", "-c", script]);
    assert_eq!(value(&exec)["error"]["reason"], "PATH_REFUSED", "{exec:?}");
    assert!(!vault.join("keys/new").exists() && !around.join("plain").exists());
    let input = change_of(directory.path(), "plain.json", "deep/plain", "mine\n");
    assert_eq!(run(&["apply", &input]).code, 0);
}

/// D-5, FO-9: a workspace is not locked by key-home files that a change or another user creates inside or above it.
#[test]
fn lookalike_key_home_does_not_lock_a_recorded_workspace() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let keyring = "{\"format\":\"actum.keyring/1\",\"keys\":[]}\n";
    // File names that a project may also use do not mark a home, so this is an ordinary change.
    for (name, path) in [("1.json", "keys/a"), ("2.json", "lock"), ("3.json", "keys/keyring.json")]
    {
        let input = change_of(directory.path(), name, path, "{}\n");
        assert_eq!(actum(&root, &["apply", &input]).code, 0, "{path}");
    }
    // Changes that create a keyring at its usual path are denied.
    for path in ["keys/keyring.json", "sub/keys/keyring.json"] {
        let input = change_of(directory.path(), "4.json", path, keyring);
        let denied = actum(&root, &["--json", "apply", "--overwrite", &input]);
        assert_eq!((denied.code, reason(&denied)), (1, json!("CHANGE_DENIED")), "{denied:?}");
    }
    // Another program of the user creates a keyring inside the workspace and above it.
    [&root, directory.path()].into_iter().for_each(mark);
    let input = change_of(directory.path(), "5.json", "sub/new", "text\n");
    for arguments in [&["apply", &input][..], &["undo"], &["recover"], &["gc"]] {
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    }
    // Creating a new workspace there fails, and the error names the keyring file.
    let new = directory.path().join("new");
    fs::create_dir(&new).unwrap();
    let rejected = actum(&new, &["init"]);
    assert_eq!(rejected.code, 1, "{rejected:?}");
    assert!(rejected.stderr.contains("/keys/keyring.json` shows"), "{rejected:?}");
}

/// AA-5: a directory that only has the name of a state directory is not accepted as a workspace that was checked at
/// creation.
#[test]
fn state_directory_name_alone_does_not_make_a_workspace() {
    let (directory, root) = workspace();
    let person = directory.path().canonicalize().unwrap().join("person");
    let place = person.join(".gh");
    fs::create_dir_all(place.join(".actum/recorded")).unwrap();
    fs::write(place.join("hosts.yml"), "oauth_token: private line\n").unwrap();
    let input = change_of(directory.path(), "hosts.json", "hosts.yml", "");
    for arguments in [
        &["--json", "apply", "--overwrite", &input][..],
        &["--json", "apply", "--overwrite", "--dry-run", "--diff", &input],
    ] {
        let mut command = command(&place, arguments);
        command.env("ACTUM_HOME", home_of(&root));
        command.env("XDG_CONFIG_HOME", program::operator_of(&root));
        let ended: Ended = program::at_known_place(command).output().unwrap().into();
        assert_eq!((ended.code, reason(&ended)), (1, json!("ROOT_NOT_ALLOWED")), "{ended:?}");
        assert!(!ended.stdout.contains("private line"), "{ended:?}");
    }
}

/// AEC-8: runs of another installation raise an alert even if a checkpoint or many later runs moved them to the
/// history.
#[test]
fn runs_of_another_installation_in_the_history_raise_an_alert() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let (recorded, hidden) = (root.join(".actum/recorded"), directory.path().join("hidden"));
    fs::rename(&recorded, &hidden).unwrap();
    let other = directory.path().join("other-home");
    let input = change_of(directory.path(), "other.json", "other", "text\n");
    assert_eq!(with_home(&root, &other, &["apply", &input]).code, 0);
    // `gc` moves the run from the journal to the history.
    assert_eq!(with_home(&root, &other, &["gc"]).code, 0);
    fs::remove_dir_all(&recorded).unwrap();
    fs::rename(&hidden, &recorded).unwrap();
    // Every examined run may be unknown.
    assert_eq!(actum(&root, &["status", "--runs", "1"]).code, 4);
    let input = change_of(directory.path(), "own.json", "own", "text\n");
    assert_eq!(actum(&root, &["apply", &input]).code, 0);
    assert_eq!(alerts(&root), ["RUN_UNRECORDED"]);
}

/// AEC-8: creating a key home bypasses the gates and closes its directory to commands, so an agent must not be able to
/// create one anywhere.
#[test]
fn key_home_is_created_only_in_a_dedicated_directory() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let person = tempfile::tempdir().unwrap();
    fs::create_dir_all(person.path().join(".ssh")).unwrap();
    fs::create_dir_all(person.path().join("full/sub")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let project = elsewhere.path().join("project");
    fs::create_dir(&project).unwrap();
    let refused = |home: &Path, why: &str| {
        let mut command = command(&project, &["--json", "init"]);
        command.env("ACTUM_HOME", home).env("HOME", person.path());
        let ended: Ended = command.output().unwrap().into();
        assert_eq!(reason(&ended), json!("LEDGER_HOME_UNUSABLE"), "{home:?}: {ended:?}");
        let message = value(&ended)["message"].to_string();
        assert!(message.contains(why), "{home:?}: {message}");
        assert!(!home.join("keys").exists() && !home.join("lock").exists(), "{home:?}");
    };
    refused(&root.join("new"), "a workspace or a repository");
    refused(&root.join(".git/new"), "a workspace or a repository");
    refused(&person.path().join("full"), "it contains other files");
    let bare = tempfile::tempdir().unwrap();
    for home in [bare.path(), &bare.path().join("person")] {
        let mut command = command(&project, &["--json", "init"]);
        command.env("ACTUM_HOME", bare.path()).env("HOME", home);
        let ended: Ended = command.output().unwrap().into();
        assert_eq!(reason(&ended), json!("LEDGER_HOME_UNUSABLE"), "{ended:?}");
        let message = value(&ended)["message"].to_string();
        assert!(message.contains("is or contains your home directory"), "{message}");
    }
    refused(&person.path().join(".ssh"), "a well-known location for credentials");
    refused(&person.path().join("x/.github/workflows"), "protected");
    refused(Path::new("/etc/new"), "a system directory");
    // Each of these names already has a meaning in the operator's directories.
    let (home, configuration) = (home_of(&root), operator_of(&root).join("actum"));
    for own in [
        home.join("tenants/default/ledger.db-journal"),
        home.join("keys/keyring.json.new"),
        home.join("waiting.new"),
        configuration.join("access/x.cedar"),
        configuration.clone(),
        configuration.parent().unwrap().to_owned(),
    ] {
        let mut command = command(&project, &["--json", "init"]);
        command.env("ACTUM_HOME", &own).env("XDG_CONFIG_HOME", operator_of(&root));
        let ended: Ended = command.output().unwrap().into();
        assert_eq!(reason(&ended), json!("LEDGER_HOME_UNUSABLE"), "{own:?}: {ended:?}");
        let message = value(&ended)["message"].to_string();
        let why = "is for ledgers and keys or the operator's policy";
        assert!(message.contains(why), "{own:?}: {message}");
        assert!(!own.join("keys").exists() && !own.join("lock").exists(), "{own:?}");
    }
    // An empty directory is treated as missing, and a home remains valid whatever is created around it.
    let home = directory.path().join("homes/one");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, PermissionsExt::from_mode(0o700)).unwrap();
    let init = |name: &str| {
        let project = elsewhere.path().join(name);
        fs::create_dir_all(&project).unwrap();
        let mut command = command(&project, &["init"]);
        Ended::from(command.env("ACTUM_HOME", &home).output().unwrap())
    };
    assert_eq!(init("project").code, 0);
    fs::create_dir(directory.path().join("homes/.git")).unwrap();
    let again = init("again");
    assert_eq!(again.code, 0, "{again:?}");
}

/// AEC-8, issue 22: the lock of a partially created home excuses no other file, and an arbitrary file named `lock` is
/// not such a lock.
#[test]
fn file_named_lock_does_not_mark_a_directory_as_a_key_home() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let elsewhere = tempfile::tempdir().unwrap();
    let project = elsewhere.path().join("project");
    fs::create_dir(&project).unwrap();
    let init = |home: &Path| with_home(&project, home, &["--json", "init"]);
    let closed = |name: &str| {
        let place = directory.path().join(name);
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, PermissionsExt::from_mode(0o700)).unwrap();
        place
    };
    let write = |path: &Path, content: &str, mode: u32| {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    // Result files can have any name.
    let disk = closed("disk");
    fs::write(disk.join("letter"), "text").unwrap();
    let lock = disk.join("lock");
    assert_eq!(actum(&root, &["key", "export", "-o", lock.to_str().unwrap()]).code, 0);
    assert_eq!(reason(&init(&disk)), json!("LEDGER_HOME_UNUSABLE"));
    // A partially created home contains only its lock, which has a fixed format.
    write(&lock, "\n", 0o600);
    assert_eq!(reason(&init(&disk)), json!("LEDGER_HOME_UNUSABLE"));
    for (name, content, mode) in [("long", "text", 0o600), ("open", "", 0o644)] {
        let place = closed(name);
        write(&place.join("lock"), content, mode);
        assert_eq!(reason(&init(&place)), json!("LEDGER_HOME_UNUSABLE"), "{name}");
        assert!(!place.join("keys").exists(), "{name}");
    }
    let begun = closed("begun");
    write(&begun.join("lock"), "", 0o600);
    fs::create_dir(begun.join("keys.new")).unwrap();
    fs::set_permissions(begun.join("keys.new"), PermissionsExt::from_mode(0o700)).unwrap();
    let ended = init(&begun);
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// Creates the files that mark a directory as a home of ledgers and keys.
fn mark(place: &Path) {
    fs::create_dir_all(place.join("keys")).unwrap();
    let keyring = "{\"format\":\"actum.keyring/1\",\"keys\":[]}\n";
    fs::write(place.join("keys/keyring.json"), keyring).unwrap();
    fs::set_permissions(place.join("keys"), PermissionsExt::from_mode(0o700)).unwrap();
}

/// AA-10, issue 22: commands still run in and below a directory that only resembles a key home, but cannot read its
/// keys.
#[test]
fn lookalike_key_home_does_not_prevent_commands_from_running() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    fs::create_dir_all(root.join("src/nest/.git")).unwrap();
    fs::write(root.join("src/code"), "text\n").unwrap();
    for place in [&root, &root.join("src"), directory.path()] {
        mark(place);
    }
    let script = "cat src/code && ! test -e src/keys/keyring.json && ! test -e keys/keyring.json";
    let both = format!("{script} && echo b > b");
    let exec = actum(&root, &["exec", "--", "sh", "-c", &both]);
    assert_eq!(exec.code, 0, "{exec:?}");
    assert!(exec.stderr.contains("src/keys` is hidden from commands"), "{exec:?}");
    assert_eq!(text(&root, "b"), "b\n");
    for options in [&["sandbox", "run", "--"][..], &["sandbox", "run", "--capture", "--"]] {
        let ran = actum(&root, &[options, &["sh", "-c", script]].concat());
        assert_eq!(ran.code, 0, "{options:?}: {ran:?}");
    }
    // A workspace inside the lookalike home is neither inside a key home nor around the recorded one.
    let nested = command(&root.join("src/nest"), &["init"]).output().unwrap();
    assert_eq!(Ended::from(nested).code, 1);
    fs::remove_dir_all(directory.path().join("keys")).unwrap();
    fs::create_dir(root.join("src/keys/nest")).unwrap();
    fs::create_dir(root.join("src/keys/nest/.git")).unwrap();
    for (place, code) in [("src/keys/nest", 1), ("src/nest", 0)] {
        let made = Ended::from(command(&root.join(place), &["init"]).output().unwrap());
        assert_eq!(made.code, code, "{place}: {made:?}");
    }
}

/// AA-10, issue 22: files that a command creates in a cache bypass the gates, but never prevent a later command from
/// running in the workspace.
#[test]
fn key_home_markers_in_a_cache_do_not_prevent_commands_from_running() {
    let (_directory, root) = workspace();
    let configuration = program::operator_of(&root).join("actum");
    fs::create_dir_all(&configuration).unwrap();
    let policy = "version = 1\n[sandbox]\ncaches = [\"target\", \"target/keys/deep\"]\n";
    fs::write(configuration.join("actum.toml"), policy).unwrap();
    assert_eq!(actum(&root, &APPLY).code, 0);
    mark(&root.join("target"));
    let exec = actum(&root, &["exec", "--", "sh", "-c", "echo x > target/out; echo b > b"]);
    assert_eq!(exec.code, 0, "{exec:?}");
    assert!(exec.stderr.contains("target/keys` is hidden from commands"), "{exec:?}");
    assert_eq!((text(&root, "b"), text(&root, "target/out")), ("b\n".into(), "x\n".into()));
    for options in [&["sandbox", "run"][..], &["sandbox", "run", "--capture", "--cache", "target"]]
    {
        let ran = actum(&root, &[options, &["--", "true"]].concat());
        assert_eq!(ran.code, 0, "{options:?}: {ran:?}");
    }
}

/// AEC-8, issue 22: `key make` creates an installation that immediately records the location of its operator's
/// configuration.
#[test]
fn first_key_pins_the_configuration_location() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("project");
    fs::create_dir(&root).unwrap();
    fs::create_dir(program::operator_of(&root)).unwrap();
    approval_key(&root);
    assert!(home_of(&root).join("configuration").exists());
    let mut command = command(&root, &["--json", "init"]);
    command.env("XDG_CONFIG_HOME", directory.path().join("scratch"));
    let elsewhere: Ended = command.output().unwrap().into();
    assert_eq!(reason(&elsewhere), json!("CONFIGURATION_ELSEWHERE"), "{elsewhere:?}");
    assert_eq!(actum(&root, &["init"]).code, 0);
}

/// D-5: output files cannot bypass the workspace's rules through a world-writable directory or a nested repository.
#[test]
fn output_files_obey_the_rules_of_the_workspace_and_nested_repositories() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    fs::write(root.join("actum.toml"), "version = 1\n[scope]\ndeny = ['src/']\n").unwrap();
    let open = root.join("src/open");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let inner = root.join("vendor/inner");
    for directory in [".git", "infra", ".claude/worktrees/x/.git"] {
        fs::create_dir_all(inner.join(directory)).unwrap();
    }
    let rules = "version = 1\n[scope]\ndeny = ['infra/', '.claude/']\n";
    fs::write(inner.join("actum.toml"), rules).unwrap();
    let export = |path: &str| actum(&root, &["key", "export", "-o", path]);
    for path in ["src/open/x", "vendor/inner/infra/x", "vendor/inner/.claude/worktrees/x/y"] {
        let ended = export(path);
        assert_eq!(ended.code, 1, "{path}: {ended:?}");
        assert!(ended.stderr.contains("do not allow it"), "{path}: {ended:?}");
        assert!(!root.join(path).exists(), "{path}");
    }
    assert_eq!(export("vendor/inner/x").code, 0);
}
