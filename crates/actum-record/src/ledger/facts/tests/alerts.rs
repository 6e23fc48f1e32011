//! Tests the facts of ledger entries about alerts and about history that garbage collection removed.

use super::*;
use crate::ledger::{AlertRaised, AlertSeen, HistoryForgotten, Isolation, Retention};

fn raised() -> AlertRaised {
    AlertRaised {
        format: AlertRaised::FORMAT.to_owned(),
        time: started(3).time,
        tenant: TenantId::default(),
        workspace: Some(WorkspaceId::from_random(3)),
        root: Some("/home/ada/project".to_owned()),
        actor: Some(actor(1)),
        door: "task plan".to_owned(),
        label: label(2),
        code: Some(3100),
        name: "PROTECTED_FILE_VIOLATION".to_owned(),
        message: "`.env` is protected".to_owned(),
        more: 2,
        run: Some(run(3)),
        reports: None,
        engine: "actum 0.1.0".to_owned(),
    }
}

/// EX-18: the facts of an alert do not name its run, because an alert neither starts nor ends a run. An entry that marks the
/// alert as seen refers to the entry of the alert.
#[test]
fn alert_facts_name_the_workspace_and_seen_marks_name_the_alert() {
    let time = raised().time;
    let expected =
        EntryFacts { time, workspace: raised().workspace, ..nothing(EntryKind::AlertRaised) };
    let body = canonical::to_vec(&raised()).unwrap();
    assert_eq!(EntryFacts::parse(EntryKind::AlertRaised, &body).unwrap(), expected);
    assert_eq!(serde_json::from_slice::<AlertRaised>(&body).unwrap(), raised());
    let alert = approval(3).entry;
    let seen = AlertSeen {
        format: AlertSeen::FORMAT.to_owned(),
        time,
        tenant: TenantId::default(),
        workspace: raised().workspace,
        alert: alert.clone(),
        by: actor(2),
    };
    let body = canonical::to_vec(&seen).unwrap();
    let follows = Some((alert.index, alert.leaf));
    let expected = EntryFacts { kind: EntryKind::AlertSeen, follows, ..expected };
    assert_eq!(EntryFacts::parse(EntryKind::AlertSeen, &body).unwrap(), expected);
    assert!(EntryFacts::parse(EntryKind::AlertRaised, &body).is_err());
    let mut other = serde_json::to_value(raised()).unwrap();
    other["format"] = json!("actum.alert-raised/2");
    let body = canonical::to_vec(&other).unwrap();
    assert!(EntryFacts::parse(EntryKind::AlertRaised, &body).is_err());
}

/// FO-9: an entry about removed history must be an envelope. Its facts name the workspace, but none of the removed runs.
#[test]
fn removed_history_facts_name_the_workspace() {
    let forgotten = HistoryForgotten {
        format: HistoryForgotten::FORMAT.to_owned(),
        time: started(3).time,
        tenant: TenantId::default(),
        workspace: WorkspaceId::from_random(3),
        root: "/home/ada/project".to_owned(),
        runs: vec![run(1), run(2)],
        bytes: 16384,
        kept: 3,
        retention: Retention::default(),
        by: actor(1),
        approved: Some(Isolation::Passphrase),
    };
    let payload = canonical::to_vec(&forgotten).unwrap();
    let envelope = serde_json::json!({
        "payload": STANDARD.encode(&payload),
        "payloadType": HistoryForgotten::PAYLOAD_TYPE,
        "signatures": [],
    });
    let body = canonical::to_vec(&envelope).unwrap();
    let facts = EntryFacts::parse(EntryKind::HistoryForgotten, &body).unwrap();
    assert_eq!((facts.workspace, facts.time), (Some(forgotten.workspace), forgotten.time));
    assert_eq!((facts.run, facts.follows), (None, None));
    assert!(EntryFacts::parse(EntryKind::HistoryForgotten, &payload).is_err());
    assert!(EntryFacts::parse(EntryKind::PlanAnswered, &body).is_err());
}
