//! Starts the program in a directory with an empty environment and the usual umask. Each JSON document in its output is
//! checked against its published schema.

pub(crate) mod documents;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use actum_testkit::known_home;

/// Outcome of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let stdout = String::from_utf8(output.stdout).expect("standard output is UTF-8");
        for line in stdout.lines().filter(|line| line.starts_with("{\"format\":")) {
            documents::check_document(line);
        }
        Self {
            code: output.status.code().expect("the program exits and is not killed"),
            stdout,
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

/// Returns the operator's configuration directory, beside the ledger home. It does not exist in most tests, so the real
/// user's policy never applies.
pub(crate) fn operator_of(directory: &Path) -> PathBuf {
    home_of(directory).with_file_name("config")
}

/// Returns a command that would start the program in `directory`.
pub(crate) fn command(directory: &Path, arguments: &[&str]) -> Command {
    command_under("022", directory, arguments)
}

/// Returns a command that starts the program under the given umask.
fn command_under(umask: &str, directory: &Path, arguments: &[&str]) -> Command {
    // The umask must be set before the program starts, and std has no function for it.
    let script = format!("umask {umask}; exec \"$0\" \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_actum")]);
    command.env_clear().env("ACTUM_HOME", home_of(directory));
    command.env("XDG_CONFIG_HOME", operator_of(directory));
    command.current_dir(directory).args(arguments);
    where_policies_count(directory, command)
}

/// Keys of an operator's policy that loosen rules or give programs more permissions.
const KEYS_THAT_WIDEN: [&str; 11] = [
    "[sql]",
    "base_directories",
    "sandbox",
    "plugins",
    "notify",
    "profile",
    "except",
    "credentials",
    "retention",
    "pipeline",
    "decision = \"allow\"",
];

/// Returns a command that runs where all of the operator's policy applies, if that policy gives programs more
/// permissions. The standard streams must be set afterwards.
pub(crate) fn where_policies_count(directory: &Path, command: Command) -> Command {
    let policy = fs::read_to_string(operator_of(directory).join("actum/actum.toml"));
    let widens = |policy: String| KEYS_THAT_WIDEN.iter().any(|it| policy.contains(it));
    if policy.is_ok_and(widens) { at_known_place(command) } else { command }
}

/// Returns a command whose `XDG_CONFIG_HOME` becomes the user's real configuration directory. No variable may select
/// that directory, so the command runs in a mount namespace with its own password database. The standard streams must
/// be set afterwards.
pub(crate) fn at_known_place(command: Command) -> Command {
    let variable = |name: &str| {
        let mut all = command.get_envs();
        all.find_map(|(key, value)| if key == name { value } else { None }).map(PathBuf::from)
    };
    let configuration = variable("XDG_CONFIG_HOME").expect("the command says where it is");
    let person = configuration.with_file_name("person");
    fs::create_dir_all(&person).expect("a directory of the test");
    // An existing `.config` may belong to a copied home, either as a link or as a directory.
    let link = person.join(".config");
    if fs::read_link(&link).ok().as_ref() != Some(&configuration) {
        drop(fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link)));
        drop(std::os::unix::fs::symlink(&configuration, &link)); // another thread may make it
    }
    let mut within = known_home::command(&command, known_home::User::Own, &person);
    within.env_clear().envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    within
}

/// Returns the ledger home for `directory`: beside the workspace in the test's directory, if possible.
pub(crate) fn home_of(directory: &Path) -> PathBuf {
    let temporary = [std::env::temp_dir(), PathBuf::from("/dev/shm"), PathBuf::from("/tmp")];
    let is_top =
        |path: &&Path| path.parent().is_some_and(|parent| temporary.iter().any(|t| t == parent));
    match directory.ancestors().find(is_top) {
        Some(top) if top != directory => top.join("actum-home"),
        Some(_) | None => {
            let name = directory.file_name().unwrap_or_default();
            let homes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("homes");
            fs::create_dir_all(&homes).expect("a directory of the test");
            homes.join(name)
        }
    }
}

/// Creates an approval key for `directory` before anything is recorded there, and returns the path of its passphrase
/// file.
#[allow(dead_code, reason = "not every test needs the operator")]
pub(crate) fn approval_key(directory: &Path) -> String {
    let file = home_of(directory).with_file_name("passphrase-of-approvals");
    fs::write(&file, "correct horse battery staple\n").expect("a file of the test");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("the mode of a file");
    let file = file.to_str().expect("the path is text").to_owned();
    let made = actum(directory, &["key", "make", "approval", "--passphrase-file", &file]);
    assert_eq!(made.code, 0, "{made:?}");
    file
}

/// Makes a copied installation accept that its configuration has moved.
#[allow(dead_code, reason = "not every test copies an installation")]
pub(crate) fn forget_configuration(directory: &Path) {
    match fs::remove_file(home_of(directory).join("configuration")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => {}
    }
}

/// Runs the program in `directory`.
pub(crate) fn actum(directory: &Path, arguments: &[&str]) -> Ended {
    command(directory, arguments).output().expect("the program starts").into()
}

/// Runs the program in `directory` under the given umask.
#[allow(dead_code, reason = "few tests need another umask")]
pub(crate) fn under_umask(umask: &str, directory: &Path, arguments: &[&str]) -> Ended {
    command_under(umask, directory, arguments).output().expect("the program starts").into()
}

/// Creates a workspace with `a.txt` and `sub/b.txt`, and beside it `change.diff`, which edits both.
#[allow(dead_code, reason = "scenarios bring their own files")]
pub(crate) fn workspace() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let root = directory.path().join("workspace");
    let write = |path: &Path, text: &str| {
        fs::write(path, text).expect("a file of the test");
        fs::set_permissions(path, Permissions::from_mode(0o644)).expect("the mode of a file");
    };
    fs::create_dir_all(root.join("sub")).expect("a directory of the test");
    write(&root.join("a.txt"), "1\n");
    write(&root.join("sub/b.txt"), "2\n");
    write(
        &directory.path().join("change.diff"),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n\
         --- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-2\n+two\n",
    );
    assert_eq!(actum(&root, &["init"]).code, 0);
    (directory, root)
}

/// Removes the ledger that created the workspace at `root`, so that it belongs to none.
#[allow(dead_code, reason = "not every test begins without a ledger")]
pub(crate) fn without_ledger(root: &Path) {
    fs::remove_dir_all(home_of(root)).expect("the home of the test");
    fs::remove_dir_all(root.join(".actum/recorded")).expect("the notes of ledgers");
}

/// Returns the text of a file in `root`.
#[allow(dead_code, reason = "scenarios compare whole trees")]
pub(crate) fn text(root: &Path, path: impl AsRef<OsStr>) -> String {
    let path = root.join(Path::new(path.as_ref()));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Placeholders for the keys of a test, in the order of their first occurrence.
const KEYS: [&str; 4] =
    ["5f0c1d7a92e4b831", "c2716be08d34fa95", "90ab34e17f5d286c", "e81d5730c96ba24f"];
/// Placeholder for a hash that depends on keys.
const HASH: &str = "3c1e07a9d5824bf6e0937d1c58ab42f06d9e1b7453c80fa2e7d4916b0a35c8fd";
/// Placeholders for the ids of blocks of leases, in the order of their first occurrence.
const LEASES: [&str; 3] = [
    "9c41f0d27ab86e35c1f97d204b8ea6130d5c72fe94ab1836e07f2cd95b148a60",
    "4be7a90c15d8f326702ce91ab4d58f63e1097bc25da8f4603917cbe5820dfa16",
    "d06a3f81e92b47c5580e1dc7f4a93b260c8e5d71b9f2460ea7135dc84be09f72",
];
/// Placeholder for the name of a workspace, and of a log.
const NAME: &str = "7kq2m9x4c0vd";

/// Placeholder for the id of an action.
const ACTION: &str = "w5j64vq3rg50";

/// Returns the text with placeholders for values that differ between machines, such as random keys and the signatures
/// made with them.
#[allow(dead_code, reason = "not every test compares whole texts")]
pub(crate) fn without_chance(text: &str) -> String {
    let mut text = text.to_owned();
    let mut keys: Vec<String> = Vec::new();
    for marker in ["signed by ", " key ", "\"key\":\"", "\"id\":\""] {
        text = replaced_behind(
            &text,
            marker,
            16,
            |byte| byte.is_ascii_hexdigit(),
            |found| {
                let known = keys.iter().position(|key| key == found).unwrap_or_else(|| {
                    keys.push(found.to_owned());
                    keys.len() - 1
                });
                KEYS.get(known).expect("more keys for the tests").to_string()
            },
        );
    }
    let mut leases: Vec<String> = Vec::new();
    for marker in ["lease ", "block 1   ", "block 2   ", "block 3   ", "of the lease ("] {
        text = replaced_behind(
            &text,
            marker,
            64,
            |byte| byte.is_ascii_hexdigit(),
            |found| {
                let is_known = |known: &String| known == found;
                let known = leases.iter().position(is_known).unwrap_or_else(|| {
                    leases.push(found.to_owned());
                    leases.len() - 1
                });
                LEASES.get(known).expect("more leases for the tests").to_string()
            },
        );
    }
    for marker in ["in force  ", "revoked   ", "used up   ", "expired   "] {
        let is_part = |byte: u8| byte.is_ascii_hexdigit();
        text =
            replaced_behind(&text, marker, 12, is_part, |_| LEASES[0].chars().take(12).collect());
    }
    for marker in ["\"leaf\":\"", "\"root\":\"", "root      "] {
        text = replaced_behind(
            &text,
            marker,
            64,
            |byte| byte.is_ascii_hexdigit(),
            |_| HASH.to_owned(),
        );
    }
    for marker in ["actum/", "\"workspace\":\"", "workspace "] {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        text = replaced_behind(&text, marker, NAME.len(), is_part, |_| NAME.to_owned());
    }
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text = replaced_behind(&text, "\"feedback\":{\"id\":\"", ACTION.len(), is_part, |_| {
        ACTION.to_owned()
    });
    for digits in 1..6 {
        let marker = "\"durationMs\":";
        text = replaced_behind(
            &text,
            marker,
            digits,
            |byte| byte.is_ascii_digit(),
            |_| "9".to_owned(),
        );
    }
    let (name, uid) = user();
    text.replace(&format!("\"user\":\"{name}\",\"uid\":{uid},"), "\"user\":\"ann\",\"uid\":1000,")
        .replace(&format!("{name} ({uid})"), "ann (1000)")
        .replace(&format!("  {name}  "), "  ann  ")
}

/// Replaces each token of exactly `length` characters of a kind that follows `marker`.
fn replaced_behind(
    text: &str,
    marker: &str,
    length: usize,
    is_part: impl Fn(u8) -> bool,
    mut replace: impl FnMut(&str) -> String,
) -> String {
    let mut parts = text.split(marker);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(marker);
        let found = part.bytes().take_while(|&byte| is_part(byte)).count();
        match part.split_at_checked(length) {
            Some((chance, rest)) if found == length => {
                out.push_str(&replace(chance));
                out.push_str(rest);
            }
            Some(_) | None => out.push_str(part),
        }
    }
    out
}

/// Returns the user who runs the tests.
fn user() -> (String, u32) {
    let uid = fs::metadata("/proc/self").expect("this process").uid();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    (name.unwrap_or_else(|| uid.to_string()), uid)
}
