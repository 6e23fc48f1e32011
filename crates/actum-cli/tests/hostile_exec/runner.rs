//! Runs every attack of the table through `actum exec`, with one test per attack and user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use actum_testkit::known_home;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;

use crate::attack::{Attack, Expected};
use crate::invocation::{HOME, Invocation};
use crate::judge::Verdict;
use crate::scene::{SECRET, new_secret};
use crate::table;
use crate::user::{User, install, users};

/// Number of test threads, which mostly wait for processes.
const THREADS: usize = 4;

pub(crate) fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let place = tempfile::Builder::new().prefix("actum-hostile-").tempdir_in("/var/tmp").unwrap();
    let program = install(&place);
    fs::copy(env!("CARGO_BIN_EXE_actum"), program.with_file_name("actum")).unwrap();
    let mut trials = Vec::new();
    for attack in table::all() {
        for user in users().into_iter().filter(|user| user.fits(&attack)) {
            // User numbers 1 and 2 belong to the `actum-sandbox` suite, which may run at the same time.
            let (user, program) = (user.of(&attack, 3), program.clone());
            let known = known(&place, &user);
            let name = name(&attack, &user);
            trials.push(Trial::test(name, move || judge(&attack, &user, &program, &known)));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(place);
    conclusion.exit_code()
}

/// Returns the directory in which actum caches facts about the host for this user.
fn known(place: &TempDir, user: &User) -> PathBuf {
    let id = user.become_id.map_or("own".to_owned(), |id| id.to_string());
    let directory = place.path().join(format!("known-{id}"));
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&directory, user.become_id, user.become_id).unwrap();
    directory
}

fn name(attack: &Attack, user: &User) -> String {
    match Invocation::Cache.expected(attack) {
        Expected::Stopped => format!("through exec {} it cannot {}", user.name, attack.name),
        Expected::Open(_) => {
            format!("through exec {} it can {}, as documented", user.name, attack.name)
        }
        Expected::Refused(_) => {
            format!("through exec {} it is not started to {}", user.name, attack.name)
        }
    }
}

fn judge(attack: &Attack, user: &User, program: &Path, known: &Path) -> Result<(), Failed> {
    let mut command = user.command(program);
    command.args(["control", attack.name]);
    let control = read_verdict(command, known)?;
    if control.seen.is_none() {
        let problem = "without actum it has no effect, so this shows nothing";
        return Err(format!("{problem}: {control:?}").into());
    }
    // Skip the attack, because `exec` has no option for the permission it needs.
    if control.unsaid.is_some() {
        return Ok(());
    }
    for way in Invocation::new(attack) {
        let mut command = Command::new(program);
        command.args(["look", attack.name, way.name()]);
        let home = Home::new(user, known);
        let verdict = read_verdict(home.inhabit(user, command), known)?;
        let failed = |problem: &str| {
            Err(Failed::from(format!("in the way `{}` {problem}: {verdict:#?}", way.name())))
        };
        if !verdict.began || verdict.said.contains("panicked") {
            return failed("it did not run, so this shows nothing");
        }
        if verdict.workspace.is_some() {
            return failed("the workspace is wrong");
        }
        match (way.expected(attack), &verdict.seen) {
            (Expected::Stopped, None) | (Expected::Open(_), Some(_)) => {}
            (Expected::Stopped, Some(_)) => return failed("it had an effect"),
            (Expected::Open(_), None) => return failed("it is documented as open"),
            (Expected::Refused(_), _) => return failed("it was started"),
        }
    }
    Ok(())
}

/// Runs a command and parses the verdict that it prints.
fn read_verdict(mut command: Command, known: &Path) -> Result<Verdict, Failed> {
    command.env(SECRET, new_secret()).env("XDG_CACHE_HOME", known);
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failed::from(format!("{command:?} told no verdict: {error} {:?} {said}", output.status))
    })
}

/// Home directory for the user of one attack. It holds the operator policy, because `[sandbox]` is ignored in any home but the one
/// the system knows.
struct Home {
    place: TempDir,
}

impl Home {
    fn new(user: &User, known: &Path) -> Self {
        let place = tempfile::Builder::new().prefix("person-").tempdir_in(known).unwrap();
        chown(place.path(), user.become_id, user.become_id).unwrap();
        Self { place }
    }

    /// Returns the command, changed so that the system considers this directory the home of the user.
    fn inhabit(&self, user: &User, mut command: Command) -> Command {
        let owner = user.become_id.map_or(known_home::User::Own, known_home::User::Other);
        command.env(HOME, self.place.path()).current_dir("/");
        known_home::command(&command, owner, self.place.path())
    }
}
