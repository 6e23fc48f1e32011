//! Result files written with `--output`: where they are allowed, and which files they never replace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, home_of, operator_of, workspace};
use actum_testkit::known_home;

/// Commands that accept `--output`.
const VERBS: [&[&str]; 6] = [
    &["receipt"],
    &["receipt", "--no-proof"],
    &["key", "export"],
    &["key", "export", "--pem", "result"],
    &["ledger", "checkpoint"],
    &["ledger", "export"],
];

fn output(root: &Path, verb: &[&str], path: &str, options: &[&str]) -> Ended {
    actum(root, &[verb, &["--output", path], options].concat())
}

/// Creates a workspace with one run.
fn with_a_run() -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, root) = workspace();
    let ended = actum(&root, &["apply", "../change.diff"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    (directory, root)
}

fn assert_refused(ended: &Ended, what: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{what}: {ended:?}");
    assert!(ended.stderr.contains("OUTPUT_REFUSED"), "{what}: {ended:?}");
}

/// AA-5, D-5
#[test]
fn result_file_replaces_only_an_earlier_result_and_only_with_force() {
    let (_directory, root) = with_a_run();
    for verb in VERBS {
        for text in ["mine\n", "", "{\"format\":\"other/1\"}\n", "-----BEGIN PRIVATE KEY-----\n"] {
            fs::write(root.join("kept.txt"), text).unwrap();
            assert_refused(&output(&root, verb, "kept.txt", &[]), "an existing file");
            let forced = output(&root, verb, "kept.txt", &["--force"]);
            assert_refused(&forced, "a file of the user");
            assert!(
                forced.stderr.contains("the existing file was not written by actum"),
                "{forced:?}"
            );
            assert_eq!(fs::read_to_string(root.join("kept.txt")).unwrap(), text);
        }
        let new = output(&root, verb, "new.txt", &[]);
        assert_eq!(new.code, 0, "{verb:?}: {new:?}");
        assert_refused(&output(&root, verb, "new.txt", &[]), "a result without --force");
        for other in VERBS {
            let before = fs::read(root.join("new.txt")).unwrap();
            let forced = output(&root, other, "new.txt", &["--force"]);
            // Receipts with and without a proof belong to the same run, so one may replace the other.
            if other == verb || (other[0] == "receipt" && verb[0] == "receipt") {
                assert_eq!(forced.code, 0, "{verb:?}, {other:?}: {forced:?}");
            } else {
                assert_refused(&forced, "another kind of result");
                assert_eq!(fs::read(root.join("new.txt")).unwrap(), before, "{verb:?}, {other:?}");
            }
        }
        fs::remove_file(root.join("new.txt")).unwrap();
    }
    let names: Vec<_> = fs::read_dir(&root).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{names:?}");
}

/// AEC-8, issue 22: an operator's copy of a ledger is not replaced, because comparing the two reveals a substituted ledger.
#[test]
fn result_file_does_not_replace_that_of_another_installation_or_run() {
    let (directory, root) = with_a_run();
    let evidence = directory.path().join("evidence");
    fs::create_dir(&evidence).unwrap();
    let other = directory.path().join("other");
    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(directory.path().join("new.json"), r#"{"files":[{"path":"f","content":"x"}]}"#)
        .unwrap();
    let with_home = |arguments: &[&str]| -> Ended {
        command(&foreign, arguments).env("ACTUM_HOME", &other).output().unwrap().into()
    };
    let made = with_home(&["apply", "../new.json"]);
    assert_eq!(made.code, 0, "{made:?}");
    for verb in VERBS {
        let file = evidence.join("kept");
        let path = file.to_str().unwrap();
        assert_eq!(output(&root, verb, path, &[]).code, 0, "{verb:?}");
        let before = fs::read(&file).unwrap();
        let replaced = with_home(&[verb, &["-o", path, "--force"]].concat());
        assert_refused(&replaced, "another installation");
        assert!(replaced.stderr.contains("delete it first"), "{replaced:?}");
        assert_eq!(fs::read(&file).unwrap(), before, "{verb:?}");
        assert_eq!(output(&root, verb, path, &["--force"]).code, 0, "{verb:?}");
        fs::remove_file(&file).unwrap();
    }
    // A receipt of a later run is a different result, but a later checkpoint continues an earlier one.
    let kept = ["receipt", "ledger checkpoint", "ledger export", "key export"];
    let write = |verb: &str, options: &[&str]| {
        let path = evidence.join(verb.replace(' ', "-"));
        output(&root, &verb.split(' ').collect::<Vec<_>>(), path.to_str().unwrap(), options)
    };
    for verb in kept {
        assert_eq!(write(verb, &[]).code, 0, "{verb}");
    }
    assert_eq!(actum(&root, &["apply", "../new.json"]).code, 0);
    assert_eq!(actum(&root, &["key", "rotate", "result"]).code, 0);
    assert_refused(&write("receipt", &["--force"]), "another run");
    for verb in &kept[1..] {
        let ended = write(verb, &["--force"]);
        assert_eq!(ended.code, 0, "{verb}: {ended:?}");
    }
    let names = fs::read_dir(&evidence).unwrap().count();
    assert_eq!(names, kept.len());
}

/// D-5, issue 22: a change that creates a keyring there is denied, so a result file is denied as well.
#[test]
fn result_file_is_not_written_under_a_keyring_or_hook_name() {
    let (directory, root) = with_a_run();
    fs::create_dir(root.join("keys")).unwrap();
    fs::create_dir(directory.path().join("keys")).unwrap();
    for path in ["keys/keyring.json", "../keys/keyring.json", "keys/Keyring.json"] {
        let ended = output(&root, &["key", "export"], path, &[]);
        assert_refused(&ended, path);
        assert!(ended.stderr.contains("is an actum keyring"), "{ended:?}");
    }
    assert_eq!(output(&root, &["key", "export"], "keys/kept.json", &[]).code, 0);
    assert_refused(&output(&root, &["receipt"], "pre-commit", &[]), "a hook");
}

/// AA-5, D-5
#[test]
fn result_file_is_not_written_to_a_protected_path_even_with_force() {
    let (directory, root) = with_a_run();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::create_dir_all(root.join("sub/.git/hooks")).unwrap();
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    fs::write(root.join(".env"), "A=1\n").unwrap();
    let operator = operator_of(&root);
    fs::create_dir_all(&operator).unwrap();
    let absolute = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    // Use a different path to the same directory.
    let home = home_of(&root);
    let paths = [
        ".git/hooks/post-commit".to_owned(),
        "sub/.git/hooks/post-commit".to_owned(),
        "sub/.GIT/config".to_owned(),
        ".git".to_owned(),
        ".actum/journal".to_owned(),
        ".actum/x".to_owned(),
        ".env".to_owned(),
        "sub/../.env.local".to_owned(),
        "actum.toml".to_owned(),
        ".github/workflows/ci.yml".to_owned(),
        absolute(home.join("x")),
        absolute(home.join("tenants/default/x")),
        absolute(operator.join("actum/actum.toml")),
        absolute(operator.join("actum/access/x.cedar")),
        "/etc/actum/actum.toml".to_owned(),
    ];
    let before = snapshot(directory.path());
    for path in &paths {
        for options in [&[][..], &["--force"]] {
            for verb in VERBS {
                assert_refused(&output(&root, verb, path, options), path);
            }
        }
    }
    assert_refused(&actum(&root, &["plan", "new", ".git/hooks/post-commit"]), "plan new");
    let inside = root.join(".git");
    let made = actum(&inside, &["-C", inside.to_str().unwrap(), "plugin", "new", "greet"]);
    assert_refused(&made, "plugin new");
    assert_refused(&actum(&root, &["man", "--directory", ".git/hooks", "--force"]), "man");
    assert_eq!(snapshot(directory.path()), before);
}

/// AA-5, D-5: changing the environment does not make a keyring, key, ledger or policy an ordinary file.
#[test]
fn result_file_is_not_written_into_another_installation() {
    let (directory, root) = with_a_run();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    fs::write(operator.join("actum.toml"), "version = 1\n").unwrap();
    let (_other, own) = with_a_run();
    let home = home_of(&root);
    let before = snapshot(directory.path());
    for path in [
        home.join("keys/keyring.json"),
        home.join("keys/new"),
        home.join("configuration"),
        home.join("tenants/default/new"),
        operator.join("actum.toml"),
        operator.join("new.txt"),
    ] {
        for options in [&[][..], &["--force"]] {
            for verb in VERBS {
                let ended = output(&own, verb, path.to_str().unwrap(), options);
                assert_refused(&ended, &path.display().to_string());
            }
        }
    }
    assert_eq!(snapshot(directory.path()), before);
}

/// D-5, FO-3
#[test]
fn a_result_file_in_a_workspace_obeys_the_policy_in_force() {
    let (_directory, root) = with_a_run();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    let policy = "version = 1\n[protected]\npaths = ['infra/']\n[scope]\ndeny = ['src/']\n";
    fs::write(operator.join("actum.toml"), policy).unwrap();
    for directory in ["infra", "src", "free"] {
        fs::create_dir(root.join(directory)).unwrap();
    }
    for verb in VERBS {
        for path in ["infra/x", "src/x"] {
            let ended = output(&root, verb, path, &[]);
            assert_refused(&ended, path);
            assert!(ended.stderr.contains("do not allow it"), "{ended:?}");
        }
        assert_eq!(output(&root, verb, "free/x", &[]).code, 0);
        fs::remove_file(root.join("free/x")).unwrap();
    }
    assert!(!root.join("infra/x").exists() && !root.join("src/x").exists());
}

/// AEC-8, AA-5 (H2, N6): choosing a different environment does not give a bound workspace a different policy.
#[test]
fn result_file_in_a_bound_workspace_needs_its_ledger_and_configuration() {
    let (directory, root) = with_a_run();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    fs::write(operator.join("actum.toml"), "version = 1\n[scope]\ndeny = ['src/']\n").unwrap();
    fs::create_dir(root.join("src")).unwrap();
    fs::create_dir_all(root.join("sub/inner")).unwrap();
    let (_other, own) = with_a_run();
    let second = directory.path().join("second");
    fs::create_dir(&second).unwrap();
    for arguments in [&["init", "--tenant", "other"][..], &["apply", "../task.json"]] {
        fs::write(
            second.with_file_name("task.json"),
            "{\"files\":[{\"path\":\"n\",\"content\":\"1\"}]}",
        )
        .unwrap();
        let mut command = command(&second, arguments);
        let ended: Ended = command.env("ACTUM_TENANT", "other").output().unwrap().into();
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let before = snapshot(&root);
    for path in ["src/x", "x", "sub/inner/x"] {
        let path = root.join(path);
        for verb in VERBS {
            let arguments = [verb, &["--output", path.to_str().unwrap()]].concat();
            let elsewhere: Ended = command(&own, &arguments).output().unwrap().into();
            let tenant = command(&second, &arguments).env("ACTUM_TENANT", "other").output();
            let configuration = directory.path().join("other-config");
            let configuration =
                command(&root, &arguments).env("XDG_CONFIG_HOME", configuration).output();
            for (ended, reason) in [
                (elsewhere, "BOUND_ELSEWHERE"),
                (tenant.unwrap().into(), "BOUND_ELSEWHERE"),
                (configuration.unwrap().into(), "CONFIGURATION_ELSEWHERE"),
            ] {
                assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{verb:?}: {ended:?}");
                assert!(ended.stderr.contains(reason), "{verb:?}: {ended:?}");
            }
        }
    }
    assert_eq!(snapshot(&root), before);
}

/// D-5 (H2): an unrecorded workspace does not count as one, and the rules of every enclosing workspace still apply.
#[test]
fn result_file_obeys_the_policy_of_every_enclosing_workspace() {
    let (_directory, root) = with_a_run();
    fs::write(root.join("actum.toml"), "version = 1\n[scope]\ndeny = ['src/']\n").unwrap();
    fs::create_dir_all(root.join("src/inner/.actum")).unwrap();
    for verb in VERBS {
        assert_refused(&output(&root, verb, "src/inner/x", &[]), "a directory named .actum");
    }
    assert!(!root.join("src/inner/x").exists());
}

/// AA-10, AA-5 (H2, N7)
#[test]
fn result_file_is_not_written_where_programs_act_or_keep_credentials() {
    let (directory, root) = with_a_run();
    let home = directory.path().join("person");
    let programs = directory.path().join("programs");
    let made = [
        ".ssh",
        ".aws/sub",
        ".config/systemd/user",
        ".local/bin",
        ".local/share/man/man1",
        ".unknown",
        "bin",
        "documents",
    ];
    for place in made {
        fs::create_dir_all(home.join(place)).unwrap();
    }
    fs::create_dir(&programs).unwrap();
    let closed = [
        ".ssh/x",
        ".aws/sub/x",
        ".netrc",
        ".config/systemd/user/x",
        ".local/bin/x",
        ".local/share/x",
        ".unknown/x",
        ".unknown_file",
        "bin/x",
    ];
    let mut closed: Vec<_> = closed.iter().map(|path| home.join(path)).collect();
    closed.push(programs.join("x"));
    // These directories do not exist, so even a wrong decision writes nothing.
    let system = ["/etc/actum-missing/x", "/run/actum-missing/x", "/usr/local/bin/actum-missing/x"];
    closed.extend(system.iter().map(Into::into));
    let free = ["receipt.json", "documents/x", ".local/share/man/man1/x"];
    let free: Vec<_> = free.iter().map(|path| home.join(path)).collect();
    let ended = |verb: &[&str], path: &Path, is_known: bool| -> Ended {
        let mut command = command(&root, &[verb, &["--output", path.to_str().unwrap()]].concat());
        command.env("PATH", &programs);
        match is_known {
            true => command = known_home::command(&command, known_home::User::Own, &home),
            false => drop(command.env("HOME", &home)),
        }
        command.output().unwrap().into()
    };
    for is_known in [false, true] {
        for path in &closed {
            for verb in VERBS {
                assert_refused(&ended(verb, path, is_known), &path.display().to_string());
                assert!(!path.exists(), "{}", path.display());
            }
        }
        for path in &free {
            let ended = ended(VERBS[0], path, is_known);
            assert_eq!(ended.code, 0, "{}: {ended:?}", path.display());
            fs::remove_file(path).unwrap();
        }
    }
}

/// AA-10 (H2, N7): a hidden directory is allowed if the operator has recorded a workspace there.
#[test]
fn result_file_is_allowed_in_a_recorded_workspace_in_a_hidden_directory() {
    let (directory, root) = with_a_run();
    let within = directory.path().join(".hidden/workspace");
    fs::create_dir_all(&within).unwrap();
    assert_eq!(actum(&within, &["init"]).code, 0);
    fs::create_dir_all(directory.path().join(".hidden/named/.actum")).unwrap();
    let ended = |path: &str| -> Ended {
        let path = directory.path().join(path);
        let arguments = ["key", "export", "--output", path.to_str().unwrap()];
        command(&root, &arguments).env("HOME", directory.path()).output().unwrap().into()
    };
    let written = ended(".hidden/workspace/x");
    assert_eq!(written.code, 0, "{written:?}");
    assert_refused(&ended(".hidden/x"), "beside the workspace");
    assert_refused(&ended(".hidden/named/x"), "a directory named .actum");
}

/// AA-10 (H2, N7): a bind mount does not give access to a protected directory.
#[test]
fn result_file_cannot_reach_a_closed_directory_through_a_mount() {
    let (directory, root) = with_a_run();
    let home = directory.path().join("person");
    let mount = directory.path().join("mount");
    fs::create_dir_all(home.join(".unknown")).unwrap();
    fs::create_dir(&mount).unwrap();
    let ended = |path: &str| -> Ended {
        let path = mount.join(path);
        let program = command(&root, &["key", "export", "--output", path.to_str().unwrap()]);
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
        let mut within = Command::new("unshare");
        within.arg("--mount").args((!is_root).then_some("--map-root-user"));
        within.args(["sh", "-c", "mount --bind \"$0\" \"$1\" && shift && exec \"$@\""]);
        within.arg(&home).arg(&mount).arg(program.get_program()).args(program.get_args());
        within.envs(program.get_envs().filter_map(|(key, value)| Some((key, value?))));
        within.env("HOME", &home).current_dir(&root).output().unwrap().into()
    };
    assert_refused(&ended(".unknown/x"), "a hidden directory");
    let free = ended("x");
    assert_eq!(free.code, 0, "{free:?}");
    assert!(home.join("x").exists() && !home.join(".unknown/x").exists());
}

/// AA-5 (H2, A7): a file with the user's own text after a result is not replaced.
#[test]
fn file_that_only_begins_like_a_result_is_not_replaced() {
    let (_directory, root) = with_a_run();
    let replaced = |text: &[u8], what: &str| {
        fs::write(root.join("kept"), text).unwrap();
        assert_refused(&output(&root, VERBS[0], "kept", &["--force"]), what);
        assert_eq!(fs::read(root.join("kept")).unwrap(), text, "{what}");
    };
    for verb in VERBS.iter().chain(&[&["key", "export", "--vkey"][..]]) {
        assert_eq!(output(&root, verb, "result", &[]).code, 0);
        let result = fs::read(root.join("result")).unwrap();
        fs::remove_file(root.join("result")).unwrap();
        let what = verb.join(" ");
        for behind in [&b"mine\n"[..], b"\nmine\n", b"{\"mine\":1}\n", &result] {
            replaced(&[&result, behind].concat(), &what);
        }
        replaced(&[b"mine\n", &result[..]].concat(), &what);
        replaced(&result[..result.len() - 9], &what);
        if result.starts_with(b"{") {
            replaced(&[b"{\"mine\":1,", &result[1..]].concat(), &what);
        }
        fs::write(root.join("kept"), &result).unwrap();
        assert_eq!(output(&root, verb, "kept", &["--force"]).code, 0, "{what}");
    }
    assert_eq!(output(&root, &["ledger", "export"], "result", &[]).code, 0);
    let export = fs::read(root.join("result")).unwrap();
    let first = export.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    replaced(&export[..first], "the first line of an export");
    replaced(&[&export[..first], b"mine\n"].concat(), "another line");
    replaced(&[&export[..first], &export].concat(), "two first lines");
    fs::create_dir(root.join("pages")).unwrap();
    assert_eq!(actum(&root, &["man", "--directory", "pages"]).code, 0);
    let page = fs::read(root.join("pages/actum.1")).unwrap();
    replaced(&[&page, &b"mine\n"[..]].concat(), "a manual page");
    replaced(&page[..page.len() - 9], "a cut manual page");
    assert_eq!(actum(&root, &["man", "--directory", "pages", "--force"]).code, 0);
}

/// D-5, FO-3 (H2)
#[test]
fn the_policy_judges_a_replaced_result_as_a_modified_file() {
    let (_directory, root) = with_a_run();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    for verb in VERBS {
        let text = "version = 1\n";
        fs::write(operator.join("actum.toml"), text).unwrap();
        assert_eq!(output(&root, verb, "free.txt", &[]).code, 0);
        let asks = |effect: &str| {
            let risk = format!(
                "[[tier]]\ntier = 'R3'\npaths = ['*.txt']\neffects = ['{effect}']\nwhy = 'test'\n"
            );
            fs::write(operator.join("actum.toml"), format!("{text}{risk}")).unwrap();
        };
        asks("modified");
        assert_refused(&output(&root, verb, "free.txt", &["--force"]), "a modified file");
        assert_eq!(output(&root, verb, "new.txt", &["--force"]).code, 0);
        asks("created");
        assert_eq!(output(&root, verb, "free.txt", &["--force"]).code, 0);
        assert_refused(&output(&root, verb, "other.txt", &["--force"]), "a created file");
        for name in ["free.txt", "new.txt"] {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
}

/// AA-5
#[test]
fn a_result_file_follows_no_symbolic_link() {
    let (directory, root) = with_a_run();
    let target = directory.path().join("target.txt");
    fs::write(&target, "mine\n").unwrap();
    fs::create_dir(directory.path().join("elsewhere")).unwrap();
    symlink(&target, root.join("link")).unwrap();
    symlink("../missing", root.join("dangling")).unwrap();
    symlink("../elsewhere", root.join("way")).unwrap();
    let before = snapshot(directory.path());
    for path in ["link", "dangling", "way/x", "way/../way/y"] {
        for options in [&[][..], &["--force"]] {
            for verb in VERBS {
                assert_refused(&output(&root, verb, path, options), path);
            }
        }
    }
    assert_eq!(snapshot(directory.path()), before);
    // A hard link keeps its content under its other name, because only the name is replaced.
    assert_eq!(output(&root, VERBS[2], "first", &[]).code, 0);
    let first = fs::read(root.join("first")).unwrap();
    fs::hard_link(root.join("first"), root.join("hard")).unwrap();
    assert_eq!(output(&root, VERBS[2], "hard", &["--force"]).code, 0);
    assert_eq!(fs::read(root.join("first")).unwrap(), first);
}

/// EX-24, AA-5
#[test]
fn status_lines_are_not_written_to_named_files() {
    let (_directory, root) = workspace();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".git/hooks/post-commit"), "#!/bin/sh\n").unwrap();
    fs::write(root.join("plain"), "mine\n").unwrap();
    symlink("plain", root.join("link")).unwrap();
    for target in [
        ".git/hooks/post-commit",
        "plain",
        "link",
        "new",
        "sub",
        "/dev/null",
        "fd:9",
        "/dev/fd/7",
        "fd:0",
    ] {
        let mut command = command(&root, &["run", "../task.json", "--status", target]);
        let ended: Ended = command.stdin(Stdio::null()).output().unwrap().into();
        assert_refused(&ended, target);
        assert!(ended.stderr.contains("nothing was changed"), "{target}: {ended:?}");
    }
    assert_eq!(fs::read_to_string(root.join("plain")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(root.join(".git/hooks/post-commit")).unwrap(), "#!/bin/sh\n");
    assert!(!root.join("new").exists());
}

/// EX-24
#[test]
fn status_lines_are_written_to_a_fifo_with_a_reader() {
    let (_directory, root) = workspace();
    let made = Command::new("mkfifo").arg(root.join("../lines")).status().unwrap();
    assert!(made.success());
    let plan = root.join("../task_plan.json");
    assert_eq!(actum(&root, &["plan", "new", "../task_plan.json"]).code, 0);
    let approved = actum(&root, &["plan", "approve", "../task_plan.json"]);
    assert_eq!(approved.code, 0, "{approved:?}\n{}", fs::read_to_string(plan).unwrap());
    // The FIFO has no reader yet.
    assert_refused(
        &actum(&root, &["run", "../task_envelope.json", "--status", "../lines"]),
        "a FIFO without a reader",
    );
    let mut reader = Command::new("cat");
    let reader = reader.arg(root.join("../lines")).stdout(Stdio::piped()).spawn().unwrap();
    let mut ended = actum(&root, &["run", "../task_envelope.json", "--status", "../lines"]);
    while ended.stderr.contains("OUTPUT_REFUSED") {
        // Retry until the reader has opened the FIFO.
        ended = actum(&root, &["run", "../task_envelope.json", "--status", "../lines"]);
    }
    assert_eq!(ended.code, 0, "{ended:?}");
    let stdout = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "SUCCESS", "{stdout}");
}

/// Returns the paths and contents of all files below a directory.
fn snapshot(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            // Opening a ledger for reading may leave SQLite files behind.
            if path.file_name().is_some_and(|name| name.to_string_lossy().contains("ledger.db")) {
                continue;
            }
            match path.symlink_metadata().unwrap() {
                found if found.is_dir() => {
                    all.push((path.clone(), Vec::new()));
                    left.push(path);
                }
                found if found.is_symlink() => {
                    all.push((
                        path.clone(),
                        fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                    ));
                }
                _ => all.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    all.sort();
    all
}
