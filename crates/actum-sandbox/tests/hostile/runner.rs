//! Runs the table: each attack in each tier and as each user is a test.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use actum_sandbox::HostReport;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;

use crate::attack::{Attack, Expected, Users};
use crate::course::Verdict;
use crate::scene::SECRET;
use crate::{document, table};

/// A user that is nobody else on the machine.
const ORDINARY: u32 = 12345;

/// As whom attacks are made.
#[derive(Clone)]
struct User {
    name: &'static str,
    /// Whom to become, if it is another.
    become_id: Option<u32>,
    is_root: bool,
    /// What the host can hold for this user.
    host: String,
}

pub(crate) fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of the time they wait.
    arguments.test_threads.get_or_insert(8);
    let place = tempfile::Builder::new().prefix("actum-hostile-").tempdir_in("/var/tmp").unwrap();
    let program = install(&place);
    let users = users(&program);
    let mut trials = vec![Trial::test("the table in the documents is this one", document::compare)];
    for attack in table::all() {
        for tier in ["N", "L"] {
            for user in &users {
                trials.extend(trial(attack, tier, user.clone(), program.clone()));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(place);
    conclusion.exit_code()
}

/// This program where every user may run it, and, for root, a program that runs as root: `id`, which
/// does no harm, and which only the ordinary user of the tests may run.
fn install(place: &TempDir) -> PathBuf {
    let open = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode));
    open(place.path(), 0o755).unwrap();
    let program = place.path().join("hostile");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open(&program, 0o755).unwrap();
    if is_root() {
        let id = place.path().join("id");
        fs::copy("/usr/bin/id", &id).unwrap();
        chown(&id, Some(0), Some(ORDINARY)).unwrap();
        open(&id, 0o4750).unwrap();
        assert_eq!(fs::metadata(&id).unwrap().mode() & 0o7777, 0o4750);
    }
    program
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn users(program: &Path) -> Vec<User> {
    let user = |name, become_id: Option<u32>, is_root| {
        let mut user = User { name, become_id, is_root, host: String::new() };
        let output = user.command(program).arg("probe").output().unwrap();
        user.host = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let report: HostReport = serde_json::from_str(&user.host).unwrap();
        for (tier, found) in [("N", &report.tier_n), ("L", &report.tier_l)] {
            if let Err(missing) = found {
                eprintln!("tier {tier} is not to be had {name}, so its tests fail: {missing}");
            }
        }
        user
    };
    if is_root() {
        vec![user("as root", None, true), user("as a user", Some(ORDINARY), false)]
    } else {
        vec![user("as this user", None, false)]
    }
}

impl User {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some(id) = self.become_id {
            command.uid(id).gid(id);
        }
        command.current_dir("/");
        command
    }
}

/// One trial; none where it needs another user.
fn trial(attack: Attack, tier: &'static str, user: User, program: PathBuf) -> Option<Trial> {
    let expected = if tier == "N" { attack.tier_n } else { attack.tier_l };
    let who = format!("in tier {tier} {} it", user.name);
    let name = match expected {
        Expected::Stopped => format!("{who} cannot {}", attack.name),
        Expected::Open(_) => format!("{who} can {}, as documented", attack.name),
        Expected::Refused(_) => format!("{who} is not started to {}", attack.name),
    };
    // Whoever is not root cannot become another user either.
    let fits = match attack.users {
        Users::All => true,
        Users::Root => user.is_root,
        Users::Ordinary | Users::Alone => user.become_id.is_some(),
    };
    // One for each tier, since trials are made beside each other.
    let other = if tier == "N" { 1 } else { 2 };
    let other = if attack.users == Users::Alone { other } else { 0 };
    let become_id = user.become_id.map(|id| id + other);
    let user = User { become_id, ..user };
    fits.then(|| Trial::test(name, move || judge(&attack, tier, &user, &program, expected)))
}

fn judge(
    attack: &Attack,
    tier: &str,
    user: &User,
    program: &Path,
    expected: Expected,
) -> Result<(), Failed> {
    let mut secret = [0_u8; 16];
    rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty()).unwrap();
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let output = user
        .command(program)
        .args(["trial", attack.name, tier, &user.host])
        .env(SECRET, format!("secret{secret}"))
        .output()
        .unwrap();
    let failed = |text: String| Err(Failed::from(text));
    let Ok(verdict) = serde_json::from_slice::<Verdict>(&output.stdout) else {
        let said = String::from_utf8_lossy(&output.stderr);
        return failed(format!("the trial told no verdict: {:?} {said}", output.status));
    };
    if verdict.control.is_none() {
        return failed(format!(
            "without a sandbox it has no effect, so this shows nothing: {verdict:?}"
        ));
    }
    if let Expected::Refused(code) = expected {
        return match (&verdict.refused, &verdict.seen) {
            (Some(refused), None) if refused == code => Ok(()),
            _ => failed(format!("it was to be refused with {code}: {verdict:?}")),
        };
    }
    if !verdict.began || verdict.error.is_some() || verdict.said.contains("panicked") {
        return failed(format!(
            "it did not run in the sandbox, so this shows nothing: {verdict:?}"
        ));
    }
    match (expected, &verdict.seen) {
        (Expected::Open(_), None) => failed(format!("it is documented as open: {verdict:?}")),
        (Expected::Open(_), Some(_)) | (_, None) => Ok(()),
        (_, Some(seen)) => failed(format!("{seen}: {verdict:?}")),
    }
}
