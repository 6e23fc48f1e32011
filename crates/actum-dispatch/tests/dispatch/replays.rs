//! Replays of decisions (AEC-11).

use actum::Step;
use actum_agent::bundle::{AgentBundle, Identity};
use actum_agent::{AgentGoalRequest, ReasonCode, decide};
use actum_core::{Digest, canonical};
use actum_dispatch::ReplayCode;
use actum_gate::Policy;
use actum_ledger::NewEntry;
use actum_record::ledger::{AgentEventKind, AgentExecution, AgentState, EntryKind};
use serde_json::json;

use crate::world::{World, access, agent, goal, reason};

/// AEC-11: a replay of each decision about a goal, including "no", has the same result.
#[test]
fn each_decision_on_a_goal_is_replayed() {
    let world = World::new();
    let fields = json!({"path": "a", "content": "text\n"});
    let done = world.goal("one", "file_create", fields.clone());
    world.dispatch(&done);
    world.confirm(&done, "sí", "es");
    world.dispatch(&done);
    let denied = world.goal("two", "file_create", fields);
    world.dispatch_under(
        &denied,
        &agent(),
        access("permit (principal == User::\"bob\", action, resource);"),
    );
    let unreadable = goal("three");
    world.dispatch(&unreadable);
    let mut decisions = 0;
    for goal in [&done, &denied, &unreadable] {
        let report = world.replay(goal);
        assert!(report.is_same(), "{report:?}");
        decisions += report.decisions.len();
    }
    assert_eq!(decisions, 3 + 2 + 1 + 2 + 1, "events, access decisions and the answer");
}

/// Appends a copy of the newest event of a goal with a different bundle and different fields.
fn forge(
    world: &World,
    goal: &AgentGoalRequest,
    change: impl FnOnce(&mut AgentBundle, &mut AgentExecution),
) {
    let chain = world.chain(goal);
    let (_, newest) = chain.executions().next_back().unwrap();
    let ledger = world.records.ledger();
    let bundle = ledger.read(|log| log.blob(&newest.refs.bundle)).unwrap().unwrap();
    let mut bundle: AgentBundle = serde_json::from_slice(&bundle).unwrap();
    let mut event = newest.clone();
    change(&mut bundle, &mut event);
    let bytes = bundle.to_vec().unwrap();
    event.refs.bundle = Digest::of(&bytes);
    event.decision = decide(&bundle).digest(&bytes).unwrap();
    let body = canonical::to_vec(&event).unwrap();
    let entry = NewEntry { kind: EntryKind::AgentExecution, body, blobs: vec![bytes] };
    ledger.append(vec![entry]).wait().unwrap();
}

fn codes(world: &World, goal: &AgentGoalRequest) -> Vec<ReplayCode> {
    let decisions = world.replay(goal).decisions;
    decisions.into_iter().filter_map(|it| it.problem).map(|(code, _)| code).collect()
}

/// AEC-9, AEC-11: a well-formed entry with a forged history or a different action is detected.
#[test]
fn event_with_a_forged_history_or_action_is_detected() {
    let world = World::new();
    let fields = json!({"path": "a", "content": "text\n"});
    let history = world.goal("history", "file_create", fields.clone());
    world.dispatch(&history);
    forge(&world, &history, |bundle, _| bundle.history.ambiguous_answers = 1);
    assert_eq!(codes(&world, &history), [ReplayCode::HistoryMismatch]);
    let link = world.goal("link", "file_create", fields);
    world.dispatch(&link);
    forge(&world, &link, |bundle, event| {
        bundle.history.last = Some(event.time);
        bundle.history.goal = Some(bundle.goal.fingerprint);
        event.simulation_entry = Some(Digest::of(b"no action"));
    });
    assert_eq!(codes(&world, &link), [ReplayCode::LinkMismatch]);
}

/// AEC-11: a mismatch fails closed. The failed replay is recorded as an event, and no further effect of the goal starts.
#[test]
fn goal_with_a_failed_replay_is_no_longer_dispatched() {
    let world = World::new();
    let fields = json!({"path": "a", "content": "text\n"});
    let goal = world.goal("drift", "file_create", fields);
    world.dispatch(&goal);
    world.replay(&goal).record(&world.records, &agent().actor).unwrap();
    assert_eq!(world.events(&goal).len(), 1, "a replay that is the same is no event");
    forge(&world, &goal, |bundle, _| bundle.history.ambiguous_answers = 1);
    for _ in 0..2 {
        world.replay(&goal).record(&world.records, &agent().actor).unwrap();
    }
    let last = (AgentEventKind::ReplayMismatch, AgentState::ReplayFailed);
    assert_eq!(world.events(&goal)[2..], [last], "it is recorded once");
    world.confirm(&goal, "yes", "en");
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::ReplayFailed));
    assert_eq!(world.count(EntryKind::EffectStarted), 0);
}

/// AEC-11: facts about a simulation that the catalog lacks, and a user that no host asserted, are detected.
#[test]
fn forged_simulation_or_host_facts_are_detected() {
    let world = World::new();
    let fields = json!({"path": "a", "content": "text\n"});
    let harmless = world.goal("harmless", "file_create", fields.clone());
    world.dispatch(&harmless);
    forge(&world, &harmless, |bundle, event| {
        let simulation = bundle.simulation.as_mut().unwrap();
        (simulation.impactful, simulation.side_effecting, simulation.irreversible) =
            (false, false, false);
        bundle.history.last = Some(event.time);
        bundle.history.goal = Some(bundle.goal.fingerprint);
    });
    assert_eq!(codes(&world, &harmless), [ReplayCode::DecisionMismatch]);
    let host = world.goal("host", "file_create", fields);
    world.dispatch(&host);
    forge(&world, &host, |bundle, event| {
        // Refer to a document in the ledger that is not an assertion.
        let assertion = event.refs.policy_snapshot;
        bundle.caller.identity = Identity::Host { key: "0123456789abcdef".to_owned(), assertion };
        event.refs.host_assertion = Some(assertion);
    });
    assert_eq!(codes(&world, &host), [ReplayCode::DecisionMismatch]);
}

/// AEC-11, AEC-16: after any number of changes, a running process decides by the current catalog and policy, just as a new process
/// does.
#[test]
fn decisions_follow_random_catalog_and_policy_changes() {
    let world = World::new();
    let denies = || access("forbid (principal, action, resource);");
    let mut seed = 7_u64;
    let mut is_active = true;
    for round in 0..60 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (turns, is_denied) = (seed >> 60 < 4, seed >> 56 & 15 < 4);
        if turns {
            is_active = !is_active;
            let step = if is_active { Step::Activate { package: None } } else { Step::Retire };
            world.change_catalog("file_create", &step);
        }
        let name = format!("goal-{round}");
        let goal = world.goal(&name, "file_create", json!({"path": name, "content": "text\n"}));
        let policy = if is_denied { denies() } else { Policy::default() };
        let decided = reason(&world.dispatch_under(&goal, &agent(), policy));
        let expected = match (is_denied, is_active) {
            (true, _) => ReasonCode::AccessScopeViolation,
            (false, false) => ReasonCode::SimulationNotActive,
            (false, true) => ReasonCode::ConfirmationRequired,
        };
        assert_eq!(decided, Some(expected), "round {round}");
        assert!(world.replay(&goal).is_same(), "round {round}");
    }
}
