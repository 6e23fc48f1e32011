//! Runs one attack in a separate process, and then examines the host and the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::attack::{Attack, Course};
use crate::effect::BEGUN;
use crate::invocation::{self, Invocation, Ran};
use crate::scene::{Facts, Scene};
use crate::{course, table};

/// Outcome of one attack.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Effect observed on the host, if any.
    pub(crate) seen: Option<String>,
    /// Problem found in the workspace, if any.
    pub(crate) workspace: Option<String>,
    /// A permission that the attack needs but `exec` has no option for, so that the attack was skipped.
    pub(crate) unsaid: Option<String>,
    /// Whether the attack started, or was expected to be prevented from starting.
    pub(crate) began: bool,
    /// Complete output, for debugging.
    pub(crate) said: String,
}

/// Runs the attack without actum: `hostile control NAME`.
pub(crate) fn control(name: &str) {
    let attack = table::find(name);
    let mut scene = Scene::new(&std::env::current_exe().unwrap());
    let before = scene.look();
    let ran = course::run(&attack, &mut scene, None);
    let seen = attack.effect.seen(&mut scene, &before, &ran.out, None);
    let unsaid = invocation::options(&attack, &scene.facts).err().map(str::to_owned);
    print_verdict(&Verdict { seen, unsaid, ..Verdict::default() });
}

/// Runs the attack through `actum exec`: `hostile look NAME WAY`.
pub(crate) fn look(name: &str, way: &str) {
    let (attack, way) = (table::find(name), Invocation::find(way));
    let mut scene = Scene::with_workspace_at(&std::env::current_exe().unwrap(), way.workspace());
    let (host, files) = (scene.look(), tree(&way.root(&scene.facts)));
    scene.patience = course::patience(&attack);
    let facts = scene.facts.clone();
    let ran = course::watched(&attack, &mut scene, || run(&attack, &facts, way));
    let seen = attack.effect.seen(&mut scene, &host, &ran.out, Some(&ran.report));
    let began = match attack.course {
        Course::SetUpFails => ran.out.is_empty(),
        Course::Whole
        | Course::SupervisorKilled
        | Course::SupervisorKilledEarly
        | Course::ChildrenIgnored
        | Course::Terminal => ran.out.starts_with(BEGUN.as_bytes()),
    };
    let seen = seen.or_else(|| left_alive(&facts, scene.patience));
    // The host uses this file to stop processes that send heartbeats.
    drop(fs::remove_file(facts.workspace.join("stop")));
    print_verdict(&Verdict {
        seen,
        workspace: wrong_workspace(way, &facts, &files, &ran, &scene.secret),
        began,
        said: ran.debug_output,
        ..Verdict::default()
    });
}

fn print_verdict(verdict: &Verdict) {
    println!("{}", serde_json::to_string(verdict).unwrap());
}

fn run(attack: &Attack, facts: &Facts, way: Invocation) -> Ran {
    let root = way.root(facts);
    match attack.course {
        Course::Whole | Course::SetUpFails => {
            Ran::new(way.exec(attack, facts).output().unwrap(), &root)
        }
        Course::ChildrenIgnored => {
            // The child inherits the ignored signals.
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "trap '' CHLD; exec \"$0\" \"$@\""]);
            let exec = way.exec(attack, facts);
            command.arg(exec.get_program()).args(exec.get_args()).current_dir(&root);
            command.envs(exec.get_envs().map(|(name, value)| (name, value.unwrap())));
            Ran::new(command.output().unwrap(), &root)
        }
        Course::SupervisorKilled | Course::SupervisorKilledEarly => {
            // This caches the facts about the host, so that the first child of the next `actum` is the sandbox helper.
            assert!(way.actum(facts).args(["exec", "--drop", "true"]).status().unwrap().success());
            let ran = course::kill_supervisor(attack, facts, way.exec(attack, facts), true);
            Ran { out: ran.out, ..Ran::default() }
        }
        Course::Terminal => {
            let mut command = Command::new(&facts.program);
            let facts = serde_json::to_string(facts).unwrap();
            command.args(["terminal", attack.name, way.name(), &facts]);
            Ran { out: course::on_terminal(command).out, ..Ran::default() }
        }
    }
}

/// Returns a process whose command line contains the path of the scene, that is, `actum` or a process of the command.
fn left_alive(facts: &Facts, patience: Duration) -> Option<String> {
    let begun = Instant::now();
    loop {
        let left = processes_of(&facts.abstract_name);
        if left.is_none() || begun.elapsed() > patience {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn processes_of(place: &str) -> Option<String> {
    let mut found = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(place).then(|| format!("{} is left: {line:.80}", entry.path().display()))
    });
    found.next()
}

type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Returns the names, modes and contents of all files in a directory, except the state of actum.
fn tree(root: &Path) -> Files {
    let mut found = Files::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if name == Path::new(".actum") {
                continue;
            }
            let content = if metadata.is_file() {
                fs::read(&path).unwrap()
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                Vec::new()
            };
            if metadata.is_dir() {
                left.push(path);
            }
            found.insert(name, (metadata.mode(), content));
        }
    }
    found
}

/// Returns the first path that differs.
fn difference(before: &Files, after: &Files) -> Option<String> {
    let mut paths = before.keys().chain(after.keys());
    let path = paths.find(|path| before.get(*path) != after.get(*path))?;
    Some(format!("`{}` was {:?} and is {:?}", path.display(), before.get(path), after.get(path)))
}

/// Returns a problem unless every change is reported, every reported change can be undone, and no secret was captured.
fn wrong_workspace(
    way: Invocation,
    facts: &Facts,
    before: &Files,
    ran: &Ran,
    secret: &str,
) -> Option<String> {
    let root = way.root(facts);
    let mut after = tree(&root);
    let holds = |(_, content): &(u32, Vec<u8>)| String::from_utf8_lossy(content).contains(secret);
    if let Some((path, _)) = after.iter().find(|(_, file)| holds(file)) {
        return Some(format!("the secret is in `{}`", path.display()));
    }
    let mut before = before.clone();
    if way == Invocation::Cache {
        // Changes in a cache are permanent and do not count as changes to the workspace.
        let is_outside = |path: &PathBuf| !path.starts_with("cache");
        before.retain(|path, _| is_outside(path));
        after.retain(|path, _| is_outside(path));
    }
    let is_change_reported = || way == Invocation::Keep && ran.outcome == "changed";
    match (difference(&before, &after), is_change_reported()) {
        (None, false) => None,
        (Some(differs), false) => Some(format!("changed, and that is not told: {differs}")),
        (None, true) => Some("said to be changed, and is as before".to_owned()),
        (Some(_), true) => {
            let undone = way.actum(facts).arg("undo").output().unwrap();
            let said = String::from_utf8_lossy(&undone.stderr).into_owned();
            (!undone.status.success())
                .then(|| format!("undo failed: {said}"))
                .or_else(|| difference(&before, &tree(&root)).map(|it| format!("undone: {it}")))
        }
    }
}
