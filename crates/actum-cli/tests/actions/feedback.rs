//! The outcomes of actions as a planner reads them with `actum feedback`.

use std::path::Path;

use crate::program::{Ended, actum, home_of, workspace};
use actum::{Clock, Records};
use actum_core::{Digest, RiskTier, RunId, Status, Timestamp};
use actum_record::ledger::{ActionCheck, ActionEnded, Actor, Attempt, Confidence};
use serde_json::{Value, json};

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn ended(number: i64, action: &str, status: Status) -> ActionEnded {
    ActionEnded {
        format: ActionEnded::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_262_400_000_000 + number),
        tenant: "default".parse().unwrap(),
        workspace: "w0000000000k".parse().unwrap(),
        root: "/home/ada/project".to_owned(),
        id: RunId::from_random(number.cast_unsigned()),
        action_id: Some(format!("action:{number}")),
        action_type: action.parse().unwrap(),
        tier: RiskTier::R2,
        confidence: Confidence::new(0.75),
        reason: Some("the build is \u{1b}[31mbroken".to_owned()),
        plan: Digest::of(b"plan"),
        actor: Actor { user: "ada".to_owned(), uid: 1000, agent: Some("builder".to_owned()) },
        door: "action".to_owned(),
        status,
        ground: (status == Status::Rejected).then(|| "SCOPE_FORBIDDEN".to_owned()),
        message: (status == Status::Rejected).then(|| "`a` is forbidden".to_owned()),
        checks: vec![ActionCheck {
            name: "cargo test".to_owned(),
            ok: status == Status::Succeeded,
            exit_code: Some(i32::from(status != Status::Succeeded)),
            duration_ms: Some(40),
        }],
        repair: Attempt { attempted: status == Status::Reverted, ok: false },
        rollback: Attempt { attempted: status == Status::Reverted, ok: true },
        run: (status == Status::Succeeded).then(|| RunId::from_random(77)),
        queued: None,
        approved: None,
        duration_ms: 52,
        engine: "actum 0.1.0".to_owned(),
    }
}

/// Records the outcomes of actions as the action API does.
fn written(root: &Path, all: &[ActionEnded]) {
    let home = home_of(root);
    let records = Records::open(&home, &"default".parse().unwrap(), Clock::fixed(0)).unwrap();
    for ended in all {
        records.append_feedback(ended).unwrap();
    }
}

/// AA-13
#[test]
fn feedback_is_filtered_by_action_and_status_newest_first() {
    let (_directory, root) = workspace();
    crate::program::without_ledger(&root);
    let none = actum(&root, &["feedback"]);
    assert_eq!((none.code, &*none.stdout), (0, "no matching actions\n"));
    assert!(!home_of(&root).exists());
    written(
        &root,
        &[
            ended(1, "file_modify", Status::Succeeded),
            ended(2, "run_command", Status::Rejected),
            ended(3, "file_modify", Status::Reverted),
        ],
    );
    let ids = |arguments: &[&str]| -> Vec<Value> {
        let shown = value(&actum(&root, &[&["feedback", "--json"], arguments].concat()));
        assert_eq!(shown["format"], "actum.feedback/1");
        let actions = shown["actions"].as_array().unwrap().clone();
        actions.into_iter().map(|action| action["action_id"].clone()).collect()
    };
    assert_eq!(ids(&[]), ["action:3", "action:2", "action:1"]);
    assert_eq!(ids(&["--limit", "1"]), ["action:3"]);
    assert_eq!(ids(&["--action", "file_modify"]), ["action:3", "action:1"]);
    assert_eq!(ids(&["--status", "rejected"]), ["action:2"]);
    assert_eq!(ids(&["--action", "file_modify", "--status", "succeeded"]), ["action:1"]);
    assert_eq!(ids(&["--action", "undo_run"]), Vec::<Value>::new());
    assert_eq!(actum(&root, &["feedback", "--status", "done"]).code, 2);
    assert_eq!(actum(&root, &["feedback", "--action", "Not a name"]).code, 2);
    let shown = value(&actum(&root, &["feedback", "--status", "rejected", "--json"]));
    let shown = &shown["actions"][0];
    assert_eq!((&shown["ground"], &shown["tier"]), (&json!("SCOPE_FORBIDDEN"), &json!("R2")));
    assert_eq!((&shown["confidence"], &shown["duration_ms"]), (&json!(0.75), &json!(52)));
    assert_eq!(shown["repair"], json!({ "attempted": false, "ok": false }));
    assert_eq!(shown["checks"][0]["exit_code"], 1);
    assert_eq!(shown["actor"]["agent"], "builder");
    assert_eq!(value(&actum(&root, &["ledger", "verify", "--json"]))["sound"], true);
}

/// AA-13: text written by an agent cannot send control sequences to the terminal.
#[test]
fn feedback_is_printed_as_text_without_control_sequences() {
    let (_directory, root) = workspace();
    written(
        &root,
        &[ended(1, "run_command", Status::Rejected), ended(2, "file_modify", Status::Reverted)],
    );
    let shown = actum(&root, &["feedback"]).stdout;
    assert!(!shown.contains('\u{1b}'), "{shown}");
    for part in [
        "  rejected   R2  run_command  52 ms  #1\n",
        "              SCOPE_FORBIDDEN: `a` is forbidden\n",
        "              the check `cargo test` failed\n",
        "              the action could not be repaired\n",
        "              the action was rolled back\n",
    ] {
        assert!(shown.contains(part), "{part}{shown}");
    }
    assert!(shown.lines().next().unwrap().contains("  reverted "), "{shown}");
}
