//! Random task plans on real trees. Each is undone once by actum and once by its rollback script, and every byte and mode is
//! compared (EX-13, EX-16).

use std::path::Path;
use std::process::Command;

use actum::task::{self, Outcome, ProgressObserver, TaskInput};
use actum::{Clock, Engine, Records};
use actum_core::{Digest, Timestamp};
use actum_record::ledger::Actor;
use actum_task::TaskEnvelope;
use actum_task::report::{ReportStatus, TaskStatus};
use serde_json::{Value, json};

use super::Failure;
use super::download::fresh;
use super::tree::{Modes, Tree};

/// Number of plans for each package.
const PLANS: u64 = 3;
/// Number of actions in each plan.
const ACTIONS: u64 = 12;

/// Number of trials, and the problems found.
#[derive(Debug, Default)]
pub(super) struct Tried {
    plans: usize,
    done: usize,
    problems: Vec<String>,
}

impl Tried {
    /// Runs plans on a tree.
    pub(super) fn add(&mut self, package: &str, tree: &Tree, place: &Path) {
        for number in 0..PLANS {
            self.plans += 1;
            match there_and_back(package, number, tree, &place.join("plans")) {
                Ok(true) => self.done += 1,
                Ok(false) => {}
                Err(failure) => self.problems.push(format!("{package}, plan {number}: {failure}")),
            }
        }
    }

    /// Adds the trials of another thread.
    pub(super) fn add_all(&mut self, other: Self) {
        let Self { plans, done, problems } = other;
        self.plans += plans;
        self.done += done;
        self.problems.extend(problems);
    }

    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Summarises the trials on one line.
    pub(super) fn summary(&self) -> String {
        let Self { plans, done, problems } = self;
        format!(
            "Random task plans: {plans}, of which {done} were carried out and taken back twice, and the others rolled \
             back by themselves; {} came out otherwise.\n",
            problems.len()
        )
    }
}

/// Observer that ignores all reports.
struct Nobody;

impl ProgressObserver for Nobody {
    fn report(&mut self, _: &TaskStatus) {}
}

/// Reproducible random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % (end.max(1) as u64)).unwrap_or_default()
    }
}

/// Runs a plan and undoes it. Returns whether the plan succeeded; a plan that was rolled back must leave the tree unchanged.
fn there_and_back(package: &str, number: u64, tree: &Tree, place: &Path) -> Result<bool, Failure> {
    fresh(place)?;
    let (root, home, copy) = (place.join("root"), place.join("home"), place.join("copy"));
    tree.write(&root)?;
    let before = Tree::read(&root)?;
    let seed = Digest::of(package.as_bytes()).as_bytes().first_chunk::<8>().copied();
    let mut chance = Chance(u64::from_le_bytes(seed.unwrap_or_default()) ^ number);
    let plan = plan(&before, &mut chance).to_string().into_bytes();
    let envelope = json!({
        "config": { "file": "config.yaml", "sha256": Digest::of(b"").to_string() },
        "format": TaskEnvelope::FORMAT,
        "plan": { "file": "plan.json", "sha256": Digest::of(&plan).to_string() },
        "protocol_validation": true,
        "status": "APPROVED",
        "task_id": "task",
    });
    let envelope = TaskEnvelope::read(envelope.to_string().as_bytes())?;
    let input = TaskInput { envelope: Some(envelope), plan, ..TaskInput::default() };
    let clock = Clock::new(|| Timestamp::from_micros(1_800_000_000_000_000));
    let actor = Actor { user: "somebody".to_owned(), uid: 1, agent: None };
    let records = Records::open(&home, &"default".parse()?, clock)?;
    let mut engine = Engine::open(&root, records)?;
    let ended = task::run(&mut engine, &root, (Ok(input), actor.clone()), &mut Nobody)?;
    let Outcome::Executed { report, .. } = &ended.outcome else {
        return Err(format!("it was rejected: {:?}", ended.outcome).into());
    };
    let must_be_before = |root: &Path, when: &str| -> Result<(), Failure> {
        let mut found = Tree::read(root)?;
        found.forget(b"agent");
        Ok(found
            .check_same(&before, Modes::All)
            .map_err(|differences| format!("{when}: {differences}"))?)
    };
    if report.status() != ReportStatus::Success {
        must_be_before(&root, "after it rolled back")?;
        return Ok(false);
    }
    let directory = ended.directory.ok_or("it has no reports")?;
    let copied = Command::new("cp").arg("-a").args([&root, &copy]).status()?;
    let script =
        Command::new("sh").arg(directory.file("rollback.sh")).current_dir(&copy).output()?;
    if !copied.success() || !script.status.success() {
        return Err(format!("the script: {}", String::from_utf8_lossy(&script.stderr)).into());
    }
    must_be_before(&copy, "after the script")?;
    task::rollback(&mut engine, &root, ("task", actor))?;
    must_be_before(&root, "after the rollback")?;
    Ok(true)
}

/// Creates a plan for existing files. Protected paths and paths that JSON cannot represent are skipped.
fn plan(tree: &Tree, chance: &mut Chance) -> Value {
    let is_plain =
        |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    let is_fit = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let protected =
            ["readme", "setup", "requirements", "pyproject", "credentials", "secrets", "."];
        is_plain(name)
            && !protected.iter().any(|word| last.starts_with(word))
            && !name.contains("/.")
            && !name.starts_with('.')
    };
    let names: Vec<_> = tree
        .files
        .iter()
        .filter(|(_, leaf)| {
            leaf.content.len() < 1 << 20 && std::str::from_utf8(&leaf.content).is_ok()
        })
        .filter_map(|(path, leaf)| {
            let name = String::from_utf8(path.clone()).ok().filter(|name| is_fit(name))?;
            Some((name, leaf.content.iter().filter(|&&byte| byte == b'\n').count()))
        })
        .filter(|(name, lines)| *lines > 2 && !name.ends_with(".json") && !name.contains("ml"))
        .collect();
    let actions = (0..ACTIONS).map(|number| {
        let id = format!("a{number}");
        let act = |kind: &str, target: &str, operation: Value| {
            json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation })
        };
        let made = act("FILE_CREATE", &format!("made/{number}/new"), json!({ "type": "create", "content": "new\n" }));
        let Some((name, lines)) = names.get(chance.below(names.len())) else { return made };
        let line = 1 + chance.below(*lines);
        match chance.below(6) {
            0 => made,
            1 => act("FILE_DELETE", name, json!({ "type": "delete" })),
            2 => act("FILE_RENAME", name, json!({ "type": "rename", "new_path": format!("moved/{number}") })),
            3 => act("FILE_MODIFY", name, json!({ "type": "line_delete", "start_line": line, "end_line": line })),
            4 => act("FILE_MODIFY", name, json!({ "type": "line_insert", "line_number": line, "content": "one more\n" })),
            _ => act("FILE_MODIFY", name, json!({ "type": "content", "content": "all of it\n" })),
        }
    });
    json!({ "plan_id": "random", "action_plan": actions.collect::<Vec<_>>() })
}
