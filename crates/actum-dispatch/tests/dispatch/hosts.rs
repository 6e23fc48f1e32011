//! Hosts assert the user of a goal and relay answers, both signed with their key.

use actum_agent::bundle::{AgentBundle, Identity};
use actum_agent::goal::ConfirmState;
use actum_agent::{AgentGoalRequest, AgentVerdict, ReasonCode};
use actum_core::Digest;
use actum_dispatch::{ConfirmError, DispatchError};
use actum_gate::verify_host_assertion;
use actum_record::ledger::{AgentEvent, EntryKind};
use actum_record::signer::{KeyRole, Signer};
use serde_json::json;

use crate::world::{World, access, agent, reason};

/// Creates a goal whose user is not the dispatching account.
fn goal_of_ada(world: &World, name: &str) -> AgentGoalRequest {
    let goal = world.goal(name, "file_create", json!({"path": "a", "content": "text\n"}));
    let mut goal = AgentGoalRequest { user_id: "ada".parse().unwrap(), ..goal };
    goal.sim_finder_packet.insert("goal_fingerprint".to_owned(), json!(goal.fingerprint()));
    goal
}

fn answer(prompt: Digest, answer: &str) -> Option<ConfirmState> {
    let language_tag = "de".to_owned();
    Some(ConfirmState { prompt_ref: prompt, answer: answer.to_owned(), language_tag })
}

/// AEC-5, AEC-6: a host asserts the user and the answer under its key, and the ledger keeps the signed assertion.
#[test]
fn host_dispatches_its_users_goal_and_relays_the_answer() {
    let world = World::new();
    let mut goal = goal_of_ada(&world, "one");
    let asked = world.dispatch_as_host(&goal).unwrap();
    assert_eq!(reason(&asked), Some(ReasonCode::ConfirmationRequired), "{asked:?}");
    goal.confirm_state = answer(asked.prompt.unwrap().0, "ja");
    let done = world.dispatch_as_host(&goal).unwrap();
    assert_eq!((done.verdict, &done.outcome.reason_code), (AgentVerdict::Dispatch, &None));
    assert_eq!(world.get("a").unwrap(), b"text\n");
    let host = world.signer(KeyRole::Host);
    let chain = world.chain(&goal);
    let answers = chain.events.iter().filter_map(|event| match &event.event {
        AgentEvent::Confirmation(answer) => Some(&**answer),
        AgentEvent::Execution(_) | AgentEvent::Access(_) | AgentEvent::IntakeResolved(_) => None,
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 1);
    let relayed_by = answers[0].relayed_by.clone().unwrap();
    assert_eq!((&*relayed_by, &*answers[0].by.user), (host.key_id().as_str(), "ada"));
    let (_, event) = chain.executions().next_back().unwrap();
    let bundle = world.records.ledger().read(|log| log.blob(&event.refs.bundle)).unwrap().unwrap();
    let bundle: AgentBundle = serde_json::from_slice(&bundle).unwrap();
    let Identity::Host { assertion, .. } = bundle.caller.identity else { panic!("no host") };
    let assertion = world.records.ledger().read(|log| log.blob(&assertion)).unwrap().unwrap();
    let (assertion, _) =
        verify_host_assertion(&assertion, world.records.keyring(), event.time).unwrap();
    assert_eq!((assertion.user, assertion.goal), (goal.user_id.clone(), goal.fingerprint()));
    assert!(world.replay(&goal).is_same());
    // The answer has already been relayed.
    assert_eq!(world.dispatch_as_host(&goal).unwrap().verdict, AgentVerdict::Answered);
    assert_eq!(world.count(EntryKind::AgentConfirmation), 1);
}

/// AEC-6: the user is unknown without a host key, or with a key of another role or installation.
#[test]
fn goal_of_another_user_is_refused_without_a_valid_host_key() {
    let world = World::new();
    let goal = goal_of_ada(&world, "two");
    let other = World::new().signer(KeyRole::Host);
    let approval = world.signer(KeyRole::Approval);
    let refused = [
        world.dispatch(&goal),
        world.dispatch_under_key(&goal, &other).unwrap(),
        world.dispatch_under_key(&goal, &approval).unwrap(),
    ];
    for refused in refused {
        assert_eq!(reason(&refused), Some(ReasonCode::AccessScopeViolation), "{refused:?}");
    }
}

/// AEC-5: only a host can relay an answer, and only to the newest prompt.
#[test]
fn answer_is_relayed_only_by_a_host_and_to_the_newest_prompt() {
    let world = World::new();
    let mut goal = goal_of_ada(&world, "three");
    let asked = world.dispatch_as_host(&goal).unwrap();
    let (first, _) = asked.prompt.unwrap();
    let (newest, _) = world.dispatch_as_host(&goal).unwrap().prompt.unwrap();
    assert_ne!(first, newest);
    goal.confirm_state = answer(first, "ja");
    let error = world.dispatch_as_host(&goal).unwrap_err();
    let is_old = matches!(&error, DispatchError::Relay(error) if matches!(**error, ConfirmError::Prompt { .. }));
    assert!(is_old, "{error}");
    goal.confirm_state = answer(newest, "ja");
    let mut engine = world.engine();
    let settings = actum_dispatch::Settings::default();
    let mut dispatcher = actum_dispatch::Dispatcher::new(&mut engine, settings);
    let error = dispatcher.dispatch(&goal, &agent()).unwrap_err();
    assert!(matches!(error, DispatchError::NoHost), "{error}");
    drop(dispatcher);
    assert_eq!(world.count(EntryKind::AgentConfirmation), 0);
}

/// AEC-6: access policies are evaluated for the user of the goal, not for the account of the host.
#[test]
fn access_is_evaluated_for_the_user_asserted_by_the_host() {
    let world = World::new();
    let goal = goal_of_ada(&world, "four");
    let signer = world.signer(KeyRole::Host);
    let mut judged = Vec::new();
    for user in ["ada", "user-1"] {
        let policy = access(&format!("permit (principal == User::\"{user}\", action, resource);"));
        let caller = actum_dispatch::Caller { host: Some(&signer), ..agent() };
        judged.push(reason(&world.dispatch_under(&goal, &caller, policy)));
    }
    let expected = [ReasonCode::ConfirmationRequired, ReasonCode::AccessScopeViolation];
    assert_eq!(judged, expected.map(Some));
}

/// AEC-5: an answer sent with another user's goal is not recorded, so it confirms nothing.
#[test]
fn an_answer_with_a_goal_of_another_user_is_not_recorded() {
    let world = World::new();
    let goal = goal_of_ada(&world, "five");
    let (prompt, _) = world.dispatch_as_host(&goal).unwrap().prompt.unwrap();
    let mut other = goal.clone();
    other.user_id = "mallory".parse().unwrap();
    other.sim_finder_packet.insert("goal_fingerprint".to_owned(), json!(other.fingerprint()));
    other.confirm_state = answer(prompt, "ja");
    let refused = world.dispatch_as_host(&other).unwrap();
    assert_eq!(reason(&refused), Some(ReasonCode::IdempotencyViolation));
    assert_eq!(world.count(EntryKind::AgentConfirmation), 0);
    let asked = world.dispatch_as_host(&goal).unwrap();
    assert_eq!(reason(&asked), Some(ReasonCode::ConfirmationRequired));
}

/// AEC-5: a "no" relayed after a "yes" is recorded and is final.
#[test]
fn relayed_rejection_after_a_confirmation_is_final() {
    let world = World::new();
    let mut goal = goal_of_ada(&world, "six");
    // The action fails because the file exists, so no effect remains.
    world.put("a", "here\n");
    let (prompt, _) = world.dispatch_as_host(&goal).unwrap().prompt.unwrap();
    goal.confirm_state = answer(prompt, "ja");
    world.dispatch_as_host(&goal).unwrap();
    std::fs::remove_file(world.directory.join("workspace/a")).unwrap();
    goal.confirm_state = answer(prompt, "nein");
    let refused = world.dispatch_as_host(&goal).unwrap();
    assert_eq!(reason(&refused), Some(ReasonCode::ConfirmationRejected), "{refused:?}");
    assert_eq!(world.get("a"), None);
}
