//! Creation and rotation of passphrase-protected keys on the command line.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, home_of, workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

const OPEN: &str = "open sesame";
const ANOTHER: &str = "another one";

/// Creates a workspace without records, and two passphrase files beside it.
fn fresh() -> (TempDir, PathBuf) {
    let (directory, root) = workspace();
    write(&directory.path().join("open"), &format!("{OPEN}\n"), 0o600);
    write(&directory.path().join("another"), ANOTHER, 0o600);
    (directory, root)
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn document(root: &Path, arguments: &[&str]) -> Value {
    parse_document(&actum(root, &[&["--json"], arguments].concat()))
}

fn parse_document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Runs the program with the given standard input.
fn fed(root: &Path, arguments: &[&str], input: &str) -> Ended {
    let mut command = command(root, arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not prompt does not read its input.
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap_or_default();
    child.wait_with_output().unwrap().into()
}

fn approval_keys(root: &Path) -> Vec<Value> {
    let listed = document(root, &["key", "list"]);
    let keys = listed["keys"].as_array().unwrap();
    keys.iter().filter(|key| key["role"] == "approval").cloned().collect()
}

/// FE-14, AA-5
#[test]
fn approval_key_is_protected_by_a_passphrase_and_listed_as_such() {
    let (_directory, root) = fresh();
    let made = document(&root, &["key", "make", "approval", "--passphrase-file", "../open"]);
    let expected =
        json!({ "format": "actum.key-made/1", "new": made["new"], "protection": "passphrase" });
    assert_eq!(made, expected);
    let mut key = made["new"].clone();
    key["current"] = json!(true);
    key["protection"] = json!("passphrase");
    key["problem"] = Value::Null;
    assert_eq!(approval_keys(&root), [key.clone()]);
    let text = actum(&root, &["key", "list"]).stdout;
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines[0].starts_with("signs   result"), "{text}");
    assert!(lines[0].ends_with(", protected by file permissions"), "{text}");
    assert!(lines[2].starts_with("signs   approval"), "{text}");
    assert!(lines[2].ends_with(", protected by a passphrase"), "{text}");
    let id = key["id"].as_str().unwrap();
    let path = home_of(&root).join(format!("keys/approval/{id}.pem"));
    assert!(fs::read_to_string(&path).unwrap().contains("BEGIN ENCRYPTED PRIVATE KEY"));
    // The key is listed in the keyring and exported in a format for other programs.
    assert!(actum(&root, &["key", "export"]).stdout.contains(id));
    assert_eq!(document(&root, &["key", "export", "--pem", "approval"])["id"], key["id"]);

    let again = document(&root, &["key", "make", "approval"]);
    assert_eq!(again["reason"], "KEY_EXISTS", "{again}");
    fs::remove_file(path).unwrap();
    let gone = &approval_keys(&root)[0];
    assert_eq!(gone["protection"], Value::Null);
    assert!(gone["problem"].is_string(), "{gone}");
}

/// FE-14: an approval key can be created before the first run, which then uses the existing keys.
#[test]
fn approval_key_can_be_created_before_any_run() {
    let (directory, root) = workspace();
    crate::program::without_ledger(&root);
    assert!(!home_of(&root).exists());
    let made = fed(&root, &["key", "make", "approval", "--passphrase-file", "-"], OPEN);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    assert!(
        made.stdout.contains(", valid from now on and protected by a passphrase\n"),
        "{made:?}"
    );
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(approval_keys(&root).len(), 1);
    drop(directory);
}

/// FE-14: a passphrase that other users may have read protects nothing.
#[test]
fn passphrase_file_accessible_to_others_is_refused_with_a_hint() {
    let (directory, root) = fresh();
    let make = ["key", "make", "approval", "--passphrase-file", "../open"];
    for mode in [0o640, 0o604, 0o644, 0o620, 0o601, 0o660, 0o777] {
        let open = directory.path().join("open");
        fs::set_permissions(&open, Permissions::from_mode(mode)).unwrap();
        let refused = document(&root, &make);
        assert_eq!(
            (&refused["reason"], &refused["message"], &refused["hints"]),
            (
                &json!("PASSPHRASE_UNUSABLE"),
                &json!(format!(
                    "cannot use the passphrase file `../open`: other users can access it, because its mode is {mode:04o} \
                     instead of 0600; nothing was changed"
                )),
                &json!([
                    "run `chmod 600 ../open`, but note that other users may have read the passphrase"
                ]),
            )
        );
    }
    assert_eq!(approval_keys(&root), [Value::Null; 0]);
    fs::set_permissions(directory.path().join("open"), Permissions::from_mode(0o400)).unwrap();
    assert_eq!(actum(&root, &make).code, 0);
}

/// FE-14
#[test]
fn passphrase_prompt_fails_without_a_terminal() {
    let (_directory, root) = fresh();
    for json in [false, true] {
        let mut arguments = vec!["key", "make", "approval"];
        arguments.extend(json.then_some("--json"));
        let refused = fed(&root, &arguments, "open sesame\nopen sesame\n");
        assert_eq!(refused.code, 1, "{refused:?}");
        let message =
            if json { parse_document(&refused)["message"].to_string() } else { refused.stderr };
        assert!(
            message.contains("there is no terminal to ask for it; nothing was changed"),
            "{message}"
        );
        assert!(
            json || message.contains("hint: run the command in a terminal, or pipe"),
            "{message}"
        );
    }
    assert_eq!(approval_keys(&root), [Value::Null; 0]);
}

/// FE-14
#[test]
fn invalid_passphrases_are_refused() {
    let (directory, root) = fresh();
    let given = directory.path().join("given");
    for (text, reason, message) in [
        ("1234567\n", "PASSPHRASE_UNUSABLE", "the passphrase has fewer than 8 characters"),
        ("\n", "PASSPHRASE_UNUSABLE", "`../given`: it is empty"),
        ("one line\nanother\n", "PASSPHRASE_UNUSABLE", "`../given`: it is not one line"),
        (&"x".repeat(4000), "PASSPHRASE_UNUSABLE", "`../given`: it has more than 1024 bytes"),
    ] {
        write(&given, text, 0o600);
        let arguments = ["key", "make", "approval", "--passphrase-file", "../given"];
        let refused = document(&root, &arguments);
        assert_eq!(refused["reason"], reason, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(message), "{refused}");
    }
    let missing = document(&root, &["key", "make", "approval", "--passphrase-file", "../missing"]);
    assert_eq!(missing["reason"], "INPUT_UNREADABLE", "{missing}");
    // The other keys sign without the operator, so the passphrase file is not even read.
    for role in ["result", "checkpoint"] {
        let refused = document(&root, &["key", "rotate", role, "--passphrase-file", "../missing"]);
        assert_eq!(refused["reason"], "PASSPHRASE_UNUSABLE", "{refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("it has to sign without user interaction"), "{message}");
    }
    let rotate = ["key", "rotate", "approval", "--passphrase-file", "../open"];
    let none = document(&root, &rotate);
    assert_eq!(none["reason"], "KEY_UNUSABLE", "{none}");
    assert!(none["message"].as_str().unwrap().contains("`actum key make approval`"), "{none}");
    assert_eq!(approval_keys(&root), [Value::Null; 0]);
}

/// FE-14: a key change is recorded only if the old key was unlocked. Continuing without it requires an explicit option.
#[test]
fn key_rotation_needs_the_old_passphrase_or_an_explicit_option() {
    let (_directory, root) = fresh();
    let make = ["key", "make", "approval", "--passphrase-file", "../open"];
    assert_eq!(actum(&root, &make).code, 0);
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let rotate = |options: &[&str]| {
        let rotate = ["--json", "key", "rotate", "approval"];
        let ended = fed(&root, &[&rotate[..], options].concat(), "");
        (ended.code, parse_document(&ended))
    };
    let new = ["--passphrase-file", "../another"];
    let (code, refused) = rotate(&new);
    assert_eq!((code, &refused["reason"]), (1, &json!("PASSPHRASE_NEEDED")), "{refused}");
    let hint = refused["hints"][0].as_str().unwrap();
    assert!(hint.contains("`--old-passphrase-lost`"), "{hint}");
    let (code, refused) = rotate(&[&new[..], &["--old-passphrase-file", "../another"]].concat());
    assert_eq!((code, &refused["reason"]), (1, &json!("PASSPHRASE_WRONG")), "{refused}");
    let (code, refused) = rotate(&["--passphrase-file", "-", "--old-passphrase-file", "-"]);
    assert_eq!((code, &refused["reason"]), (2, &json!("USAGE")), "{refused}");
    assert_eq!(approval_keys(&root).len(), 1);

    let (code, rotated) = rotate(&[&new[..], &["--old-passphrase-file", "../open"]].concat());
    assert_eq!((code, &rotated["recorded"]), (0, &json!(["default"])), "{rotated}");
    let lost = ["--passphrase-file", "../open", "--old-passphrase-lost"];
    let (code, rotated) = rotate(&lost);
    assert_eq!((code, &rotated["recorded"]), (4, &json!([])), "{rotated}");
    assert_eq!(rotated["unrecorded"][0]["reason"], "ROTATION_NOT_RECORDED");
    assert_eq!(rotated["new"]["unproven"], true, "{rotated}");
    // A pending key cannot be replaced by another one that would also be pending.
    let (code, refused) = rotate(&lost);
    assert_eq!((code, &refused["reason"]), (1, &json!("KEY_WAITS")), "{refused}");
    let kept: Vec<_> = approval_keys(&root).iter().map(|key| key["protection"].clone()).collect();
    assert_eq!(kept, ["passphrase", "passphrase", "passphrase"]);
    assert_eq!(document(&root, &["ledger", "verify", "--receipts"])["sound"], true);
}

/// Script that simulates a user at a terminal. It waits for each prompt and for the echo to be turned off before it
/// types. At the end it prints the complete terminal output, the exit code, and whether echo was restored.
const PERSON: &str = r"
import os, pty, signal, sys, termios, time
# Who runs in the background is not interrupted, and hands that on.
signal.signal(signal.SIGINT, signal.SIG_DFL)
answers = [answer.encode() for answer in os.environ.pop('ANSWERS').split('|')]
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b''
def echoes():
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
for answer in answers:
    asked = len(shown)
    while b': ' not in shown[asked:]:
        shown += os.read(terminal, 1000)
    while echoes():
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            sys.exit(f'it ended before the answer: {shown.decode()}')
        time.sleep(0.001)
    if answer == b'SIGTERM':
        os.kill(process, signal.SIGTERM)
    else:
        os.write(terminal, answer)
while True:
    try:
        more = os.read(terminal, 1000)
    except OSError:
        break
    if not more:
        break
    shown += more
status = os.waitpid(process, 0)[1]
sys.stdout.write(shown.decode())
print('ended', os.waitstatus_to_exitcode(status), 'shown' if echoes() else 'hidden')
";

/// Returns the terminal output for a user who types the given answers.
fn at_a_terminal(root: &Path, arguments: &[&str], answers: &[&str]) -> String {
    let mut person = Command::new("python3");
    person.args(["-c", PERSON, env!("CARGO_BIN_EXE_actum")]).args(arguments);
    person
        .env("ACTUM_HOME", home_of(root))
        .env("XDG_CONFIG_HOME", crate::program::operator_of(root));
    person.env("ANSWERS", answers.join("|")).env("NO_COLOR", "1");
    let output = person.current_dir(root).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

/// FE-14: the new passphrase is requested twice, and the input is not echoed.
#[test]
fn new_passphrase_is_prompted_twice_without_echo() {
    let (_directory, root) = fresh();
    let make = ["key", "make", "approval"];
    let seen = at_a_terminal(&root, &make, &["open sesame\n", "open sesamE\n"]);
    assert_eq!(
        seen,
        "New passphrase: \nRepeat the passphrase: \nerror: the two passphrases do not match; nothing was \
         changed\nhint: type the same passphrase twice\nhelp: `actum explain PASSPHRASE_UNUSABLE`\nended 1 shown\n"
    );
    // Ctrl-C ends the program as usual.
    let seen = at_a_terminal(&root, &make, &["open\x03"]);
    assert_eq!(seen, "New passphrase: \nended -2 shown\n");
    // SIGTERM also ends the program, and terminal echo is restored.
    let seen = at_a_terminal(&root, &make, &["SIGTERM"]);
    assert_eq!(seen, "New passphrase: ended -15 shown\n");
    assert_eq!(approval_keys(&root), [Value::Null; 0]);
    let seen = at_a_terminal(&root, &make, &["open sesame\n", "open sesame\n"]);
    assert!(!seen.contains("sesame") && seen.ends_with("ended 0 shown\n"), "{seen}");

    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let rotate = ["key", "rotate", "approval"];
    let answers = ["open sesame\n", "another one\n", "another one\n"];
    let seen = at_a_terminal(&root, &rotate, &answers);
    assert!(seen.starts_with("Passphrase of the old key: \nNew passphrase: \n"), "{seen}");
    assert!(seen.contains("recorded in the ledger of the tenant `default`"), "{seen}");
    assert!(!seen.contains("sesame") && seen.ends_with("ended 0 shown\n"), "{seen}");
    // Echo is also turned off on a terminal that is given as standard input.
    let rotate = ["key", "rotate", "approval", "--passphrase-file", "../open"];
    let rotate = [&rotate[..], &["--old-passphrase-file", "-"]].concat();
    let seen = at_a_terminal(&root, &rotate, &["another one\n"]);
    assert!(!seen.contains("another one") && seen.ends_with("ended 0 shown\n"), "{seen}");
}
