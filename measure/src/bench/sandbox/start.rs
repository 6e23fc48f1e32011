//! Time to start a command that does nothing.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use actum_sandbox::{Plan, Tier};

use super::succeeded;
use crate::Outcome;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::options::Starter;
use crate::bench::race::{Contestant, Finish, race, time};
use crate::bench::{Failure, packages};

/// User id without an account.
const USER: u32 = 12345;
const TRUE: &str = "/bin/true";
/// Arguments that give bubblewrap the equivalent sandbox: namespaces, the system's programs, `/proc` and `/dev`.
const BUBBLEWRAP: [&str; 19] = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    TRUE,
];
const LOWER: &str = "tier L";
const UPPER: &str = "tier N";
const OTHER: &str = "bubblewrap";

/// Measures the start as the current user and, if that is root, also as an ordinary user, each in a separate process.
pub(super) fn contests(rounds: usize) -> Result<Vec<Contest>, Failure> {
    let as_root = packages::is_root();
    let users: &[Option<u32>] = if as_root { &[None, Some(USER)] } else { &[None] };
    let contest = |user: &Option<u32>| {
        let name = if as_root && user.is_none() { "root" } else { "an ordinary user" };
        eprintln!("starting `true` as {name}");
        Ok(Contest {
            title: format!("Start of `true`, as {name}"),
            finishes: in_child(rounds, *user)?,
            bars: vec![
                Bar { who: LOWER, limit: Limit::More(1.5) },
                Bar { who: UPPER, limit: Limit::More(3.0) },
                Bar { who: UPPER, limit: Limit::Under(OTHER) },
            ],
        })
    };
    users.iter().map(contest).collect()
}

fn in_child(rounds: usize, user: Option<u32>) -> Result<Vec<Finish>, Failure> {
    // The other user may not have access to the directory of this program.
    let mut command = Command::new("/proc/self/exe");
    command.arg("bench-starter").arg(rounds.to_string()).current_dir("/").stderr(Stdio::inherit());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("starting `true` many times failed ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Starts `true` alternately in each way, and prints the times.
pub(crate) fn run(starter: &Starter) -> Outcome {
    let plan = |tier| super::system().plan(&super::host(tier));
    let (lower, upper) = (plan(Tier::L)?, plan(Tier::N)?);
    let contestants = vec![
        Contestant::new("plain", || time(|| wait(Command::new(TRUE).env_clear()))),
        Contestant::new(LOWER, || time(|| confined(&lower))),
        Contestant::new(UPPER, || time(|| confined(&upper))),
        Contestant::new(OTHER, || {
            time(|| wait(Command::new("/usr/bin/bwrap").args(BUBBLEWRAP).env_clear()))
        }),
    ];
    println!("{}", serde_json::to_string(&race(contestants, starter.rounds.get()))?);
    Ok(ExitCode::SUCCESS)
}

fn wait(command: &mut Command) -> Result<(), Failure> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(status.to_string().into()) }
}

pub(super) fn confined(plan: &Plan) -> Result<(), Failure> {
    succeeded(&plan.spawn(&super::helper(), &[OsString::from(TRUE)])?.wait()?)
}
