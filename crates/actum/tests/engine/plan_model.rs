//! Compares plan envelopes with a model. Each gets the status that the rules require, and only successful ones have an
//! effect.

use std::collections::BTreeMap;

use crate::grounds::{Grounds, engine};
use actum::{Engine, Proposal};
use actum_action::{PlanEnvelope, ResultEnvelope};
use actum_core::{RiskTier, Status};
use actum_ledger::Log;
use actum_record::ledger::{ActionEnded, Actor, EntryKind};
use actum_testkit::{Node, SimDisk};
use actum_workspace::State;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

const PATHS: [&str; 4] = ["a", "b", "d/x", "e"];
/// Maximum number of plans that one actor may have in the queue.
const ENVELOPES_IN_ONE_LOG: usize = 100;
const LOGS: u32 = 100;

/// Files of the model.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Clone)]
enum Act {
    Create(usize, u8),
    Modify(usize, u8),
    Delete(usize),
    Rename(usize, usize),
    Copy(usize, usize),
    /// Action that is not in the catalog.
    Unknown,
    /// Input with an unknown member.
    Misspelt(usize),
    /// Path outside the workspace.
    Outside,
}

#[derive(Debug, Clone)]
struct Asked {
    act: Act,
    tier: Option<RiskTier>,
    required: bool,
    /// Whether there is a rollback plan. A missing plan can take several forms.
    rollback: (bool, usize),
    files: Vec<usize>,
    dirs: Vec<&'static str>,
    forbidden: Vec<usize>,
    /// Whether the scope has an entry that is not a path.
    is_odd: bool,
    /// Whether there is a check that has no runner.
    command: bool,
}

fn asked() -> impl Strategy<Value = Asked> {
    let path = || 0..PATHS.len();
    let act = prop_oneof![
        4 => (path(), 0..3u8).prop_map(|(p, c)| Act::Create(p, c)),
        4 => (path(), 0..3u8).prop_map(|(p, c)| Act::Modify(p, c)),
        3 => path().prop_map(Act::Delete),
        2 => (path(), path()).prop_map(|(f, t)| Act::Rename(f, t)),
        2 => (path(), path()).prop_map(|(f, t)| Act::Copy(f, t)),
        1 => Just(Act::Unknown),
        1 => path().prop_map(Act::Misspelt),
        1 => Just(Act::Outside),
    ];
    let tier = prop_oneof![
        1 => Just(None),
        1 => Just(Some(RiskTier::R0)),
        1 => Just(Some(RiskTier::R1)),
        6 => Just(Some(RiskTier::R2)),
        1 => Just(Some(RiskTier::R3)),
        1 => Just(Some(RiskTier::R4)),
    ];
    let dirs = prop::sample::subsequence(vec![".", "d", "d/"], 0..3);
    let files = prop::collection::vec(path(), 0..4);
    let forbidden = prop::collection::vec(path(), 0..2);
    let often = |share| prop::bool::weighted(share);
    let flags = (often(0.9), (often(0.9), 0..3usize), often(0.05), often(0.05));
    (act, tier, files, dirs, forbidden, flags).prop_map(
        |(act, tier, files, dirs, forbidden, (required, rollback, is_odd, command))| Asked {
            act,
            tier,
            required,
            rollback,
            files,
            dirs,
            forbidden,
            is_odd,
            command,
        },
    )
}

fn content(of: u8) -> String {
    format!("content {of}\n")
}

impl Asked {
    fn plan(&self) -> PlanEnvelope {
        let (name, input) = match self.act {
            Act::Create(p, c) => {
                ("file_create", json!({ "path": PATHS[p], "content": content(c) }))
            }
            Act::Modify(p, c) => {
                ("file_modify", json!({ "path": PATHS[p], "content": content(c) }))
            }
            Act::Delete(p) => ("file_delete", json!({ "path": PATHS[p] })),
            Act::Rename(f, t) => ("file_rename", json!({ "from": PATHS[f], "to": PATHS[t] })),
            Act::Copy(f, t) => ("file_copy", json!({ "from": PATHS[f], "to": PATHS[t] })),
            Act::Unknown => ("make_coffee", json!({})),
            Act::Misspelt(p) => ("file_delete", json!({ "path": PATHS[p], "patth": "" })),
            Act::Outside => ("file_delete", json!({ "path": "../a" })),
        };
        let rollback = match self.rollback {
            (true, 0) => json!("undo the run"),
            (true, _) => json!({ "kind": "undo" }),
            (false, 0) => Value::Null,
            (false, 1) => json!({}),
            (false, _) => json!(" "),
        };
        let names = |of: &[usize]| of.iter().map(|p| PATHS[*p]).collect::<Vec<_>>();
        let mut files = names(&self.files);
        files.extend(self.is_odd.then_some("d/../a"));
        let commands: &[&str] = if self.command { &["true"] } else { &[] };
        let mut plan = json!({
            "actionType": name,
            "input": input,
            "rollbackPlan": rollback,
            "verification": { "required": self.required, "commands": commands },
            "scope": {
                "allowedFiles": files,
                "allowedDirs": self.dirs,
                "forbiddenFiles": names(&self.forbidden),
            },
        });
        if let Some(tier) = self.tier {
            plan["riskTier"] = json!(tier);
        }
        PlanEnvelope::read(plan.to_string().as_bytes()).unwrap()
    }

    /// Returns the written paths if all of them are in the workspace.
    fn written(&self) -> Vec<&'static str> {
        match self.act {
            Act::Create(p, _) | Act::Modify(p, _) | Act::Delete(p) => vec![PATHS[p]],
            Act::Rename(f, t) => vec![PATHS[f], PATHS[t]],
            Act::Copy(_, t) => vec![PATHS[t]],
            Act::Unknown | Act::Misspelt(_) | Act::Outside => Vec::new(),
        }
    }

    fn is_in_scope(&self) -> bool {
        self.written().iter().all(|path| {
            let listed = |of: &[usize]| of.iter().any(|p| PATHS[*p] == *path);
            let in_dir = |dir: &&str| *dir == "." || path.starts_with("d/");
            !listed(&self.forbidden) && (listed(&self.files) || self.dirs.iter().any(in_dir))
        })
    }

    /// Returns the result that the rules require, checking them in their order, and updates the files.
    fn expected(&self, files: &mut Files) -> (Status, Option<&'static str>) {
        let rejected = |reason| (Status::Rejected, Some(reason));
        let tier = self.tier.unwrap_or(RiskTier::R4).max(RiskTier::R2);
        match self.act {
            Act::Unknown => return rejected("UNKNOWN_ACTION"),
            Act::Misspelt(_) => return rejected("ACTION_INPUT_INVALID"),
            Act::Outside => return rejected("PATH_REFUSED"),
            Act::Create(..)
            | Act::Modify(..)
            | Act::Delete(_)
            | Act::Rename(..)
            | Act::Copy(..) => {}
        }
        if tier == RiskTier::R2 && !self.required {
            return rejected("VERIFICATION_NEEDED");
        }
        if tier == RiskTier::R2 && !self.rollback.0 {
            return rejected("ROLLBACK_PLAN_NEEDED");
        }
        if self.is_odd {
            return rejected("SCOPE_UNUSABLE");
        }
        if !self.is_in_scope() {
            return rejected("OUTSIDE_SCOPE");
        }
        if self.command {
            return rejected("SANDBOX_FAILED");
        }
        let mut after = files.clone();
        let failed = |reason| (Status::Reverted, Some(reason));
        match self.act {
            Act::Rename(from, _) | Act::Copy(from, _) if !files.contains_key(PATHS[from]) => {
                return failed("FILE_MISSING");
            }
            Act::Create(p, _) | Act::Rename(_, p) | Act::Copy(_, p)
                if files.contains_key(PATHS[p]) =>
            {
                return failed("PATH_EXISTS");
            }
            Act::Modify(p, _) | Act::Delete(p) if !files.contains_key(PATHS[p]) => {
                return failed("FILE_MISSING");
            }
            Act::Create(p, c) | Act::Modify(p, c) => {
                after.insert(PATHS[p].to_owned(), content(c).into_bytes());
            }
            Act::Delete(p) => {
                after.remove(PATHS[p]);
            }
            Act::Rename(f, t) => {
                let moved = after.remove(PATHS[f]).unwrap();
                after.insert(PATHS[t].to_owned(), moved);
            }
            Act::Copy(f, t) => {
                after.insert(PATHS[t].to_owned(), after[PATHS[f]].clone());
            }
            Act::Unknown | Act::Misspelt(_) | Act::Outside => {}
        }
        if tier > RiskTier::R2 {
            return (Status::Queued, Some("NEEDS_APPROVAL"));
        }
        *files = after;
        (Status::Succeeded, None)
    }
}

fn files(disk: &SimDisk) -> Files {
    let nodes = disk.snapshot_without(".actum").into_iter();
    let file = |(path, node)| match node {
        Node::File { bytes, .. } => Some((path, bytes.to_vec())),
        Node::Directory { .. } | Node::Symlink { .. } | Node::Special => None,
    };
    nodes.filter_map(file).collect()
}

fn last_feedback(grounds: &Grounds) -> ActionEnded {
    let entries = grounds.store.entries(0, u64::MAX).unwrap();
    let last =
        entries.into_iter().rev().find(|entry| entry.kind == EntryKind::ActionEnded).unwrap();
    serde_json::from_slice(&last.body).unwrap()
}

fn holds(all: &[Asked]) {
    let grounds = Grounds::new();
    let disk = crate::grounds::disk(&grounds);
    let mut model = files(&disk);
    let mut engine: Engine<SimDisk> = engine(&disk, grounds.records()).unwrap();
    for (index, asked) in all.iter().enumerate() {
        let before = model.clone();
        let (status, reason) = asked.expected(&mut model);
        let actor = Actor { user: format!("agent {index}"), uid: 1000, agent: None };
        let proposal = Proposal { plan: asked.plan(), actor, key: None, wait: false };
        let started = grounds.store.count(EntryKind::EffectStarted);
        let acted = engine.act(&proposal).unwrap();
        let result = &acted.envelope;
        let actual = result.feedback.get("reason").and_then(Value::as_str);
        assert_eq!((result.status, actual), (status, reason), "{asked:?}\n{result:?}");
        assert_eq!(files(&disk), model, "{asked:?}");
        assert_eq!(result.verification.ok, status == Status::Succeeded);
        assert_eq!(result.rollback.ok, status == Status::Reverted, "{asked:?}");
        let began = usize::from(status == Status::Succeeded && model != before);
        assert_eq!(grounds.store.count(EntryKind::EffectStarted), started + began);
        assert_eq!(ResultEnvelope::read(&result.write().unwrap()).unwrap(), *result);
        let feedback = last_feedback(&grounds);
        assert_eq!((feedback.status, feedback.ground.as_deref()), (status, reason));
        assert_eq!((feedback.tier, &feedback.action_type), (result.risk_tier, &result.action_type));
    }
    assert_eq!(grounds.store.count(EntryKind::ActionEnded), all.len());
}

/// AA-1, AA-2, AA-3, AA-4, AA-5, AA-13: ten thousand random envelopes are checked.
#[test]
fn ten_thousand_envelopes_get_the_status_required_by_the_rules() {
    let config = Config { cases: LOGS, failure_persistence: None, ..Config::default() };
    let envelopes = prop::collection::vec(asked(), ENVELOPES_IN_ONE_LOG);
    let result = TestRunner::new(config).run(&envelopes, |all| {
        holds(&all);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// AA-2, AA-13: finished work is not undone if its outcome cannot be recorded.
#[test]
fn error_reports_the_workspace_state_when_recording_fails() {
    let plan = PlanEnvelope::read(
        json!({
            "actionType": "file_create",
            "riskTier": "R2",
            "input": { "path": "made", "content": "new" },
            "rollbackPlan": "undo",
            "verification": { "required": true, "commands": [] },
            "scope": { "allowedDirs": ["."] },
        })
        .to_string()
        .as_bytes(),
    )
    .unwrap();
    let actor = Actor { user: "ada".to_owned(), uid: 1000, agent: None };
    let proposal = Proposal { plan, actor, key: None, wait: false };
    // These are the appends of the intent, the receipt and the feedback.
    for append in 0..3 {
        let grounds = Grounds::new();
        let disk = crate::grounds::disk(&grounds);
        let mut engine: Engine<SimDisk> = engine(&disk, grounds.records()).unwrap();
        grounds.store.is_full_from(append);
        let error = engine.act(&proposal).unwrap_err();
        let is_made = files(&disk).contains_key("made");
        assert_eq!(is_made, append > 0, "{error}");
        let state = if is_made { State::Published } else { State::Unchanged };
        assert_eq!(error.workspace(), state, "{error}");
        assert_eq!(
            error.to_string().contains("changed nothing"),
            !is_made && append > 0,
            "{error}"
        );
    }
}
