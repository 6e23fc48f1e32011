//! `actum sandbox run`, from the point of view of users and programs (AA-10).

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::program::{Ended, actum, home_of, operator_of, workspace};
use serde_json::{Value, json};

fn sandbox(root: &Path, options: &[&str], script: &str) -> Ended {
    actum(root, &[&["sandbox", "run"], options, &["--", "sh", "-c", script]].concat())
}

/// Writes an operator policy with this `[sandbox]` table.
fn operator_allows(root: &Path, sandbox: &str) {
    let directory = operator_of(root).join("actum");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("actum.toml"), format!("version = 1\n[sandbox]\n{sandbox}\n"))
        .unwrap();
}

/// Creates a directory next to the workspace to which the operator lets commands write.
fn writable(root: &Path) -> std::path::PathBuf {
    let out = root.with_file_name("out");
    fs::create_dir(&out).unwrap();
    operator_allows(root, &format!("write = [{out:?}]"));
    out
}

/// Asserts that the command was rejected before anything was started.
fn assert_not_allowed(ended: &Ended, what: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (125, ""), "{what}: {ended:?}");
    assert!(ended.stderr.contains("SANDBOX_NOT_ALLOWED"), "{what}: {ended:?}");
    assert!(ended.stderr.contains("nothing was started"), "{what}: {ended:?}");
}

fn report(root: &Path, options: &[&str], script: &str) -> Value {
    let ended = sandbox(root, &[&["--json"], options].concat(), script);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// AA-10, FE-12: a caller may lower the limits of a command, but only the operator can raise them.
#[test]
fn a_limit_above_the_default_needs_the_operators_list() {
    let (directory, root) = workspace();
    let file = directory.path().join("policy.toml");
    let policy = "read = ['.', '/usr', '/bin', '/lib', '/lib64']\nexec = ['/usr', '/bin']\n\
                  [limits]\nmemory = { max = 17179869184 }\n";
    fs::write(&file, policy).unwrap();
    let file = file.to_str().unwrap();
    let asked = [
        &["sandbox", "run", "--limit", "memory=16G"][..],
        &["sandbox", "run", "--policy", file],
        &["exec", "--limit", "memory=16G"],
        &["exec", "--limit", "wall=11m"],
        &["exec", "--limit", "processes=513"],
    ];
    let run = |options: &[&str]| actum(&root, &[options, &["--", "true"]].concat());
    for options in asked {
        assert_not_allowed(&run(options), &format!("{options:?}"));
    }
    assert_eq!(run(&["exec", "--limit", "memory=1G", "--limit", "processes=512"]).code, 0);
    operator_allows(&root, "limits = ['memory=16G', 'wall=20m', 'processes=600']");
    for options in asked {
        let ended = run(options);
        assert!(!ended.stderr.contains("SANDBOX_NOT_ALLOWED"), "{options:?}: {ended:?}");
    }
    assert_not_allowed(&run(&["exec", "--limit", "memory=17G"]), "more than is listed");
    operator_allows(&root, "limits = ['memory=lots']");
    assert_not_allowed(&run(&["exec"]), "an unusable list");
}

/// AA-10, AA-5: the documented location of the passphrase is hidden even below a readable directory.
#[test]
fn passphrase_next_to_the_operators_policy_is_hidden_from_commands() {
    let (directory, root) = workspace();
    let above = directory.path().canonicalize().unwrap();
    operator_allows(&root, &format!("read = [{above:?}]"));
    let passphrase = operator_of(&root).join("actum/passphrase");
    fs::write(&passphrase, "the passphrase\n").unwrap();
    let passphrase = passphrase.to_str().unwrap();
    for verb in [&["sandbox", "run", "--read", ".."][..], &["exec", "--drop"]] {
        let ended = actum(&root, &[verb, &["--", "cat", passphrase]].concat());
        assert!(ended.code != 0 && !ended.stdout.contains("the passphrase"), "{ended:?}");
        let beside = actum(&root, &[verb, &["--", "cat", "../change.diff"]].concat());
        assert!(beside.stdout.contains("+one"), "{beside:?}");
    }
    let parent = Path::new(passphrase).parent().unwrap();
    let ended = actum(parent, &["sandbox", "run", "--", "cat", "passphrase"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (125, ""), "{ended:?}");
}

/// AA-10
#[test]
fn command_can_read_the_directory_and_write_only_to_scratch() {
    let (_directory, root) = workspace();
    let script = "cat a.txt && echo x > $HOME/x && cat $TMPDIR/x && echo new > a.txt";
    let ended = sandbox(&root, &[], script);
    assert_ne!(ended.code, 0);
    assert!(ended.stdout.ends_with("x\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("a.txt: Read-only file system"), "{}", ended.stderr);
}

/// AA-10
#[test]
fn exit_code_is_that_of_the_command_or_a_reserved_one() {
    let (_directory, root) = workspace();
    assert_eq!(sandbox(&root, &[], "exit 7").code, 7);
    assert_eq!(sandbox(&root, &[], "kill -TERM $$").code, 143);
    assert_eq!(sandbox(&root, &["--limit", "wall=100ms"], "sleep 60").code, 124);
    assert_eq!(sandbox(&root, &["--write", "missing"], "true").code, 125);
    assert_eq!(sandbox(&root, &["--cache", "sub"], "true").code, 125);
    let plain = root.join("plain");
    fs::write(&plain, "text").unwrap();
    let run = |program: &str| actum(&root, &["sandbox", "run", "--", program]);
    assert_eq!(run("./plain").code, 126);
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = run("./plain");
    assert_eq!(ended.code, 126);
    assert!(ended.stderr.contains("it is neither a program for this machine"), "{}", ended.stderr);
    assert_eq!(run("no-such-program").code, 127);
    assert_eq!(run("./no-such-program").code, 127);
}

/// AA-10
#[test]
fn changes_in_a_captured_directory_are_reported_and_not_kept() {
    let (_directory, root) = workspace();
    let before = fs::read(root.join("a.txt")).unwrap();
    let script = "echo more >> a.txt; rm sub/b.txt; mkdir new; echo x > new/x; chmod 600 new/x";
    let document = report(&root, &["--capture"], script);
    assert_eq!(document["ended"], json!({ "code": 0 }), "{document}");
    let changes: Vec<(&str, &str)> = document["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["path"].as_str().unwrap(), change["kind"].as_str().unwrap()))
        .collect();
    let expected = [
        ("a.txt", "modified"),
        ("new", "directory_created"),
        ("new/x", "created"),
        ("sub/b.txt", "deleted"),
    ];
    assert_eq!(changes, expected);
    assert_eq!(fs::read(root.join("a.txt")).unwrap(), before);
    assert!(!root.join("new").exists() && root.join("sub/b.txt").exists());
}

/// AA-10
#[test]
fn a_cache_is_passed_through_a_captured_directory() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("target")).unwrap();
    operator_allows(&root, "caches = ['target']");
    let options = ["--capture", "--cache", "target"];
    let document = report(&root, &options, "echo x > target/x; echo y > y");
    assert_eq!(document["changes"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(fs::read(root.join("target/x")).unwrap(), b"x\n");
    assert!(!root.join("y").exists());
}

/// AA-10
#[test]
fn printed_policy_can_be_used() {
    let (directory, root) = workspace();
    let out = writable(&root);
    let out = out.to_str().unwrap();
    let ended = actum(&root, &["sandbox", "run", "--print-policy", "--write", out]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let file = directory.path().join("policy.toml");
    fs::write(&file, ended.stdout).unwrap();
    let file = file.to_str().unwrap();
    let ended = sandbox(&root, &["--policy", file], "echo x > ../out/x && echo y > y");
    assert!(Path::new(out).join("x").exists(), "{}", ended.stderr);
    assert!(!root.join("y").exists());
}

/// AA-10
#[test]
fn invalid_policy_file_is_rejected_with_the_location() {
    let (directory, root) = workspace();
    let file = directory.path().join("policy.toml");
    let refusal = |text: &str| {
        fs::write(&file, text).unwrap();
        let ended = sandbox(&root, &["--policy", file.to_str().unwrap()], "touch ran");
        assert_eq!(ended.code, 125);
        ended.stderr
    };
    assert!(refusal("write = 3").contains("line 1, column 9"));
    assert!(refusal("wriet = []").contains("unknown field `wriet`"));
    assert!(refusal("read = ['/']").contains("does not list it"));
    assert!(refusal("read = ['.']\n[limits]\nmemory = { max = 0 }").contains("limit on memory"));
    assert!(refusal("read = ['.']\n[limits]\nram = { max = 1 }").contains("unknown variant `ram`"));
    assert!(!root.join("ran").exists());
}

/// AA-10
#[test]
fn secrets_in_the_environment_do_not_reach_the_command() {
    let (_directory, root) = workspace();
    let run = |options: &[&str]| {
        let arguments =
            [&["sandbox", "run"], options, &["--", "sh", "-c", "env; cat /proc/1/environ"]];
        let mut command = crate::program::command(&root, &arguments.concat());
        Ended::from(command.env("ACTUM_TEST_SECRET", "hunter2").output().unwrap()).stdout
    };
    assert!(!run(&[]).contains("hunter2"));
    assert!(!run(&["--env", "ACTUM_TEST_SECRET"]).contains("hunter2"));
    operator_allows(&root, "env = ['ACTUM_TEST_SECRET', 'SET=by the operator']");
    assert!(!run(&[]).contains("hunter2"));
    assert!(run(&["--env", "ACTUM_TEST_SECRET"]).contains("hunter2"));
    assert!(run(&["--env", "SET"]).contains("SET=by the operator\n"));
    assert!(run(&["--env", "A=b c"]).contains("A=b c\n"));
}

/// AA-10: only the operator can allow writes that bypass the gates, and never inside a workspace.
#[test]
fn command_cannot_write_directly_to_a_workspace_or_unlisted_path() {
    let (directory, root) = workspace();
    let out = root.with_file_name("out");
    fs::create_dir_all(out.join("deep/er")).unwrap();
    let run = |path: &Path| {
        sandbox(
            &root,
            &["--write", path.to_str().unwrap()],
            "echo x > sub/ran; echo x > ../out/ran",
        )
    };
    assert_not_allowed(&run(&out), "a directory that nobody lists");
    assert_not_allowed(&run(Path::new(".")), "the workspace");
    // Even a listed path is rejected if it is inside a workspace, or contains a workspace or a protected file.
    operator_allows(&root, &format!("write = [{:?}]", directory.path()));
    assert_eq!(run(&out).code, 0);
    fs::remove_file(out.join("ran")).unwrap();
    fs::create_dir_all(home_of(&root)).unwrap();
    let beside = directory.path().join("beside");
    fs::create_dir_all(beside.join("repo/.git/hooks")).unwrap();
    for path in [
        root.clone(),
        root.join("sub"),
        directory.path().to_owned(),
        beside.clone(),
        beside.join("repo/.git/hooks"),
        home_of(&root),
        operator_of(&root),
        operator_of(&root).join("actum"),
    ] {
        assert_not_allowed(&run(&path), &path.display().to_string());
    }
    for protected in [".env", "deep/.github/workflows", "deep/er/actum.toml", "deep/er/.GIT"] {
        fs::create_dir_all(out.join(protected)).unwrap();
        assert_not_allowed(&run(&out), protected);
        fs::remove_dir_all(out.join(protected)).unwrap();
    }
    // A policy file passed by the caller is subject to the same rules.
    let file = directory.path().join("policy.toml");
    for policy in [
        "read = ['.']\nwrite = ['.']\nexec = ['/usr', '/bin', '/lib', '/lib64']".to_owned(),
        format!("read = ['/usr', '.', {:?}]\nexec = ['/usr']", home_of(&root)),
        "read = ['.', '/var']\nexec = ['/usr']".to_owned(),
        format!("read = ['.', {out:?}]\nexec = [{:?}]", beside),
        "read = ['/usr']\nexec = ['/usr']\ncwd = '.'\n[view]\nbase = '.'\ncaches = ['sub']\nmax = 65536".to_owned(),
        "read = ['/usr']\nexec = ['/usr']\ncwd = '/var'\n[view]\nbase = '/var'\nmax = 65536".to_owned(),
    ] {
        fs::write(&file, &policy).unwrap();
        let ended = sandbox(&root, &["--policy", file.to_str().unwrap()], "echo x > sub/ran");
        assert_not_allowed(&ended, &policy);
    }
    assert!(!root.join("sub/ran").exists() && !out.join("ran").exists());
}

/// AA-10, D-5: a protected path that a command creates is reported as a violation.
#[test]
fn protected_path_created_by_a_command_is_reported_as_a_violation() {
    let (_directory, root) = workspace();
    let out = writable(&root);
    for (script, made) in [
        ("mkdir -p ../out/a/.git/hooks", "out/a/.git"),
        ("echo X=1 > ../out/.env.local", "out/.env.local"),
        ("mkdir ../out/.actum", "out/.actum"),
        ("cd ../out; : > HEAD; : > config; mkdir objects refs", "out/HEAD"),
    ] {
        let ended = sandbox(&root, &["--write", "../out"], script);
        assert_eq!(ended.code, 124, "{script}: {ended:?}");
        assert!(ended.stderr.contains(made), "{script}: {ended:?}");
        // Further writes to this directory are rejected until the user has checked it.
        assert_not_allowed(&sandbox(&root, &["--write", "../out"], "true"), script);
        fs::remove_dir_all(&out).unwrap();
        fs::create_dir(&out).unwrap();
    }
}

/// AA-10: a low open-file limit set by the caller does not select a weaker tier, in which any file's mode can be changed.
#[test]
fn low_open_file_limit_does_not_lower_the_sandbox_tier() {
    let (directory, root) = workspace();
    let file = directory.path().join("private");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    for limit in 8..=24 {
        let script = format!(
            "ulimit -n {limit}; exec {} sandbox run -- chmod 777 {}",
            env!("CARGO_BIN_EXE_actum"),
            file.display()
        );
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script]).current_dir(&root).env_clear();
        shell.env("ACTUM_HOME", home_of(&root)).env("XDG_CACHE_HOME", "/nonexistent");
        let ended: Ended = shell.output().unwrap().into();
        assert_ne!(ended.code, 0, "{limit}: {ended:?}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600, "{limit}: {ended:?}");
    }
}

/// AA-10: a caller can select paths only from the operator's list.
#[test]
fn a_command_reads_and_executes_only_what_the_operator_lists() {
    let (directory, root) = workspace();
    let beside = directory.path().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("secret"), "hunter2\n").unwrap();
    // From here on, a home with a ledger and keys exists.
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let read = |verb: &[&str], option: &str, path: &Path| {
        let words =
            [verb, &[option, path.to_str().unwrap(), "--", "cat", "../beside/secret"]].concat();
        actum(&root, &words)
    };
    let verbs: [&[&str]; 2] = [&["sandbox", "run"], &["exec"]];
    for verb in verbs {
        for option in ["--read", "--exec"] {
            for path in [&beside, &beside.join("secret"), directory.path()] {
                assert_not_allowed(&read(verb, option, path), option);
            }
        }
    }
    operator_allows(&root, &format!("read = [{beside:?}]"));
    for verb in verbs {
        let ended = read(verb, "--read", &beside);
        assert_eq!(ended.stdout, "hunter2\n", "{ended:?}");
        assert_not_allowed(&read(verb, "--exec", &beside), "what may be read is not executed");
    }
    // A path below a listed path is readable.
    assert_eq!(read(verbs[0], "--read", &beside.join("secret")).stdout, "hunter2\n");
    // Ledgers, keys and policies stay hidden even if they are listed.
    for own in [home_of(&root), operator_of(&root).join("actum")] {
        operator_allows(&root, &format!("read = [{own:?}]"));
        for verb in verbs {
            assert_not_allowed(&read(verb, "--read", &own), "a directory of the operator");
        }
    }
    operator_allows(&root, &format!("read = [{:?}]", directory.path()));
    let all = directory.path().to_str().unwrap();
    for verb in verbs {
        let script = "find ../actum-home ../config | sort; cat ../actum-home/*/* ../config/*/*";
        let ended = actum(&root, &[verb, &["--read", all, "--", "sh", "-c", script]].concat());
        assert_eq!(ended.stdout, "../actum-home\n../config\n", "{ended:?}");
        assert_ne!(ended.code, 0, "{ended:?}");
    }
}

/// AA-10: ledgers and keys are recognised by content, even if the environment names a different home and configuration.
#[test]
fn ledgers_keys_and_policies_are_hidden_from_commands_by_content() {
    let (directory, root) = workspace();
    fs::create_dir_all(operator_of(&root).join("actum")).unwrap();
    fs::write(operator_of(&root).join("actum/actum.toml"), "version = 1\n").unwrap();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let home = home_of(&root);
    let other = tempfile::tempdir().unwrap();
    let configuration = other.path().join("config/actum");
    fs::create_dir_all(&configuration).unwrap();
    let listed = format!("version = 1\n[sandbox]\nread = [{home:?}]\nwrite = [{home:?}]\n");
    fs::write(configuration.join("actum.toml"), listed).unwrap();
    let run = |start: &Path, arguments: &[&str]| {
        let mut command = crate::program::command(start, arguments);
        command.env("ACTUM_HOME", other.path().join("home"));
        command.env("XDG_CONFIG_HOME", other.path().join("config"));
        Ended::from(command.output().unwrap())
    };
    let shell = ["--", "sh", "-c", "cat *.pem */*.pem */*/*.pem; find . -name ledger.db"];
    let starts = [
        home.clone(),
        home.join("keys"),
        home.join("keys/result"),
        home.join("tenants/default"),
        operator_of(&root).join("actum"),
    ];
    let verbs: [&[&str]; 3] = [&["sandbox", "run"], &["exec"], &["exec", "--drop"]];
    for start in &starts {
        for verb in verbs {
            assert_not_allowed(&run(start, &[verb, &shell].concat()), &start.display().to_string());
        }
        let start = start.to_str().unwrap();
        let named = [&["sandbox", "run", "--read", start], &shell[..]].concat();
        assert_not_allowed(&run(other.path(), &named), "--read");
    }
    let written = ["sandbox", "run", "--write", home.to_str().unwrap(), "--", "true"];
    assert_not_allowed(&run(other.path(), &written), "--write");
    // They are hidden even in the directory in which the command starts.
    let beside = run(directory.path(), &[&["sandbox", "run", "-q"], &shell[..]].concat());
    assert_eq!(beside.stdout, "", "{beside:?}");
}

/// AA-10
#[test]
fn no_command_starts_in_a_system_directory() {
    let (_directory, root) = workspace();
    for place in ["/etc", "/etc/ssl", "/run", "/proc/self", "/sys/kernel", "/dev", "/boot", "/var"]
    {
        if !Path::new(place).is_dir() {
            continue;
        }
        for verb in [&["sandbox", "run", "--loopback"][..], &["exec", "--drop"]] {
            let ended = actum(&root, &[&["-C", place], verb, &["--", "ls"]].concat());
            assert_eq!((ended.code, ended.stdout.as_str()), (125, ""), "{place}: {ended:?}");
            let place_is_named = ended.stderr.contains("and commands cannot be started there");
            let is_own = ended.stderr.contains("a sandbox needs");
            assert!(place_is_named || is_own, "{place}: {ended:?}");
        }
    }
}

/// AA-10: sockets in the starting directory are unreachable, because the services behind them act outside the sandbox.
#[test]
fn command_with_loopback_cannot_reach_sockets_in_the_workspace() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("run")).unwrap();
    let _services = ["bus", "run/bus"]
        .map(|name| std::os::unix::net::UnixListener::bind(root.join(name)).unwrap());
    let script = "import socket\nfor name in ('bus', 'run/bus'):\n s = socket.socket(socket.AF_UNIX)\n \
                  try:\n  s.connect(name); print('reached')\n except OSError as error: print(error.strerror)";
    let options: [&[&str]; 3] = [
        &["sandbox", "run", "-q", "--loopback"],
        &["sandbox", "run", "-q", "--loopback", "--capture"],
        &["exec", "--drop", "--loopback"],
    ];
    for verb in options {
        let ended = actum(&root, &[verb, &["--", "python3", "-c", script]].concat());
        assert_eq!(ended.code, 0, "{verb:?}: {ended:?}");
        assert!(!ended.stdout.contains("reached"), "{verb:?}: {ended:?}");
    }
}

/// AA-10: a policy file cannot contain a staged layer, which would appear at different paths than its own.
#[test]
fn policy_file_cannot_have_a_staged_layer() {
    let (directory, root) = workspace();
    fs::write(root.join("token.txt"), "hunter2 hunter2\n").unwrap();
    assert_eq!(actum(&root, &["exec", "--", "rm", "token.txt"]).code, 0);
    let file = directory.path().join("policy.toml");
    let view = |staged: &Path| {
        format!(
            "read = ['/usr', '/bin', '/lib', '/lib64']\nexec = ['/usr', '/bin', '/lib', '/lib64']\ncwd = '/usr/share'\n\
             [env]\nPATH = '/usr/bin:/bin'\n[view]\nbase = '/usr/share'\nstaged = {staged:?}\nmax = 65536\n"
        )
    };
    for staged in [root.join(".actum"), root.clone(), home_of(&root)] {
        fs::write(&file, view(&staged)).unwrap();
        let ended =
            sandbox(&root, &["--policy", file.to_str().unwrap()], "cat journal | tr -d '\\0'");
        assert_eq!((ended.code, ended.stdout.as_str()), (125, ""), "{ended:?}");
        assert!(ended.stderr.contains("`view.staged`"), "{ended:?}");
    }
}

/// AA-10: naming part of a hidden directory does not make it visible, unless the operator lists it.
#[test]
fn part_of_a_hidden_directory_is_visible_only_if_the_operator_lists_it() {
    let (directory, root) = workspace();
    fs::write(root.join("token.txt"), "hunter2 hunter2\n").unwrap();
    assert_eq!(actum(&root, &["exec", "--", "rm", "token.txt"]).code, 0);
    let user = directory.path().join("user");
    fs::create_dir_all(user.join(".ssh")).unwrap();
    for name in [".ssh/id", ".ssh/known_hosts", "notes"] {
        fs::write(user.join(name), format!("{name}\n")).unwrap();
    }
    let run = |options: &[&str], script: &str| {
        let words = [&["sandbox", "run"], options, &["--", "sh", "-c", script]].concat();
        Ended::from(crate::program::command(&root, &words).env("HOME", &user).output().unwrap())
    };
    let (all, id) = (user.to_str().unwrap(), user.join(".ssh/id"));
    let (id, known) = (id.to_str().unwrap(), user.join(".ssh/known_hosts"));
    let known = known.to_str().unwrap();
    operator_allows(&root, &format!("read = [{all:?}]"));
    for part in [id, known, user.join(".ssh").to_str().unwrap()] {
        assert_not_allowed(&run(&["--read", part], "true"), part);
    }
    let cat = "cat ../user/notes ../user/.ssh/known_hosts ../user/.ssh/id";
    assert_eq!(run(&["--read", all], cat).stdout, "notes\n");
    // A listed file is visible, but the files next to it are not.
    operator_allows(&root, &format!("read = [{all:?}, {known:?}]"));
    assert_eq!(run(&["--read", known], cat).stdout, ".ssh/known_hosts\n");
    assert_eq!(run(&["--read", all], cat).stdout, "notes\n.ssh/known_hosts\n");
    assert_not_allowed(&run(&["--read", id], cat), "a file beside the one that is listed");
    // Use the state directories of this workspace and of another one.
    let other = directory.path().join("other");
    fs::create_dir_all(other.join(".actum")).unwrap();
    fs::write(other.join(".actum/journal"), "hunter2\n").unwrap();
    operator_allows(&root, &format!("read = [{other:?}]"));
    assert_not_allowed(&run(&["--read", ".actum/journal"], "cat .actum/journal"), "the journal");
    let ended = run(&["--read", other.to_str().unwrap()], "cat ../other/.actum/journal");
    assert_eq!(ended.stdout, "", "{ended:?}");
}

/// AA-10: commands cannot read the journal, which keeps deleted files for undo.
#[test]
fn a_command_does_not_read_the_journal() {
    let (_directory, root) = workspace();
    fs::write(root.join("token.txt"), "hunter2 hunter2\n").unwrap();
    assert_eq!(actum(&root, &["exec", "--", "rm", "token.txt"]).code, 0);
    let found = |root: &Path| {
        std::process::Command::new("grep").args(["-rq", "hunter2", "."]).current_dir(root).status()
    };
    assert!(found(&root.join(".actum")).unwrap().success(), "the journal holds what undo needs");
    let verbs: [&[&str]; 3] = [&["sandbox", "run"], &["sandbox", "run", "--capture"], &["exec"]];
    for verb in verbs {
        let script = "ls -A .actum; grep -r hunter2 .; touch .actum/x; mv .actum away; true";
        let ended = actum(&root, &[verb, &["--", "sh", "-c", script]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{verb:?}: {ended:?}");
    }
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(fs::read_to_string(root.join("token.txt")).unwrap(), "hunter2 hunter2\n");
}

/// AA-10
#[test]
fn closed_stdout_is_not_reported_as_a_spawn_failure() {
    let (_directory, root) = workspace();
    let out = writable(&root);
    let mut command = crate::program::command(
        &root,
        &[
            "sandbox",
            "run",
            "--write",
            "../out",
            "--",
            "sh",
            "-c",
            "seq 100000; echo end > ../out/end",
        ],
    );
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait().unwrap();
    assert_ne!(ended.code(), Some(125));
    assert!(out.join("end").exists());
}

/// AA-10
#[test]
fn whole_repository_is_readable_from_a_subdirectory() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join(".git")).unwrap();
    let ended = sandbox(&root.join("sub"), &[], "cat ../a.txt > /dev/null && pwd");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.ends_with("/sub\n"), "{}", ended.stdout);
}

/// AA-10
#[test]
fn hint_for_a_command_that_cannot_start_matches_the_reason() {
    let (_directory, root) = workspace();
    let hint = |arguments: &[&str]| {
        let ended = actum(&root, &[&["sandbox", "run"], arguments].concat());
        assert!(ended.stderr.contains("nothing was started"), "{}", ended.stderr);
        ended.stderr
    };
    assert!(hint(&["--", "ls | wc -l"]).contains("sh -c"));
    assert!(hint(&["./a.txt"]).contains("chmod +x ./a.txt"));
    assert!(hint(&["--write", "out", "true"]).contains("create the path first"));
    assert!(hint(&["--limit", "cpu=1s:hard", "true"]).contains("use polled limits"));
    let ended = actum(Path::new("/"), &["sandbox", "run", "true"]);
    assert!(ended.stderr.contains("change to a directory below it"), "{}", ended.stderr);
}
