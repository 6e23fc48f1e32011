//! Ways to run an attack with `actum exec`, and the options that its policy requires.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use actum_sandbox::{Enforcement, Net, SandboxPolicy};
use serde_json::Value;

use crate::attack::{Attack, Course, Expected};
use crate::effect::{Effect, RunReport};
use crate::scene::Facts;
use crate::{course, table};

/// Environment variable with the home directory that the password database should contain.
pub(crate) const HOME: &str = "ACTUM_HOSTILE_HOME";

/// A way to run the command of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// The changes are shown and then dropped.
    Drop,
    /// The changes are kept as one run.
    Keep,
    /// The attack starts in a cache of a workspace, where the host sees changes immediately.
    Cache,
}

const ALL: &[Invocation] = &[Invocation::Drop, Invocation::Keep, Invocation::Cache];
/// Reason for an expected effect: a command that may write programs in the workspace may also run them.
const PROGRAMS_OF_THE_WORKSPACE: &str = "programs of the workspace may be run";

impl Invocation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Keep => "keep",
            Self::Cache => "cache",
        }
    }

    pub(crate) fn find(name: &str) -> Self {
        ALL.iter().copied().find(|way| way.name() == name).unwrap()
    }

    /// Returns the invocations in which the host can see the effect of this attack.
    pub(crate) fn new(attack: &Attack) -> &'static [Self] {
        match (attack.effect, attack.course) {
            // The host detects this attack by its heartbeat, which is visible only in a cache.
            (_, Course::SupervisorKilled | Course::SupervisorKilledEarly) => &[Self::Cache],
            // A view is stored in memory, and changes that are kept are an ordinary run.
            (Effect::Storage, _) => &[Self::Cache],
            (Effect::Ran, Course::Whole) => &[Self::Cache],
            (Effect::LargestFile, _) => &[Self::Keep, Self::Cache],
            // The gates do not judge changes in a cache, so operators must declare caches with care.
            (Effect::Kept | Effect::UnreportedCreation, _) => &[Self::Drop, Self::Keep],
            (
                Effect::Outside
                | Effect::Secret
                | Effect::Heard
                | Effect::Reached
                | Effect::Victim
                | Effect::Shared
                | Effect::Memory
                | Effect::SetId
                | Effect::OtherUser
                | Effect::Got
                | Effect::Beats
                | Effect::Output
                | Effect::Terminal
                | Effect::Ran
                | Effect::WrongEnd,
                _,
            ) => ALL,
        }
    }

    /// Returns the expected result, which is that of tier N because `exec` uses no other tier.
    pub(crate) fn expected(self, attack: &Attack) -> Expected {
        match (attack.effect, attack.course, self) {
            (Effect::Ran, Course::Whole, _) => Expected::Open(PROGRAMS_OF_THE_WORKSPACE),
            // If loopback is allowed, `exec` hides the sockets that it finds in the workspace and its caches.
            (Effect::Heard, _, _) => Expected::Stopped,
            _ => attack.tier_n,
        }
    }

    /// Returns the path of the attack's workspace, relative to the scene.
    pub(crate) fn workspace(self) -> &'static str {
        match self {
            Self::Drop | Self::Keep => "workspace",
            Self::Cache => "root/cache",
        }
    }

    /// Returns the root of the actum workspace.
    pub(crate) fn root(self, facts: &Facts) -> PathBuf {
        match self {
            Self::Drop | Self::Keep => facts.workspace.clone(),
            Self::Cache => facts.workspace.parent().unwrap().to_owned(),
        }
    }

    /// Returns an `actum` command in that workspace, in which the operator may have declared a cache.
    pub(crate) fn actum(self, facts: &Facts) -> Command {
        self.actum_where(facts, &[])
    }

    /// Returns an `actum` command in that workspace, with additional paths that commands may read.
    fn actum_where(self, facts: &Facts, read: &[String]) -> Command {
        let place = facts.outside.parent().unwrap();
        let configuration = PathBuf::from(std::env::var_os(HOME).unwrap()).join(".config");
        let operator = configuration.join("actum");
        fs::create_dir_all(&operator).unwrap();
        let caches = match self {
            Self::Drop | Self::Keep => "[]",
            Self::Cache => "[\"cache\"]",
        };
        let exec: Vec<_> = [&facts.program].into_iter().chain(&facts.set_id).collect();
        let policy = format!(
            "version = 1\n[sandbox]\ncaches = {caches}\nread = {read:?}\nexec = {exec:?}\n"
        );
        fs::write(operator.join("actum.toml"), policy).unwrap();
        let mut command = Command::new(facts.program.with_file_name("actum"));
        command.current_dir(self.root(facts)).stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", configuration);
        command.env("ACTUM_HOME", place.join("home"));
        command
    }

    /// Returns the `actum exec` command that runs the attack.
    pub(crate) fn exec(self, attack: &Attack, facts: &Facts) -> Command {
        let options = options(attack, facts).unwrap();
        let is_read =
            |(word, path): &(&String, &String)| (*word == "--read").then(|| (*path).clone());
        let read: Vec<_> =
            options.iter().zip(options.iter().skip(1)).filter_map(|it| is_read(&it)).collect();
        let mut command = self.actum_where(facts, &read);
        command.args(["exec", "--json"]);
        command.arg(if self == Self::Drop { "--drop" } else { "--keep" });
        command.arg("--exec").arg(&facts.program);
        if let Some(program) = &facts.set_id {
            command.arg("--exec").arg(program);
        }
        command.args(options);
        command.arg("--").arg(&facts.program).args(course::words(attack, facts));
        command
    }
}

/// Returns the options for the additional policy of an attack, or the setting for which `exec` has no option.
pub(crate) fn options(attack: &Attack, facts: &Facts) -> Result<Vec<String>, &'static str> {
    let usual = course::policy(&Attack { policy: |_, _| (), ..*attack }, facts);
    // The scope already limits writes, and the view takes the place of the workspace.
    let SandboxPolicy { read, write, exec, net, limits, env, scratch, .. } =
        course::policy(attack, facts);
    if write != usual.write {
        return Err("a command is let write nothing but its workspace");
    }
    if scratch != usual.scratch {
        return Err("the scratch directory has the size that it has");
    }
    assert_eq!((&exec, &env), (&usual.exec, &usual.env), "{}", attack.name);
    let mut options = Vec::new();
    for path in read.iter().filter(|path| !usual.read.contains(path)) {
        options.extend(["--read".to_owned(), path.display().to_string()]);
    }
    if net == Net::PrivateLoopback {
        options.push("--loopback".to_owned());
    }
    let ordinary = actum_sandbox::Limits::default();
    for (resource, limit) in limits.iter().filter(|(name, limit)| ordinary.of(*name) != *limit) {
        let unit = if resource.unit() == "ms" { "ms" } else { "" };
        let require = match limit.require {
            Enforcement::Hard => "hard",
            Enforcement::Polled => "polled",
        };
        let (name, max) = (resource.name(), limit.max);
        options.extend(["--limit".to_owned(), format!("{name}={max}{unit}:{require}")]);
    }
    Ok(options)
}

/// The report of `exec` on a command, with the output of that command.
#[derive(Default)]
pub(crate) struct Ran {
    pub(crate) out: Vec<u8>,
    pub(crate) report: RunReport,
    /// The `outcome` field of the report, or empty if the command did not run.
    pub(crate) outcome: String,
    /// Complete output, for debugging.
    pub(crate) debug_output: String,
}

impl Ran {
    /// Parses the document that `exec --json` printed.
    pub(crate) fn new(output: Output, root: &Path) -> Self {
        let debug_output = format!(
            "{:?} {:.3000} {:.1000}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        let changes = document["change"]["changes"].as_array();
        let paths = changes.into_iter().flatten().filter_map(|change| change["path"].as_str());
        let report = RunReport {
            made: paths.map(|path| root.join(path)).collect(),
            ended: serde_json::from_value(document["ended"].clone()).ok(),
            // Standard error of the command is already part of the output.
            stderr: Vec::new(),
        };
        // The document has no output if the command did not run.
        let out = [text("stdout"), text("stderr")].concat().into_bytes();
        Self { out, report, outcome: text("outcome"), debug_output }
    }
}

/// Runs the attack with a terminal as standard input: `hostile terminal NAME WAY FACTS`.
pub(crate) fn at_terminal(name: &str, way: &str, facts: &str) {
    let (attack, way) = (table::find(name), Invocation::find(way));
    let facts: Facts = serde_json::from_str(facts).unwrap();
    let output = way.exec(&attack, &facts).stdin(Stdio::inherit()).output().unwrap();
    println!("{}", String::from_utf8_lossy(&Ran::new(output, &facts.workspace).out));
    course::print_typed();
}
