//! Tests the facts of ledger entries about actions and the action catalog.

use super::*;
use crate::ledger::{ActionCheck, ActionState, Agreed, Attempt, Confidence};

/// AA-5, AA-13: the facts of an `ACTION_STARTED` entry name the approval that the action uses, and the facts of an
/// `ACTION_ENDED` entry contain the status of the action.
#[test]
fn action_entry_facts_contain_the_approval_and_status() {
    let plan = judged(3);
    let JudgedPlan { tenant, workspace, root, label, actor, door, bound, engine, .. } =
        plan.clone();
    let begun = ActionStarted {
        format: ActionStarted::FORMAT.to_owned(),
        time: started(3).time,
        tenant,
        workspace,
        root,
        id: run(50),
        action_id: Some("action:example".to_owned()),
        action_type: "run_command".parse().unwrap(),
        tier: RiskTier::R3,
        confidence: Confidence::new(0.5),
        reason: Some(label),
        plan: Digest::of(b"plan"),
        actor,
        door,
        agreed: Some(Agreed { bound, approval: approval(3) }),
        engine,
    };
    let body = canonical::to_vec(&begun).unwrap();
    let entry = approval(3).entry;
    let expected = EntryFacts {
        plan: Some(approval(3).plan),
        judged: Some(bound.judged()),
        workspace: Some(workspace),
        follows: Some((entry.index, entry.leaf)),
        blobs: vec![bound.policy],
        ..nothing(EntryKind::ActionStarted)
    };
    assert_eq!(EntryFacts::parse(EntryKind::ActionStarted, &body).unwrap(), expected);
    // An action that ran without an approval does not refer to a plan.
    let body = canonical::to_vec(&ActionStarted { agreed: None, ..begun }).unwrap();
    let expected = EntryFacts { workspace: Some(workspace), ..nothing(EntryKind::ActionStarted) };
    assert_eq!(EntryFacts::parse(EntryKind::ActionStarted, &body).unwrap(), expected);
    for status in Status::ALL {
        let ended = ended(status);
        let body = canonical::to_vec(&ended).unwrap();
        let expected = EntryFacts {
            run: ended.run,
            workspace: Some(workspace),
            status: Some(status),
            ..nothing(EntryKind::ActionEnded)
        };
        assert_eq!(EntryFacts::parse(EntryKind::ActionEnded, &body).unwrap(), expected);
        // An `ACTION_ENDED` entry must not parse as `ACTION_STARTED`, and deserializing it must return the original value.
        assert!(EntryFacts::parse(EntryKind::ActionStarted, &body).is_err());
        assert_eq!(serde_json::from_slice::<ActionEnded>(&body).unwrap(), ended);
    }
}

fn ended(status: Status) -> ActionEnded {
    let JudgedPlan { tenant, workspace, root, actor, door, engine, .. } = judged(3);
    ActionEnded {
        format: ActionEnded::FORMAT.to_owned(),
        time: started(3).time,
        tenant,
        workspace,
        root,
        id: run(50),
        action_id: Some("action:example".to_owned()),
        action_type: "run_command".parse().unwrap(),
        tier: RiskTier::R2,
        confidence: Confidence::new(1.0),
        reason: None,
        plan: Digest::of(b"plan"),
        actor,
        door,
        status,
        ground: Some("SCOPE_FORBIDDEN".to_owned()),
        message: None,
        checks: vec![ActionCheck {
            name: "a \"b\"".to_owned(),
            ok: false,
            exit_code: Some(-1),
            duration_ms: None,
        }],
        repair: Attempt { attempted: true, ok: false },
        rollback: Attempt::default(),
        run: (status == Status::Succeeded).then(|| run(51)),
        queued: None,
        approved: None,
        duration_ms: 7,
        engine,
    }
}

/// AA-13: an `ACTION_ENDED` entry is rejected if one of its fields is unknown, incomplete or invalid.
#[test]
fn invalid_action_feedback_is_rejected() {
    let sound = serde_json::to_value(ended(Status::Failed)).unwrap();
    for (name, value) in [
        ("format", json!("actum.action-ended/2")),
        ("confidence", json!(1.5)),
        ("confidence", json!(-0.5)),
        ("action_type", json!("Run Command")),
        ("tier", json!("R5")),
        ("status", json!("done")),
        ("repair", json!({ "attempted": true })),
        ("repair", json!({ "attempted": true, "ok": true, "more": 1 })),
        ("checks", json!([{ "name": "x", "ok": 1 }])),
        ("unknown", json!(1)),
        ("duration_ms", json!(-1)),
    ] {
        let mut other = sound.clone();
        other[name] = value;
        let body = canonical::to_vec(&other).unwrap();
        assert!(EntryFacts::parse(EntryKind::ActionEnded, &body).is_err(), "{name}");
    }
}

/// AA-13: the facts of a catalog change name the preceding change and the document that contains the new catalog.
#[test]
fn catalog_change_facts_name_the_preceding_and_new_catalog() {
    let follows = approval(3).entry;
    for to in ActionState::ALL {
        let changed = CatalogChanged {
            format: CatalogChanged::FORMAT.to_owned(),
            time: started(3).time,
            tenant: TenantId::default(),
            follows: follows.clone(),
            action: "run_command".parse().unwrap(),
            from: None,
            to,
            reason: Some("reviewed".to_owned()),
            snapshot: Digest::of(b"snapshot"),
            by: actor(0),
            isolation: Isolation::SameUser,
        };
        let payload = canonical::to_vec(&changed).unwrap();
        let envelope = json!({
            "payload": STANDARD.encode(&payload),
            "payloadType": CatalogChanged::PAYLOAD_TYPE,
            "signatures": [],
        });
        let body = canonical::to_vec(&envelope).unwrap();
        let expected = EntryFacts {
            follows: Some((follows.index, follows.leaf)),
            blobs: vec![Digest::of(b"snapshot")],
            ..nothing(EntryKind::CatalogChanged)
        };
        assert_eq!(EntryFacts::parse(EntryKind::CatalogChanged, &body).unwrap(), expected);
        assert_eq!(serde_json::from_slice::<CatalogChanged>(&payload).unwrap(), changed);
        assert!(EntryFacts::parse(EntryKind::PlanAnswered, &body).is_err());
        assert!(EntryFacts::parse(EntryKind::CatalogChanged, &payload).is_err());
    }
}
