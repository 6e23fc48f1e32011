//! Commands suggested in messages that contain untrusted names. They must be safe because a user may copy them into a
//! shell.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, workspace};
use serde_json::json;

/// File names that, without quotes, would run `touch PWN`, split into several words, act as options or move the cursor.
const HOSTILE: [&[u8]; 12] = [
    b"a b  c",
    b"it's \"one\"",
    b"'$(touch PWN)'",
    b"a$(touch PWN);y",
    b"a`touch PWN`b",
    b"a\\ntouch PWN\\",
    b"a\ntouch PWN\n",
    b"a\x1b[31m\x07\r'$(touch PWN)'",
    b"-rf",
    b"--help=$(touch PWN)",
    b"a<\\033>\xff&touch PWN",
    "é\u{202e}\u{200b}|touch PWN".as_bytes(),
];

/// Returns the commands between backticks that begin with the given words.
fn suggested(text: &str, beginning: &str) -> Vec<String> {
    let commands = text.split('`').skip(1).step_by(2);
    let is_match = |it: &&str| it.starts_with(beginning) && !it.contains(" DIR ");
    commands.filter(is_match).map(str::to_owned).collect()
}

/// Returns the words that a shell parses from a command line, without running the command.
fn words(line: &str) -> Vec<OsString> {
    let directory = tempfile::tempdir().unwrap();
    let read = |shell: &str| {
        let script = format!("printf '%s\\0' {line}");
        let mut command = Command::new(shell);
        command.current_dir(directory.path()).args(["-c", &script]);
        let ended = command.output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{line}: {ended:?}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{line} has an effect");
        let words = ended.stdout.strip_suffix(b"\0").unwrap().split(|byte| *byte == 0);
        words.map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>()
    };
    let checked = Command::new("sh").args(["-n", "-c", line]).status().unwrap();
    assert!(checked.success(), "{line}");
    let (by_bash, by_sh) = (read("bash"), read("sh"));
    assert_eq!(by_bash.len(), by_sh.len(), "{line}");
    // Not every `sh` supports `$'…'`.
    if !line.contains("$'") {
        assert_eq!(by_bash, by_sh, "{line}");
    }
    by_bash
}

/// Asserts that the last word, apart from `…`, is exactly this path and that the path adds no other word.
fn assert_names(ended: &Ended, beginning: &str, path: &Path) -> Vec<OsString> {
    let output = format!("{}{}", ended.stdout, ended.stderr);
    let found = suggested(&output, beginning);
    assert!(!found.is_empty(), "`{beginning}` is not suggested for {path:?}: {output}");
    let mut last = Vec::new();
    for line in found {
        let mut read = words(&line);
        read.retain(|word| word != "…" && word != "--");
        let expected = beginning.split(' ').count() + 1;
        assert_eq!(read.len(), expected, "{line}: {read:?}");
        let plain = |path: &OsStr| {
            let bytes = path.as_bytes();
            bytes.strip_prefix(b"./").unwrap_or(bytes).to_vec()
        };
        assert_eq!(plain(read.last().unwrap()), plain(path.as_os_str()), "{line}");
        last = words(&line);
    }
    last
}

fn names() -> impl Iterator<Item = &'static OsStr> {
    HOSTILE.into_iter().map(OsStr::from_bytes)
}

fn run(directory: &Path, arguments: &[&str], last: &OsStr) -> Ended {
    command(directory, arguments).arg(last).output().unwrap().into()
}

fn with_mode(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// D-4
#[test]
fn suggested_resolve_command_is_quoted_for_the_shell() {
    for name in names() {
        let (_directory, root) = workspace();
        assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
        let hex: String = name.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(root.join(name), "one\n").unwrap();
        fs::write(root.join(".actum/blocked"), format!("0123456789ab {hex} x\n")).unwrap();
        let status = actum(&root, &["status"]);
        let line = assert_names(&status, "actum resolve", Path::new(name));
        if let Some(name) = name.to_str() {
            let edit = json!({"path": name, "content": "two\n"}).to_string();
            fs::write(root.with_file_name("edit.json"), edit).unwrap();
            let refused = actum(&root, &["apply", "--overwrite", "../edit.json"]);
            assert_names(&refused, "actum resolve", Path::new(name));
        }
        let resolved = command(&root, &[]).args(&line[1..]).output().unwrap();
        assert!(resolved.status.success(), "{resolved:?}");
    }
}

/// D-4
#[test]
fn suggested_command_for_another_root_names_that_directory() {
    for name in names() {
        let (directory, root) = workspace();
        let inner = root.join(name);
        fs::create_dir_all(inner.join(".git")).unwrap();
        fs::write(inner.join("actum.toml"), "version = 1\n").unwrap();
        if let Some(name) = name.to_str() {
            let change = json!({"path": format!("{name}/x"), "content": "x"}).to_string();
            fs::write(root.with_file_name("within.json"), change).unwrap();
            assert_names(&actum(&root, &["apply", "../within.json"]), "actum -C", Path::new(name));
        }
        let above = directory.path().join(name);
        let below = above.join("open/below");
        fs::create_dir_all(&below).unwrap();
        fs::set_permissions(above.join("open"), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(run(&root, &["init", "--"], above.as_os_str()).code, 0);
        let status = command(&root, &["status"]).current_dir(&below).output();
        assert_names(&status.unwrap().into(), "actum -C", &above);
    }
}

/// D-4
#[test]
fn suggested_chmod_changes_only_the_intended_file() {
    for name in names() {
        let (directory, root) = workspace();
        let place = directory.path().join("configurations").join(name);
        fs::create_dir_all(place.join("actum")).unwrap();
        with_mode(&place.join("actum/actum.toml"), "version = 1\n", 0o666);
        let mut check = command(&root, &["policy", "check"]);
        let home = directory.path().join("another-home");
        let checked = check.env("XDG_CONFIG_HOME", &place).env("ACTUM_HOME", home).output();
        assert_names(&checked.unwrap().into(), "chmod go-w", &place.join("actum/actum.toml"));

        with_mode(&root.join(name), "correct horse battery staple\n", 0o644);
        let mut option = OsString::from("--passphrase-file=");
        option.push(name);
        assert_names(
            &run(&root, &["key", "make", "approval"], &option),
            "chmod 600",
            Path::new(name),
        );

        let program = Path::new(".").join(name);
        assert_names(
            &run(
                directory.path(),
                &["-C", "workspace", "sandbox", "run", "--"],
                program.as_os_str(),
            ),
            "chmod +x",
            &program,
        );

        let home = directory.path().join("homes").join(name);
        fs::create_dir_all(&home).unwrap();
        fs::set_permissions(&home, Permissions::from_mode(0o755)).unwrap();
        let refused = command(&root, &["log"]).env("ACTUM_HOME", &home).output().unwrap();
        assert_names(&refused.into(), "chmod 700", &home);
    }
}

/// D-4
#[test]
fn suggested_plan_command_names_the_written_file() {
    for name in names() {
        let (directory, root) = workspace();
        // Gates would deny some of these names inside a workspace.
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let made = run(&elsewhere, &["plan", "new", "--"], name);
        assert_names(&made, "actum plan preview", Path::new(name));
        let plans = Path::new("..").join(name);
        fs::create_dir_all(root.join(&plans)).unwrap();
        let plan = plans.join("plan.json");
        assert_eq!(run(&root, &["plan", "new", "--"], plan.as_os_str()).code, 0);
        let approved = run(&root, &["plan", "approve", "--"], plan.as_os_str());
        assert_names(&approved, "actum run", &plans.join("task_envelope.json"));
    }
}

/// D-4
#[test]
fn kept_demo_directory_is_printed_as_one_shell_word() {
    let (directory, root) = workspace();
    let name = OsStr::from_bytes(b"a'$(touch PWN)\n b");
    let place = directory.path().join(name);
    fs::create_dir(&place).unwrap();
    let mut demo = command(&root, &["demo", "--keep"]);
    let ended = demo.env("TMPDIR", &place).stdin(Stdio::null()).output().unwrap();
    let output = String::from_utf8(ended.stdout).unwrap();
    let line = output.lines().find(|line| line.contains("  ACTUM_HOME=")).unwrap().trim();
    let read = words(line);
    assert_eq!(read.len(), 5, "{line}");
    assert!(Path::new(&read[3]).starts_with(&place), "{line}");
    let home = read[0].as_bytes().strip_prefix(b"ACTUM_HOME=").unwrap();
    assert!(Path::new(OsStr::from_bytes(home)).starts_with(&place), "{line}");
}
