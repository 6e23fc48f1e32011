//! Claims on request keys and starts, recorded outcomes, and final answers.

use std::any::Any;

use actum::{Engine, Step};
use actum_action::PlanScope;
use actum_agent::packet::FinderPacket;
use actum_agent::{AgentGoalRequest, AgentVerdict, ReasonCode};
use actum_dispatch::{ConfirmError, DispatchError, Dispatcher, Settings};
use actum_gate::Policy;
use actum_record::ledger::{AgentEventKind, AgentState, ConfirmationOutcome, EntryKind};
use serde_json::json;

use crate::world::{World, access, agent, person, reason, with_packet};

fn create(world: &World, name: &str) -> AgentGoalRequest {
    world.goal(name, "file_create", json!({"path": name, "content": "text of a file\n"}))
}

/// AEC-3, AEC-7: a request key belongs to the first goal that uses it.
#[test]
fn idempotency_key_is_refused_for_another_goal() {
    let world = World::new();
    let first = create(&world, "first");
    world.dispatch(&first);
    let second = create(&world, "second");
    let second = AgentGoalRequest { idempotency_key: first.idempotency_key.clone(), ..second };
    assert_eq!(reason(&world.dispatch(&second)), Some(ReasonCode::IdempotencyViolation));
    assert_eq!(reason(&world.dispatch(&first)), Some(ReasonCode::ConfirmationRequired));
}

/// AEC-5, AEC-20: a dispatch is blocked unless the simulation that would roll its effect back is active.
#[test]
fn inactive_rollback_simulation_blocks_dispatch() {
    let world = World::new();
    world.change_catalog("undo_run", &Step::Retire);
    let retired = world.dispatch(&create(&world, "retired"));
    assert_eq!(reason(&retired), Some(ReasonCode::RollbackPlanUnusable), "{retired:?}");
    let goal = create(&world, "made-up");
    let bytes = actum_core::canonical::to_vec(&goal.sim_finder_packet).unwrap();
    let mut packet = FinderPacket::read(&bytes).unwrap();
    if let FinderPacket::Match(packet) = &mut packet {
        packet.rollback_plan.as_mut().unwrap().simulation_id = "made_up".parse().unwrap();
    }
    let refused = world.dispatch(&with_packet(goal, &packet));
    assert_eq!(reason(&refused), Some(ReasonCode::RollbackPlanUnusable));
    assert!(refused.prompt.is_none());
}

/// AEC-22: the outcome is stored without file content, and returned again for a repeated goal.
#[test]
fn repeated_goal_returns_the_recorded_outcome() {
    let world = World::new();
    let goal = create(&world, "again");
    world.dispatch(&goal);
    world.confirm(&goal, "yes", "en");
    let done = world.dispatch(&goal);
    let again = world.dispatch(&goal);
    assert_eq!(again.verdict, AgentVerdict::Answered);
    let kept = again.outcome.simulation_outcome.as_ref().unwrap();
    let returned = done.outcome.simulation_outcome.as_ref().unwrap();
    for member in ["status", "actionType", "riskTier", "repair", "rollback"] {
        assert_eq!(kept[member], returned[member], "{member}");
    }
    assert_eq!(kept["feedback"]["run"], returned["feedback"]["run"]);
    assert_eq!(kept["output"], json!({}), "the receipt of the run has it");
}

/// AEC-5: a "no" is the final answer to its plan.
#[test]
fn rejection_cannot_be_replaced_by_a_later_answer() {
    let world = World::new();
    let goal = create(&world, "no");
    world.dispatch(&goal);
    world.confirm(&goal, "no", "en");
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let error =
        dispatcher.confirm(&world.reply(&goal, "yes", "en"), &person().actor, None).unwrap_err();
    let outcome = ConfirmationOutcome::Rejected;
    assert!(matches!(error, ConfirmError::Final { outcome: found } if found == outcome), "{error}");
    drop(dispatcher);
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::ConfirmationRejected));
}

/// AEC-5: an answer to a finished goal is not recorded, because nothing remains that it could confirm.
#[test]
fn answer_to_a_finished_goal_is_not_recorded() {
    let world = World::new();
    let goal = create(&world, "done");
    world.dispatch(&goal);
    let reply = world.reply(&goal, "no", "en");
    world.confirm(&goal, "yes", "en");
    world.dispatch(&goal);
    let answers = world.count(EntryKind::AgentConfirmation);
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let error = dispatcher.confirm(&reply, &person().actor, None).unwrap_err();
    let state = AgentState::Succeeded;
    assert!(matches!(error, ConfirmError::Ended { state: found } if found == state), "{error}");
    assert_eq!(world.count(EntryKind::AgentConfirmation), answers);
}

/// AEC-5: after two ambiguous answers to a plan, a clear answer is rejected as too late.
#[test]
fn answer_after_the_last_ambiguous_one_is_refused() {
    let world = World::new();
    let goal = create(&world, "vague");
    world.dispatch(&goal);
    for _ in 0..2 {
        world.confirm(&goal, "fine", "en");
    }
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let error =
        dispatcher.confirm(&world.reply(&goal, "yes", "en"), &person().actor, None).unwrap_err();
    assert!(matches!(error, ConfirmError::Final { .. }), "{error}");
}

/// AEC-7, AEC-10: an action denied by the gates is never started, even if it has checks, so it uses up no retry.
#[test]
fn action_denied_by_the_gates_is_never_started() {
    let world = World::new();
    let fields = json!({"path": ".git/config", "content": "text\n"});
    let goal = world.goal("denied", "file_create", fields);
    let settings = || Settings { checks: vec!["true".to_owned()], ..Settings::default() };
    let dispatch = || {
        let mut engine = world.engine().under(Policy::default());
        let mut dispatcher = Dispatcher::new(&mut engine, settings());
        dispatcher.dispatch(&goal, &agent()).unwrap()
    };
    assert_eq!(reason(&dispatch()), Some(ReasonCode::ConfirmationRequired));
    world.confirm(&goal, "yes", "en");
    for _ in 0..4 {
        let refused = dispatch();
        assert_eq!(refused.verdict, AgentVerdict::Dispatch, "{refused:?}");
        assert_eq!(refused.outcome.simulation_outcome.as_ref().unwrap()["status"], "rejected");
    }
    let events = world.events(&goal);
    let last = (AgentEventKind::NoEffect, AgentState::Refused);
    assert_eq!(events[1..], [last; 4]);
    assert_eq!(world.count(EntryKind::ActionStarted), 0);
    assert!(world.replay(&goal).is_same(), "{:?}", world.replay(&goal));
}

/// AEC-5: the user is not asked to confirm a command that is rejected anyway because it has no check.
#[test]
fn a_command_without_a_check_is_refused_before_the_prompt() {
    let world = World::new();
    let mut goal = world.goal("command", "run_command", json!({"command": "true"}));
    goal.sim_finder_packet.insert("access_action".to_owned(), json!("run_command"));
    let mut engine = world.engine();
    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
    let error = dispatcher.dispatch(&goal, &agent()).unwrap_err();
    assert!(matches!(error, DispatchError::NoCheck { .. }), "{error}");
    drop(dispatcher);
    assert_eq!(world.chain(&goal).events.len(), 0);
}

/// AEC-5, AEC-6: an approval is valid only for the checks and the scope that were approved.
#[test]
fn approval_is_valid_only_for_its_checks_and_scope() {
    let world = World::new();
    let goal = create(&world, "approved");
    let ask = "permit (principal, action, resource) when { context.approvals >= 1 };";
    let dispatch = |settings: Settings| {
        let mut engine = world.engine().under(access(ask));
        Dispatcher::new(&mut engine, settings).dispatch(&goal, &agent()).unwrap()
    };
    world.approve(dispatch(Settings::default()).queued.unwrap());
    assert_eq!(reason(&dispatch(Settings::default())), Some(ReasonCode::ConfirmationRequired));
    let checks = Settings { checks: vec!["false".to_owned()], ..Settings::default() };
    let allowed_dirs = vec!["only-here".to_owned()];
    let scope = PlanScope { allowed_dirs, ..PlanScope::default() };
    let scoped = Settings { scope, ..Settings::default() };
    for settings in [checks, scoped] {
        assert_eq!(reason(&dispatch(settings)), Some(ReasonCode::AccessApRequired));
    }
}

/// AEC-5: a command that the prompt cannot display cannot be confirmed.
#[test]
fn a_command_that_a_prompt_cannot_show_is_refused() {
    let world = World::new();
    let hidden = format!("./slow.sh{}", " ".repeat(1100));
    let mut goal = world.goal("hidden", "run_command", json!({"command": hidden}));
    goal.sim_finder_packet.insert("access_action".to_owned(), json!("run_command"));
    let refused = world.dispatch(&goal);
    assert_eq!(reason(&refused), Some(ReasonCode::RequiredFieldsInvalid), "{refused:?}");
}

/// AEC-11, EX-20: if the fields fit no simulation, only their sizes and digests are stored.
#[test]
fn values_of_invalid_fields_are_not_stored() {
    let world = World::new();
    let fields = json!({"path": "a", "unknown": "words of a file"});
    let goal = world.goal("unfit", "file_create", fields);
    assert_eq!(reason(&world.dispatch(&goal)), Some(ReasonCode::RequiredFieldsInvalid));
    let chain = world.chain(&goal);
    let (_, event) = chain.executions().next().unwrap();
    let packet = event.refs.finder_packet;
    let packet = world.records.ledger().read(|log| log.blob(&packet)).unwrap().unwrap();
    assert!(!String::from_utf8(packet).unwrap().contains("words of a file"));
    assert!(world.replay(&goal).is_same());
}

/// AEC-5: a "no" to a plan remains final even after another plan of the goal was confirmed.
#[test]
fn rejection_of_a_plan_outlives_confirmation_of_another() {
    let world = World::new();
    let goal = create(&world, "plans");
    world.dispatch(&goal);
    world.confirm(&goal, "no", "en");
    let mut engine = world.engine();
    let checked = Settings { checks: vec!["true".to_owned()], ..Settings::default() };
    let asked = Dispatcher::new(&mut engine, checked).dispatch(&goal, &agent()).unwrap();
    assert_eq!(reason(&asked), Some(ReasonCode::ConfirmationOfAnotherPlan));
    drop(engine);
    world.confirm(&goal, "yes", "en");
    let refused = world.dispatch(&goal);
    assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationRejected));
    assert!(refused.prompt.is_none(), "nobody could answer it");
    assert!(world.replay(&goal).is_same(), "{:?}", world.replay(&goal));
}

/// AEC-5: the newest answer is in force when the effect starts. A second "yes" still confirms it, and a later "no" stops it.
#[test]
fn answer_between_decision_and_start_is_respected() {
    for (answer, reason) in [("yes", None), ("no", Some("CONFIRMATION_REJECTED"))] {
        let world = World::new();
        let goal = create(&world, "between");
        world.dispatch(&goal);
        world.confirm(&goal, "yes", "en");
        let (records, reply) = (world.records.clone(), world.reply(&goal, answer, "en"));
        let workspace = world.directory.join("workspace");
        let answer_now = move || -> Box<dyn Any> {
            let mut engine = Engine::open(&workspace, records.clone()).unwrap();
            let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
            Box::new(dispatcher.confirm(&reply, &person().actor, None).unwrap())
        };
        let mut engine = world.engine().holding(answer_now);
        let settings = Settings::default();
        let ended = Dispatcher::new(&mut engine, settings).dispatch(&goal, &agent()).unwrap();
        assert!(ended.held.is_some());
        assert_eq!(ended.outcome.reason_code.as_deref(), reason, "{answer}");
        assert!(world.replay(&goal).is_same(), "{:?}", world.replay(&goal));
    }
}
