//! Acceptance tests AT-AGENT-01 to AT-AGENT-13, as far as they need an engine (AEC-15).

use actum::Step;
use actum_agent::packet::{ClarifyPacket, FinderPacket, MissingSimulationPacket, PacketHead};
use actum_agent::{AgentGoalRequest, AgentVerdict, ReasonCode};
use actum_dispatch::{ConfirmError, Dispatcher, Settings};
use actum_gate::Policy;
use actum_record::ledger::{AgentEvent, AgentEventKind, AgentState, EntryKind};
use actum_record::signer::KeyRole;
use serde_json::json;

use crate::world::{World, access, agent, goal, person, reason, with_packet};

const ASK: &str = "permit (principal, action, resource) when { context.approvals >= 1 };";

/// AEC-1, AEC-13, AEC-15, AEC-22
#[test]
fn at_agent_01_single_step_dispatch() {
    let world = World::new();
    let goal = world.goal("one", "file_create", json!({"path": "notes.txt", "content": "text\n"}));
    let first = world.dispatch(&goal);
    assert_eq!(reason(&first), Some(ReasonCode::ConfirmationRequired), "{first:?}");
    world.confirm(&goal, "Ja", "de");
    let done = world.dispatch(&goal);
    assert_eq!(
        (done.verdict, &done.outcome.reason_code),
        (AgentVerdict::Dispatch, &None),
        "{done:?}"
    );
    assert_eq!(world.get("notes.txt").unwrap(), b"text\n");
    let outcome = done.outcome.simulation_outcome.clone().unwrap();
    assert_eq!(outcome["status"], "succeeded");
    assert_eq!(done.outcome.next_step, None);
    assert_eq!(
        world.events(&goal),
        [
            (AgentEventKind::NoDispatch, AgentState::AwaitingConfirm),
            (AgentEventKind::DispatchStarted, AgentState::Started),
            (AgentEventKind::Outcome, AgentState::Succeeded),
        ]
    );
}

/// AEC-5, AEC-15
#[test]
fn at_agent_02_confirm_required_before_impactful_sim() {
    let world = World::new();
    world.put("notes.txt", "text\n");
    let goal = world.goal("two", "file_delete", json!({"path": "notes.txt"}));
    for _ in 0..2 {
        let refused = world.dispatch(&goal);
        assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationRequired));
        let (_, prompt) = refused.prompt.unwrap();
        assert!(prompt.text.contains("`file_delete`") && prompt.text.contains("notes.txt"));
        assert_eq!(refused.outcome.user_visible_text, prompt.text);
    }
    world.confirm(&goal, "okay", "en");
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::ConfirmationAmbiguous));
    assert!(world.get("notes.txt").is_some());
    world.confirm(&goal, "yes", "en");
    assert_eq!(world.dispatch(&goal).outcome.reason_code, None);
    assert_eq!(world.get("notes.txt"), None);
}

/// AEC-5: a "no", two ambiguous answers, another thread and the dispatcher itself do not dispatch the goal.
#[test]
fn only_a_clear_yes_from_another_actor_dispatches() {
    let world = World::new();
    let field = |name: &str| json!({"path": name, "content": "text\n"});
    let goal = world.goal("no", "file_create", field("a"));
    world.dispatch(&goal);
    world.confirm(&goal, "nein", "de");
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::ConfirmationRejected));
    let goal = world.goal("vague", "file_create", field("b"));
    world.dispatch(&goal);
    for _ in 0..2 {
        world.confirm(&goal, "fine", "en");
    }
    let refused = world.dispatch(&goal);
    assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationAttemptsExhausted));
    assert!(refused.prompt.is_none());
    let goal = world.goal("self", "file_create", field("c"));
    world.dispatch(&goal);
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let own =
        dispatcher.confirm(&world.reply(&goal, "yes", "en"), &agent().actor, None).unwrap_err();
    assert!(matches!(own, ConfirmError::Dispatcher), "{own}");
    let mut other = world.reply(&goal, "yes", "en");
    other.thread = "thread-2".parse().unwrap();
    let error = dispatcher.confirm(&other, &person().actor, None).unwrap_err();
    assert!(matches!(error, ConfirmError::Thread { .. }), "{error}");
    let foreign =
        dispatcher.confirm(&world.reply(&goal, "oui", "en"), &person().actor, None).unwrap();
    assert_eq!(foreign.outcome.as_str(), "AMBIGUOUS");
    drop(dispatcher);
    assert_eq!(world.count(EntryKind::EffectStarted), 0);
}

/// AEC-5: the user reads one plan, but another one is dispatched before the answer arrives.
#[test]
fn answer_to_a_replaced_prompt_is_not_recorded() {
    let world = World::new();
    let create = json!({"path": "a", "content": "text\n"});
    let shown = world.goal("replaced", "file_create", create);
    world.dispatch(&shown);
    let reply = world.reply(&shown, "yes", "en");
    let other = world.goal("replaced", "file_create", json!({"path": "b", "content": "text\n"}));
    assert_eq!(reason(&world.dispatch(&other)), Some(ReasonCode::ConfirmationRequired));
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let error = dispatcher.confirm(&reply, &person().actor, None).unwrap_err();
    assert!(matches!(error, ConfirmError::Plan { .. }), "{error}");
    drop(dispatcher);
    assert_eq!(world.count(EntryKind::AgentConfirmation), 0);
}

/// AEC-5: a confirmation applies to a single plan in one workspace, together with its checks.
#[test]
fn confirmation_is_valid_only_for_its_workspace_and_checks() {
    let world = World::new();
    let goal = world.goal("here", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&goal);
    world.confirm(&goal, "yes", "en");
    let mut elsewhere = world.engine_at("elsewhere");
    let mut dispatcher = Dispatcher::new(&mut elsewhere, Settings::default());
    let refused = dispatcher.dispatch(&goal, &agent()).unwrap();
    assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationOfAnotherPlan), "{refused:?}");
    drop(dispatcher);
    let checked = Settings { checks: vec!["true".to_owned()], ..Settings::default() };
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, checked);
    let refused = dispatcher.dispatch(&goal, &agent()).unwrap();
    assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationOfAnotherPlan), "{refused:?}");
    drop(dispatcher);
    assert_eq!(world.count(EntryKind::EffectStarted), 0);
}

/// AEC-6, AEC-10, AEC-15
#[test]
fn at_agent_03_access_deny_fail_closed() {
    let world = World::new();
    let goal = world.goal("three", "file_create", json!({"path": "a", "content": "text\n"}));
    let nobody = access("permit (principal == User::\"bob\", action, resource);");
    let refused = world.dispatch_under(&goal, &agent(), nobody);
    assert_eq!(reason(&refused), Some(ReasonCode::AccessScopeViolation));
    assert_eq!(world.events(&goal), [(AgentEventKind::NoDispatch, AgentState::Refused)]);
    // This goal belongs to another user.
    let refused = world.dispatch_under(&goal, &person(), Policy::default());
    assert_eq!(reason(&refused), Some(ReasonCode::AccessScopeViolation));
    assert_eq!(world.count(EntryKind::ActionEnded), 0);
}

/// AEC-6: a required approval (AP) ends the cycle, and a new cycle begins once it is granted.
#[test]
fn required_approval_is_queued_and_starts_a_new_cycle_when_granted() {
    let world = World::new();
    let goal = world.goal("ap", "file_create", json!({"path": "a", "content": "text\n"}));
    let refused = world.dispatch_under(&goal, &agent(), access(ASK));
    assert_eq!(reason(&refused), Some(ReasonCode::AccessApRequired), "{refused:?}");
    let plan = refused.queued.unwrap();
    assert_eq!(world.get("a"), None);
    world.approve(plan);
    let asked = world.dispatch_under(&goal, &agent(), access(ASK));
    assert_eq!(reason(&asked), Some(ReasonCode::ConfirmationRequired), "a YES is needed as well");
    world.confirm(&goal, "yes", "en");
    let done = world.dispatch_under(&goal, &agent(), access(ASK));
    assert_eq!(done.outcome.reason_code, None, "{done:?}");
    assert_eq!(world.get("a").unwrap(), b"text\n");
}

/// AEC-6, AEC-10, AEC-15
#[test]
fn at_agent_04_sim_not_active_fail_closed() {
    let world = World::new();
    world.change_catalog("file_create", &Step::Retire);
    let goal = world.goal("four", "file_create", json!({"path": "a", "content": "text\n"}));
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::SimulationNotActive));
    let goal = world.goal("made-up", "made_up", json!({}));
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::SimulationNotRegistered));
    let goal = world.goal("fields", "file_delete", json!({"path": 7}));
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::RequiredFieldsInvalid));
    assert_eq!(world.count(EntryKind::ActionEnded), 0);
}

/// AEC-6: a catalog that changed after the search blocks the dispatch.
#[test]
fn catalog_changed_since_the_search_blocks_dispatch() {
    let world = World::new();
    let goal = world.goal("late", "file_create", json!({"path": "a", "content": "text\n"}));
    world.change_catalog("run_command", &Step::Retire);
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::CatalogSnapshotChanged));
}

/// AEC-7, AEC-15
#[test]
fn at_agent_05_idempotent_retry_safe() {
    let world = World::new();
    let goal = world.goal("five", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&goal);
    world.confirm(&goal, "yes", "en");
    let first = world.dispatch(&goal);
    for _ in 0..3 {
        let again = world.dispatch(&goal);
        assert_eq!(again.verdict, AgentVerdict::Answered);
        assert_eq!(again.outcome.audit_event_id, first.outcome.audit_event_id);
    }
    assert_eq!(world.count(EntryKind::EffectStarted), 1);
    // Repeating the goal with other fields violates idempotency.
    let other = world.goal("five", "file_create", json!({"path": "b", "content": "text\n"}));
    assert_eq!(reason(&world.dispatch(&other)), Some(ReasonCode::IdempotencyViolation));
    assert_eq!(world.get("b"), None);
    assert_eq!(world.events(&goal).last().unwrap().1, AgentState::Succeeded);
}

/// AEC-7: a different goal under an existing correlation id is rejected.
#[test]
fn correlation_id_identifies_one_goal() {
    let world = World::new();
    let goal = world.goal("same", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&goal);
    let mut other = crate::world::goal("same");
    other.raw_user_utterance = "something else".to_owned();
    let mut packet =
        FinderPacket::read(&actum_core::canonical::to_vec(&goal.sim_finder_packet).unwrap())
            .unwrap();
    if let FinderPacket::Match(packet) = &mut packet {
        packet.head.goal_fingerprint = other.fingerprint();
    }
    let refused = world.dispatch(&with_packet(other, &packet));
    assert_eq!(reason(&refused), Some(ReasonCode::IdempotencyViolation));
}

/// AEC-4: the question is passed on unchanged.
#[test]
fn a_question_is_relayed_unchanged_and_stops_the_cycle() {
    let world = World::new();
    let asked = goal("six");
    let question = "Which file?  (notes.txt, nötes.txt)";
    let packet = FinderPacket::Clarify(ClarifyPacket {
        head: PacketHead { attempt_counter: 1, ..world.head(&asked) },
        question: question.to_owned(),
        missing_field: Some("path".to_owned()),
        candidates: Vec::new(),
    });
    let goal = with_packet(asked, &packet);
    let dispatched = world.dispatch(&goal);
    assert_eq!(dispatched.outcome.user_visible_text, question);
    assert_eq!(world.events(&goal), [(AgentEventKind::NoDispatch, AgentState::AwaitingClarify)]);
}

fn missing(world: &World, name: &str) -> actum_agent::AgentGoalRequest {
    let asked = goal(name);
    let packet = FinderPacket::Missing(MissingSimulationPacket {
        head: world.head(&asked),
        requested_capability: "send a letter".to_owned(),
    });
    with_packet(asked, &packet)
}

/// AEC-12, AEC-15
#[test]
fn at_agent_07_missing_simulation_escalates_to_dev_intake() {
    let world = World::new();
    let goal = missing(&world, "seven");
    let dispatched = world.dispatch(&goal);
    assert_eq!(reason(&dispatched), Some(ReasonCode::SimulationMissing));
    assert_eq!(world.events(&goal), [(AgentEventKind::NoDispatch, AgentState::Escalated)]);
    let open = world.records.ledger().read(|log| log.unresolved_escalations()).unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].correlation, goal.correlation_id);
}

/// AEC-12, AEC-15
#[test]
fn at_agent_12_missing_simulation_never_calls_simulation_executor() {
    let world = World::new();
    world.dispatch(&missing(&world, "twelve"));
    for kind in [
        EntryKind::ActionStarted,
        EntryKind::ActionEnded,
        EntryKind::EffectStarted,
        EntryKind::PlanQueued,
        EntryKind::PlanRefused,
        EntryKind::AgentAccessDecided,
    ] {
        assert_eq!(world.count(kind), 0, "{kind:?}");
    }
}

/// AEC-9, AEC-15
#[test]
fn at_agent_08_audit_chain_complete() {
    let world = World::new();
    let goal = world.goal("eight", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&goal);
    world.confirm(&goal, "yes", "en");
    let done = world.dispatch(&goal);
    let chain = world.chain(&goal);
    let leaf = |wanted: fn(&AgentEvent) -> bool| {
        chain.events.iter().rev().find(|it| wanted(&it.event)).map(|it| it.leaf)
    };
    let access = leaf(|event| matches!(event, AgentEvent::Access(_)));
    let confirmation = leaf(|event| matches!(event, AgentEvent::Confirmation(_)));
    let (event, outcome) = chain.executions().next_back().unwrap();
    assert_eq!(outcome.access, access);
    assert_eq!(outcome.confirmation, confirmation);
    assert!(outcome.rollback_plan.is_some() && outcome.refs.confirmation_proof.is_some());
    assert_eq!(done.outcome.audit_event_id, event.leaf);
    // The entries of the action that the chain names are in the ledger.
    let named: Vec<_> = chain.executions().filter_map(|(_, it)| it.simulation_entry).collect();
    let actions = world.records.ledger().read(|log| {
        let mut leaves = Vec::new();
        for kind in [EntryKind::ActionStarted, EntryKind::ActionEnded] {
            for index in log.newest_of_kind(kind, None, 10)? {
                leaves.push(actum_record::merkle::leaf_hash(&log.sound_entry(index)?.body));
            }
        }
        Ok(leaves)
    });
    assert_eq!(named, actions.unwrap());
}

/// AEC-5: the dispatching account can relay a user's answer under an operator key, but a forged entry has no effect.
#[test]
fn answer_under_an_operator_key_is_valid_and_a_forged_one_is_not() {
    let world = World::new();
    let goal = world.goal("key", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&goal);
    world.confirm_under_key(&goal, "yes", "en", &World::new().signer(KeyRole::Approval));
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::ConfirmationByDispatcher));
    world.confirm_under_key(&goal, "yes", "en", &world.signer(KeyRole::Approval));
    let done = world.dispatch(&goal);
    assert_eq!((done.verdict, &done.outcome.reason_code), (AgentVerdict::Dispatch, &None));
}

/// AEC-20: a dispatched simulation can undo a run, with its own confirmation and audit chain.
#[test]
fn a_run_is_undone_by_a_dispatched_simulation() {
    let world = World::new();
    let made = world.goal("make", "file_create", json!({"path": "a", "content": "text\n"}));
    world.dispatch(&made);
    world.confirm(&made, "yes", "en");
    let done = world.dispatch(&made);
    let run = done.outcome.simulation_outcome.as_ref().unwrap()["feedback"]["run"].clone();
    let undo = world.goal("undo", "undo_run", json!({"run": run}));
    assert_eq!(reason(&world.dispatch(&undo)), Some(ReasonCode::ConfirmationRequired));
    assert!(world.get("a").is_some());
    world.confirm(&undo, "yes", "en");
    let undone = world.dispatch(&undo);
    assert_eq!((undone.verdict, &undone.outcome.reason_code), (AgentVerdict::Dispatch, &None));
    assert_eq!(world.get("a"), None);
    assert!(world.replay(&undo).is_same());
}

/// AEC-4: the answer to a question is the next attempt at the goal, in other words. Without a question the wording
/// stays the same.
#[test]
fn question_is_answered_by_a_rephrased_attempt() {
    let world = World::new();
    let asked = goal("clarified");
    let packet = FinderPacket::Clarify(ClarifyPacket {
        head: PacketHead { attempt_counter: 1, ..world.head(&asked) },
        question: "Which file?".to_owned(),
        missing_field: Some("path".to_owned()),
        candidates: Vec::new(),
    });
    let asked = with_packet(asked, &packet);
    assert_eq!(reason(&world.dispatch(&asked)), Some(ReasonCode::ClarifyRequired));
    let attempt = |words: &str| {
        let goal =
            world.goal("clarified", "file_create", json!({"path": "a", "content": "text\n"}));
        let mut goal =
            AgentGoalRequest { raw_user_utterance: words.to_owned(), attempt_counter: 1, ..goal };
        let packet = &mut goal.sim_finder_packet;
        packet.insert("attempt_counter".to_owned(), json!(1));
        let fingerprint = goal.fingerprint();
        goal.sim_finder_packet.insert("goal_fingerprint".to_owned(), json!(fingerprint));
        goal
    };
    let answered = attempt("create a");
    assert_eq!(reason(&world.dispatch(&answered)), Some(ReasonCode::ConfirmationRequired));
    let other = attempt("delete b");
    assert_eq!(reason(&world.dispatch(&other)), Some(ReasonCode::IdempotencyViolation));
    world.confirm(&answered, "yes", "en");
    assert_eq!(world.dispatch(&answered).outcome.reason_code, None);
    assert!(world.replay(&answered).is_same());
}
