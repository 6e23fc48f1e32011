//! Non-goals of the core (seed 004, section 1): effects that no goal may have, whatever its packet contains (AEC-20).

use std::collections::BTreeSet;

use actum::Step;
use actum_agent::packet::{ClarifyPacket, FinderPacket, PacketHead};
use actum_agent::{AgentGoalRequest, ReasonCode};
use actum_ledger::Log;
use actum_record::ledger::{ActionState, EntryKind};
use serde_json::json;

use crate::world::{World, access, agent, goal, reason, with_packet};

/// Returns the kinds of all entries of the ledger.
fn kinds(world: &World) -> BTreeSet<&'static str> {
    let read = |log: &dyn Log| {
        let size = log.size()?;
        (0..size).map(|index| Ok(log.sound_entry(index)?.kind.as_str())).collect()
    };
    world.records.ledger().read(read).unwrap()
}

fn create(world: &World, name: &str) -> AgentGoalRequest {
    world.goal(name, "file_create", json!({"path": name, "content": "text\n"}))
}

/// AEC-20: money is transferred only by a registered simulation.
#[test]
fn no_money_is_transferred_without_a_simulation_and_access() {
    let world = World::new();
    let fields = json!({"to": "bob", "amount": 100});
    let transfer = world.goal("money", "transfer_money", fields);
    assert_eq!(reason(&world.dispatch(&transfer)), Some(ReasonCode::SimulationNotRegistered));
    let nobody = access("forbid (principal, action, resource);");
    let denied = world.dispatch_under(&create(&world, "denied"), &agent(), nobody);
    assert_eq!(reason(&denied), Some(ReasonCode::AccessScopeViolation));
    assert_eq!(world.count(EntryKind::ActionEnded), 0);
}

/// AEC-20: a dispatch grants no permission, gives no approval, promotes no artifact and changes no key. It appends only entries of
/// the agent core and of its action, so no other table changes.
#[test]
fn dispatch_appends_only_agent_core_and_action_entries() {
    let world = World::new();
    let before = (world.catalog(), world.records.keyring().keys().len());
    let done = create(&world, "done");
    world.dispatch(&done);
    world.confirm(&done, "yes", "en");
    world.dispatch(&done);
    let ask = access("permit (principal, action, resource) when { context.approvals >= 1 };");
    let waiting = create(&world, "waiting");
    assert!(world.dispatch_under(&waiting, &agent(), ask.clone()).queued.is_some());
    let again = world.dispatch_under(&waiting, &agent(), ask);
    assert_eq!(
        reason(&again),
        Some(ReasonCode::AccessApRequired),
        "dispatching again approves nothing"
    );
    let expected = [
        EntryKind::LogStarted,
        EntryKind::AgentExecution,
        EntryKind::AgentAccessDecided,
        EntryKind::AgentConfirmation,
        EntryKind::ActionStarted,
        EntryKind::ActionEnded,
        EntryKind::EffectStarted,
        EntryKind::EffectDone,
        EntryKind::PlanQueued,
    ];
    assert_eq!(kinds(&world), expected.map(EntryKind::as_str).into());
    assert_eq!((world.catalog(), world.records.keyring().keys().len()), before);
}

/// AEC-20: a goal that refers to a draft simulation does not promote it.
#[test]
fn dispatch_does_not_activate_a_retired_simulation() {
    let world = World::new();
    world.change_catalog("file_create", &Step::Retire);
    world.dispatch(&create(&world, "retired"));
    let catalog = world.records.catalog().unwrap().in_force().unwrap();
    let state = catalog.find(&"file_create".parse().unwrap()).unwrap().state;
    assert_eq!(state, ActionState::Retired);
    assert_eq!(world.count(EntryKind::CatalogChanged), 1, "the change of the operator");
}

/// AEC-18, AEC-20: a cycle has at most one effect, and its outcome triggers no further action.
#[test]
fn outcome_triggers_no_further_action() {
    let world = World::new();
    let done = create(&world, "done");
    world.dispatch(&done);
    world.confirm(&done, "yes", "en");
    let dispatched = world.dispatch(&done);
    assert_eq!(dispatched.outcome.next_step, None);
    let asked = goal("question");
    let packet = FinderPacket::Clarify(ClarifyPacket {
        head: PacketHead { attempt_counter: 1, ..world.head(&asked) },
        question: "Which file?".to_owned(),
        missing_field: None,
        candidates: Vec::new(),
    });
    world.dispatch(&with_packet(asked, &packet));
    let size = || world.records.ledger().read(|log| log.size()).unwrap();
    let before = size();
    // Neither other work in the workspace nor reading the goals triggers an action.
    let mut engine = world.engine();
    engine.resume().unwrap();
    drop(engine);
    world.replay(&done);
    assert_eq!(size(), before);
    assert_eq!(world.count(EntryKind::EffectStarted), 1);
}
