//! Runs one attack in a separate process, first without a sandbox and then inside one.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actum_sandbox::{
    Enforcement, Helper, HostReport, Missing, Outcome, Resource, SandboxPolicy, SpawnError, Stdin,
};
use serde::{Deserialize, Serialize};

use crate::attack::{Attack, Course};
use crate::effect::{BEGUN, Effect, RunReport};
use crate::scene::{Facts, Scene};
use crate::table;

/// Result of one attack.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Effect observed on the host without a sandbox, if any.
    pub(crate) control: Option<String>,
    /// Effect observed on the host with a sandbox, if any.
    pub(crate) seen: Option<String>,
    /// Whether the attack started inside the sandbox.
    pub(crate) began: bool,
    /// Error code with which the policy was rejected, if it was.
    pub(crate) refused: Option<String>,
    /// Error from starting the command, if any.
    pub(crate) error: Option<String>,
    /// Output and exit status of the attack, for debugging.
    pub(crate) said: String,
}

/// Result of one run of an attack.
#[derive(Default)]
pub(crate) struct Ran {
    pub(crate) out: Vec<u8>,
    outcome: Option<Outcome>,
    refused: Option<String>,
    pub(crate) error: Option<String>,
}

/// Implements `hostile trial NAME TIER HOST`, which prints the verdict.
pub(crate) fn trial(name: &str, tier: &str, host: &str) {
    let attack = table::find(name);
    let program = std::env::current_exe().unwrap();
    let mut host: HostReport = serde_json::from_str(host).unwrap();
    if tier == "L" {
        let missing = Missing::of_host("take tier N".to_owned(), "not in this test".to_owned());
        host.tier_n = Err(missing.clone());
        host.loopback = Err(missing.clone());
        host.overlay = Err(missing);
    }
    let mut verdict = Verdict::default();
    for sandbox in [None, Some(&host)] {
        let mut scene = Scene::new(&program);
        let before = scene.look();
        let ran = run(&attack, &mut scene, sandbox);
        let report = ran.outcome.as_ref().map(RunReport::from);
        let seen = attack.effect.seen(&mut scene, &before, &ran.out, report.as_ref());
        if sandbox.is_none() {
            verdict.control = seen;
            continue;
        }
        let text = String::from_utf8_lossy(&ran.out).into_owned();
        let stderr =
            ran.outcome.as_ref().map(|it| String::from_utf8_lossy(&it.stderr).into_owned());
        let ended = ran.outcome.as_ref().map(|it| (it.ended, it.violated.clone(), it.usage));
        verdict = Verdict {
            seen,
            began: text.starts_with(BEGUN),
            refused: ran.refused,
            error: ran.error,
            said: format!(
                "{ended:?} {:.300?} {:.300}",
                stderr.as_deref().unwrap_or_default(),
                text.escape_debug().to_string()
            ),
            ..verdict
        };
    }
    println!("{}", serde_json::to_string(&verdict).unwrap());
}

/// Runs an attack without a sandbox, or in one if `sandbox` is given.
pub(crate) fn run(attack: &Attack, scene: &mut Scene, sandbox: Option<&HostReport>) -> Ran {
    let facts = scene.facts.clone();
    let supervisor = || supervisor(attack, &facts, sandbox);
    if sandbox.is_some() {
        scene.patience = patience(attack);
    }
    watched(attack, scene, || match (attack.course, sandbox) {
        (Course::SupervisorKilled | Course::SupervisorKilledEarly, _) => {
            let in_namespaces = sandbox.is_some_and(|host| host.tier_n.is_ok());
            kill_supervisor(attack, &facts, supervisor(), in_namespaces)
        }
        (Course::Terminal, _) => on_terminal(supervisor()),
        (_, None) => bare(attack, &facts),
        (Course::ChildrenIgnored, Some(host)) => {
            // SAFETY: the call takes only integers.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            let ran = confined(attack, &facts, host);
            // SAFETY: as above.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
            ran
        }
        (Course::Whole | Course::SetUpFails, Some(host)) => confined(attack, &facts, host),
    })
}

/// Returns how quickly a heartbeat must stop after its supervisor was killed.
pub(crate) fn patience(attack: &Attack) -> Duration {
    match attack.course {
        Course::SupervisorKilled | Course::SupervisorKilledEarly => Duration::from_secs(4),
        Course::Whole | Course::ChildrenIgnored | Course::Terminal | Course::SetUpFails => {
            Duration::ZERO
        }
    }
}

/// Runs the function. If the attack listens on a port, the host tries to reach that port at the same time.
pub(crate) fn watched<R>(attack: &Attack, scene: &mut Scene, run: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    let facts = scene.facts.clone();
    let (ran, reached) = std::thread::scope(|scope| {
        let watch =
            (attack.effect == Effect::Reached).then(|| scope.spawn(|| try_to_reach(&facts, &done)));
        let ran = run();
        done.store(true, Ordering::Relaxed);
        (ran, watch.is_some_and(|watch| watch.join().unwrap()))
    });
    scene.reached = reached;
    ran
}

/// Returns the arguments that make this program run the attack.
pub(crate) fn words(attack: &Attack, facts: &Facts) -> [String; 3] {
    ["attack".to_owned(), attack.name.to_owned(), serde_json::to_string(facts).unwrap()]
}

/// Runs the attack without a sandbox.
fn bare(attack: &Attack, facts: &Facts) -> Ran {
    let mut out = tempfile::tempfile().unwrap();
    let mut child = Command::new(&facts.program)
        .args(words(attack, facts))
        .current_dir(&facts.workspace)
        .stdout(out.try_clone().unwrap())
        .stderr(out.try_clone().unwrap())
        .spawn()
        .unwrap();
    // An attack that sends heartbeats may never exit by itself.
    let patience = if attack.effect == Effect::Beats { 400 } else { 60_000 };
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_millis(patience) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    if attack.effect != Effect::Beats {
        drop(child.kill());
    }
    // A child that sends heartbeats stops when it is asked to, or when its time limit expires.
    std::mem::forget(child);
    Ran { out: read(&mut out), ..Ran::default() }
}

fn read(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Returns a policy that allows the system programs, this program and the workspace.
pub(crate) fn policy(attack: &Attack, facts: &Facts) -> SandboxPolicy {
    let system = ["/usr", "/bin", "/lib", "/lib64"].map(Path::new);
    let mut read: Vec<_> =
        system.into_iter().filter(|path| path.exists()).map(Path::to_owned).collect();
    read.push(facts.program.clone());
    read.extend(facts.set_id.clone());
    let mut policy = SandboxPolicy {
        exec: read.clone(),
        read,
        write: vec![facts.workspace.clone()],
        ..SandboxPolicy::new(&facts.workspace)
    };
    policy.limits = policy.limits.with(Resource::Wall, 10_000, Enforcement::Polled);
    (attack.policy)(&mut policy, facts);
    policy
}

fn confined(attack: &Attack, facts: &Facts, host: &HostReport) -> Ran {
    let plan = match policy(attack, facts).plan(host) {
        Ok(plan) => plan,
        Err(refusal) => {
            let refused = Some(refusal.code().to_owned());
            return Ran { refused, error: Some(refusal.to_string()), ..Ran::default() };
        }
    };
    let helper = Helper::at(&facts.program);
    let mut command: Vec<OsString> = vec![facts.program.clone().into()];
    command.extend(words(attack, facts).map(OsString::from));
    let failed = |error: String| Ran { error: Some(error), ..Ran::default() };
    let child = match plan.spawn(&helper, &command) {
        Ok(child) => child,
        Err(error @ SpawnError::Sandbox(_)) if attack.course == Course::SetUpFails => {
            return Ran { out: format!("{BEGUN} {error}").into(), ..Ran::default() };
        }
        Err(error) => return failed(error.to_string()),
    };
    match child.wait() {
        Ok(outcome) => {
            Ran { out: outcome.stdout.clone(), outcome: Some(outcome), ..Ran::default() }
        }
        Err(error) => failed(error.to_string()),
    }
}

/// Implements `hostile supervise NAME HOST FACTS`, which runs the attack with or without a sandbox.
pub(crate) fn supervise(name: &str, host: &str, facts: &str) {
    let attack = table::find(name);
    let facts: Facts = serde_json::from_str(facts).unwrap();
    let ran = match serde_json::from_str::<Option<HostReport>>(host).unwrap() {
        Some(host) => confined(&attack, &facts, &host),
        None => {
            let output = Command::new(&facts.program)
                .args(words(&attack, &facts))
                .current_dir(&facts.workspace)
                .stdin(Stdio::inherit())
                .stderr(Stdio::null())
                .output()
                .unwrap();
            Ran { out: output.stdout, ..Ran::default() }
        }
    };
    println!("{}{}", String::from_utf8_lossy(&ran.out), ran.error.unwrap_or_default());
    if attack.course == Course::Terminal {
        print_typed();
    }
}

/// Prints the input that is waiting on the terminal at standard input.
pub(crate) fn print_typed() {
    let mut bytes = [0_u8; 64];
    // SAFETY: the buffer is passed with its length, and the other arguments are integers.
    let length = unsafe {
        libc::fcntl(0, libc::F_SETFL, libc::O_NONBLOCK);
        libc::read(0, bytes.as_mut_ptr().cast(), bytes.len())
    };
    let typed = bytes.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
    println!("typed: {}", String::from_utf8_lossy(typed));
}

fn supervisor(attack: &Attack, facts: &Facts, sandbox: Option<&HostReport>) -> Command {
    let mut command = Command::new(&facts.program);
    command.args([
        "supervise",
        attack.name,
        &serde_json::to_string(&sandbox).unwrap(),
        &serde_json::to_string(facts).unwrap(),
    ]);
    command.stderr(Stdio::null());
    command
}

/// Time within which a command must start, even if the machine is busy with other tests.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);

/// Starts the supervisor of the command, and kills it once the command is running.
pub(crate) fn kill_supervisor(
    attack: &Attack,
    facts: &Facts,
    mut command: Command,
    in_namespaces: bool,
) -> Ran {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let beat = facts.workspace.join("beat");
    let begun = Instant::now();
    let has_begun = || beat.exists() || begun.elapsed() > BEGINS_WITHIN;
    let mut stopped = None;
    while !has_begun() {
        if attack.course == Course::SupervisorKilledEarly {
            // The stopped process may belong to a probe that precedes the command, so let it continue.
            if let Some(keeper) = stopped.take() {
                crate::act::calls::kill(keeper, libc::SIGCONT);
                std::thread::sleep(Duration::from_millis(100));
            }
            stopped = stop_keeper(child.id() as i32, in_namespaces, &has_begun);
        }
        let stopped_at = Instant::now();
        while !has_begun() && stopped_at.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if attack.course == Course::SupervisorKilled {
        // By then, the supervisor has received the report that the command is running.
        std::thread::sleep(Duration::from_millis(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if let Some(keeper) = stopped {
        crate::act::calls::kill(keeper, libc::SIGCONT);
    }
    let began = if beat.exists() { BEGUN } else { "" };
    Ran { out: began.into(), ..Ran::default() }
}

/// Stops the supervising process of the command as soon as it has a child, and returns its process ID. In tier N this is the first
/// process of the namespaces, a child of the helper. In other tiers it is the helper itself. Without a sandbox the child may exit
/// unseen, so no process is stopped once the command has begun.
fn stop_keeper(supervisor: i32, in_namespaces: bool, has_begun: &dyn Fn() -> bool) -> Option<i32> {
    let child_of = |parent: i32| {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        children.ok()?.split_ascii_whitespace().next()?.parse::<i32>().ok()
    };
    while !has_begun() {
        let helper = child_of(supervisor);
        let keeper = if in_namespaces { helper.and_then(child_of) } else { helper };
        if let Some(keeper) = keeper
            && child_of(keeper).is_some()
        {
            crate::act::calls::kill(keeper, libc::SIGSTOP);
            return Some(keeper);
        }
    }
    None
}

/// Runs a command with a new terminal as its standard input.
pub(crate) fn on_terminal(mut command: Command) -> Ran {
    let (mut ours, mut theirs) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: the kernel writes two integers, and both descriptors are new.
    let (ours, theirs) = unsafe {
        let made = libc::openpty(&raw mut ours, &raw mut theirs, none, none.cast(), none.cast());
        assert_eq!(made, 0);
        (File::from_raw_fd(ours), File::from_raw_fd(theirs))
    };
    let fd = theirs.as_raw_fd();
    command.stdin(theirs);
    // SAFETY: both system calls take only integers and are safe after `fork`.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            libc::close(fd);
            Ok(())
        });
    }
    let mut out = command.output().unwrap().stdout;
    let mut shown = [0_u8; 256];
    // SAFETY: the call takes only integers.
    unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let length = (&ours).read(&mut shown).unwrap_or(0);
    out.extend(b"shown: ");
    out.extend(&shown[..length]);
    Ran { out, ..Ran::default() }
}

/// Keeps trying to reach the port that the command has written to its workspace, until `done` is set.
fn try_to_reach(facts: &Facts, done: &AtomicBool) -> bool {
    while !done.load(Ordering::Relaxed) {
        let port = std::fs::read_to_string(facts.workspace.join("port"));
        let port = port.ok().and_then(|text| text.parse::<u16>().ok());
        let stream = port.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok());
        if let Some(mut stream) = stream {
            let mut name = vec![0; facts.abstract_name.len()];
            drop(stream.set_read_timeout(Some(Duration::from_millis(500))));
            // Another program may use the same port number, so check the name it sends.
            if stream.read_exact(&mut name).is_ok() && name == facts.abstract_name.as_bytes() {
                return true;
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Policy addition for attacks that use a terminal.
pub(crate) fn reads_terminal(policy: &mut SandboxPolicy, _: &Facts) {
    policy.stdin = Stdin::Inherited;
}
