//! Runs the table of attacks, with one test per attack, tier and user.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use actum_sandbox::HostReport;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::attack::{Attack, Expected};
use crate::course::Verdict;
use crate::scene::{SECRET, new_secret};
use crate::user::{User, install, users};
use crate::{document, table};

pub(crate) fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The threads mostly wait for processes.
    arguments.test_threads.get_or_insert(8);
    let place = tempfile::Builder::new().prefix("actum-hostile-").tempdir_in("/var/tmp").unwrap();
    let program = install(&place);
    let users = users().into_iter().map(|user| {
        let host = host_for(&user, &program);
        (user, host)
    });
    let users: Vec<(User, String)> = users.collect();
    let mut trials = vec![Trial::test("the table in the documents is this one", document::compare)];
    for attack in table::all() {
        for tier in ["N", "L"] {
            for (user, host) in &users {
                trials.extend(trial(attack, tier, user, host.clone(), program.clone()));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(place);
    conclusion.exit_code()
}

/// Returns the host report for this user.
fn host_for(user: &User, program: &Path) -> String {
    let output = user.command(program).arg("probe").output().unwrap();
    let host = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let report: HostReport = serde_json::from_str(&host).unwrap();
    for (tier, found) in [("N", &report.tier_n), ("L", &report.tier_l)] {
        if let Err(missing) = found {
            eprintln!("tier {tier} is not to be had {}, so its tests fail: {missing}", user.name);
        }
    }
    host
}

/// Creates the test for one trial, or `None` if the trial needs a different user.
fn trial(
    attack: Attack,
    tier: &'static str,
    user: &User,
    host: String,
    program: PathBuf,
) -> Option<Trial> {
    let expected = if tier == "N" { attack.tier_n } else { attack.tier_l };
    let who = format!("in tier {tier} {} it", user.name);
    let name = match expected {
        Expected::Stopped => format!("{who} cannot {}", attack.name),
        Expected::Open(_) => format!("{who} can {}, as documented", attack.name),
        Expected::Refused(_) => format!("{who} is not started to {}", attack.name),
    };
    // Trials of different tiers run concurrently, so each tier uses its own user.
    let other = if tier == "N" { 1 } else { 2 };
    let user_of_it = user.of(&attack, other);
    user.fits(&attack).then(|| {
        Trial::test(name, move || judge(&attack, tier, (&user_of_it, &host), &program, expected))
    })
}

fn judge(
    attack: &Attack,
    tier: &str,
    (user, host): (&User, &str),
    program: &Path,
    expected: Expected,
) -> Result<(), Failed> {
    let output = user
        .command(program)
        .args(["trial", attack.name, tier, host])
        .env(SECRET, new_secret())
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
