//! Reading input files, and rejecting those that would block the read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Ended, actum, command, text, workspace};
use crate::task::{COMMIT, plan, put, replace, report, repository};
use actum_edit::format::Format;
use serde_json::json;

/// Maximum time for a command that must not block on its input.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the program, and fails the test if it blocks.
fn without_waiting(root: &Path, arguments: &[&str]) -> Ended {
    let mut command = command(root, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?} waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap().into()
}

/// EX-1, FO-7
#[test]
fn no_verb_blocks_on_a_fifo_given_as_input() {
    let (_directory, root) = workspace();
    assert!(Command::new("mkfifo").arg(root.join("../fifo")).status().unwrap().success());
    assert_eq!(actum(&root, &["plan", "new", "../plan.json"]).code, 0);
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let fifo = "../fifo";
    let verbs: [&[&str]; 16] = [
        &["apply", fifo],
        &["queue", fifo],
        &["plan", "lint", fifo],
        &["plan", "lint", "../plan.json", "--config", fifo],
        &["plan", "preview", fifo],
        &["plan", "approve", fifo],
        &["plan", "approve", "../plan.json", "--config", fifo],
        &["run", fifo],
        &["run", "--plan", "../plan.json", "--approval", fifo],
        &["action", "run", fifo],
        &["verify", fifo],
        &["verify", "../plan.json", "--keyring", fifo],
        &["ledger", "verify", fifo],
        &["policy", "test", fifo],
        &["catalog", "lint", fifo],
        &["sandbox", "run", "--policy", fifo, "--", "true"],
    ];
    for arguments in verbs {
        let ended = without_waiting(&root, arguments);
        assert_ne!(ended.code, 0, "{arguments:?}: {ended:?}");
    }
    let lint = without_waiting(&root, &["plan", "lint", fifo]);
    assert!(lint.stderr.contains("it is not a regular file"), "{lint:?}");
    let key = ["key", "make", "approval", "--passphrase-file", fifo];
    let ended = without_waiting(&root, &key);
    assert_ne!(ended.code, 0, "{ended:?}");
}

/// Replaces a file with a FIFO.
fn put_fifo(at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    if at.exists() {
        fs::remove_file(at).unwrap();
    }
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
}

/// EX-17: a FIFO in `.git` prevents a task from committing, but no command blocks on it.
#[test]
fn no_task_blocks_on_a_fifo_in_the_git_directory() {
    for name in
        ["HEAD", "ORIG_HEAD", "config", "index", "index.lock", "packed-refs", "refs/heads/main"]
    {
        let expected = format!("`.git/{name}` is a FIFO or a device");
        // Place the FIFO before the run.
        let (_directory, root) = repository();
        put(&root, &plan(json!([replace("a1", "a.txt", "1")])), COMMIT);
        put_fifo(&root.join(".git").join(name));
        let config = ["../plan.json", "--config", "../config.yaml"];
        let preview = without_waiting(&root, &[&["plan", "preview"], &config[..]].concat());
        assert!(preview.stdout.contains(&expected), "{name}: {preview:?}");
        let ended = without_waiting(&root, &["run", "../task.json"]);
        assert_eq!(
            (ended.code, text(&root, "a.txt")),
            (0, "new\n".to_owned()),
            "{name}: {ended:?}"
        );
        let written = fs::read_to_string(report(&root).join("execution_report.json")).unwrap();
        assert!(written.contains("was not committed") && written.contains(&expected), "{written}");
        let back = without_waiting(&root, &["rollback", "task-7"]);
        assert_eq!((back.code, text(&root, "a.txt")), (0, "1\n".to_owned()), "{name}: {back:?}");
        // Place the FIFO between the run and its rollback.
        let (_directory, root) = repository();
        put(&root, &plan(json!([replace("a1", "a.txt", "1")])), COMMIT);
        let ended = actum(&root, &["run", "../task.json"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        put_fifo(&root.join(".git").join(name));
        let back = without_waiting(&root, &["rollback", "task-7"]);
        assert_eq!((back.code, text(&root, "a.txt")), (0, "1\n".to_owned()), "{name}: {back:?}");
    }
}

/// FO-7
#[test]
fn piped_stdin_is_accepted_as_input() {
    let (_directory, root) = workspace();
    for file in ["-", "/dev/stdin", "/dev/fd/0"] {
        let change = fs::read(root.join("../change.diff")).unwrap();
        let mut command = command(&root, &["apply", file]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &change).unwrap();
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, 0, "{file}: {ended:?}");
        assert_eq!(text(&root, "a.txt"), "one\n");
        assert_eq!(actum(&root, &["undo"]).code, 0);
    }
}

/// AA-10, EX-20: an agent cannot use this program to read files that it cannot read itself.
#[test]
fn messages_do_not_quote_credentials_or_files_that_may_hold_them() {
    let (directory, root) = workspace();
    let key = ["AKIA", "Q3EGRZV7M5PLXW2T"].concat();
    let files = [
        (".env", "DB_PASSWORD=hunter2\n".to_owned()),
        (".netrc", "machine h login me password hunter2\n".to_owned()),
        (".pgpass", "host:5432:db:me:hunter2\n".to_owned()),
        (".ssh/config", "hunter2\n".to_owned()),
        ("plain.txt", format!("aws {key}\n")),
    ];
    fs::create_dir(directory.path().join(".ssh")).unwrap();
    let mut quoting = Vec::new();
    for (name, content) in &files {
        fs::write(directory.path().join(name), content).unwrap();
        let file = format!("../{name}");
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            for json in [&[][..], &["--json"]] {
                let format = format.map_or(vec![], |format| vec!["--format", format.name()]);
                let ended = actum(&root, &[&["apply", &file], &*format, json].concat());
                let output = format!("{}{}", ended.stdout, ended.stderr);
                assert!(!output.contains("hunter2") && !output.contains(&key), "{name}: {output}");
                assert!(output.contains("nothing was changed"), "{name}: {output}");
            }
        }
        let verbs: [&[&str]; 12] = [
            &["sandbox", "run", "--policy", &file, "--", "true"],
            &["plan", "lint", &file],
            &["action", "run", &file],
            &["verify", &file],
            &["policy", "test", &file],
            &["run", &file],
            &["run", "--plan", &file],
            &["plan", "preview", &file],
            &["verify", "../change.diff", "--keyring", &file],
            &["ledger", "verify", &file],
            &["ledger", "verify", "--checkpoint", &file],
            &["catalog", "lint", &file],
        ];
        for verb in verbs {
            let ended = actum(&root, verb);
            let output = format!("{}{}", ended.stdout, ended.stderr);
            if output.contains("hunter2") || output.contains(&key) {
                quoting.push(output);
            }
        }
    }
    assert!(quoting.is_empty(), "{quoting:#?}");
    let ended = actum(&root, &["apply", "../.netrc", "--format", "files"]);
    assert!(ended.stderr.contains("line 1, column 1: "), "{ended:?}");
    assert!(
        ended.stderr.contains("its content is not shown because the file may contain"),
        "{ended:?}"
    );
    let ended = actum(&root, &["sandbox", "run", "--policy", "../plain.txt", "--", "true"]);
    assert!(ended.stderr.contains("because this line seems to contain a credential"), "{ended:?}");
}

/// AA-10, EX-20, issue 22 (claims): messages quote no content from files of the operator or the system.
#[test]
fn messages_do_not_quote_operator_or_system_files() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let configuration = crate::program::operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(configuration.parent().unwrap()).unwrap();
    fs::write(&configuration, "version = 1\n[scope]\ndeny = ['a-customer/']\n").unwrap();
    let keyring = crate::program::home_of(&root).join("keys/keyring.json");
    let keys: serde_json::Value = serde_json::from_slice(&fs::read(&keyring).unwrap()).unwrap();
    let key = keys["keys"][0]["id"].as_str().unwrap().to_owned();
    for (file, content) in [
        (configuration.to_str().unwrap(), "a-customer"),
        (keyring.to_str().unwrap(), &key),
        ("/etc/passwd", "root:x:0:0"),
    ] {
        let verbs: [&[&str]; 9] = [
            &["apply", file],
            &["apply", "--format", "git-diff", file],
            &["apply", "--format", "edits", file],
            &["sandbox", "run", "--policy", file, "--", "true"],
            &["plan", "lint", file],
            &["action", "run", file],
            &["verify", file],
            &["ledger", "verify", file],
            &["catalog", "lint", file],
        ];
        for verb in verbs {
            for json in [&[][..], &["--json"]] {
                let ended = actum(&root, &[json, verb].concat());
                let output = format!("{}{}", ended.stdout, ended.stderr);
                assert!(!output.contains(content), "{verb:?}: {output}");
                assert_ne!(ended.code, 0, "{verb:?}: {output}");
            }
        }
    }
}

/// AA-10, EX-20: a file of an unexpected kind may contain anything, so messages quote none of its members.
#[test]
fn messages_do_not_quote_members_of_files_of_another_kind() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    fs::create_dir(directory.path().join(".aws")).unwrap();
    let [json, toml] = [".aws/config.json", ".aws/config.toml"].map(|it| directory.path().join(it));
    let plain = directory.path().join("plain.json");
    for content in [
        "{\"format\":\"hunter2-marker\"}\n",
        "{\"format\":\"actum.keyring/1\",\"hunter2-marker\":1}\n",
        "{\"hunter2-marker\":\"x\"}\n",
        "{\"keys\":\"hunter2-marker\"}\n",
    ] {
        fs::write(&json, content).unwrap();
        fs::write(&plain, content.replace("actum.keyring/1", "mine")).unwrap();
        fs::write(&toml, "hunter2-marker = 1\ncase = 2\n").unwrap();
        let (json, plain) = (json.to_str().unwrap(), plain.to_str().unwrap());
        let verbs: [&[&str]; 6] = [
            &["verify", json],
            &["verify", plain],
            &["ledger", "verify", "--keyring", json],
            &["ledger", "verify", "--keyring", plain],
            &["policy", "test", toml.to_str().unwrap()],
            &["policy", "test", plain],
        ];
        for verb in verbs {
            let ended = actum(&root, verb);
            assert_eq!(ended.code, 1, "{verb:?}: {ended:?}");
            assert!(!ended.stderr.contains("hunter2"), "{verb:?}: {}", ended.stderr);
            assert!(ended.stderr.contains("its content is not shown because"), "{ended:?}");
        }
    }
}

/// AA-2, issue 22 (claims): an input may be at most 100 MiB.
#[test]
fn input_larger_than_100_mib_is_rejected() {
    let (directory, root) = workspace();
    let file = fs::File::create(directory.path().join("large.json")).unwrap();
    file.set_len((100 << 20) + 1).unwrap();
    let ended = actum(&root, &["apply", "../large.json", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["reason"], "INPUT_TOO_LARGE", "{ended:?}");
}
