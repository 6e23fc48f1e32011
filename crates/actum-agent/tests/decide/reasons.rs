//! Reasons for not dispatching a step.

use actum_agent::bundle::{AgentBundle, Identity};
use actum_agent::packet::FinderPacket;
use actum_agent::{AgentVerdict, DispatchEnvelope, ReasonCode, decide};
use actum_core::Timestamp;
use actum_record::ledger::{AccessOutcome, ActionState, AgentState, ConfirmationOutcome};

use crate::fixture::{
    NOW, actor, candidate, claim, clarify_packet, confirmed, digest, harmless, impactful,
    match_packet, missing_packet, reasons, refuse_packet, with_claim, with_packet,
};

fn change(mut bundle: AgentBundle, change: impl FnOnce(&mut AgentBundle)) -> AgentBundle {
    change(&mut bundle);
    bundle
}

/// Returns bundles that are not dispatched, each with the expected reasons and state.
fn refused() -> Vec<(AgentBundle, Vec<&'static str>, AgentState)> {
    use AgentState::{
        AwaitingAp, AwaitingClarify, AwaitingConfirm, Escalated, Failed, Refused, ReplayFailed,
        Reverted, Started,
    };
    let packet = |packet| with_packet(harmless(), &packet);
    let matched = |edit: fn(&mut actum_agent::packet::SimulationMatchPacket)| {
        let mut packet = match_packet();
        edit(&mut packet);
        with_packet(harmless(), &FinderPacket::Match(packet))
    };
    let confirmation = |edit: fn(&mut actum_agent::bundle::ConfirmationFacts)| {
        change(confirmed(), |bundle| edit(bundle.confirmation.as_mut().unwrap()))
    };
    let simulation = |edit: fn(&mut actum_agent::bundle::SimulationFacts)| {
        change(harmless(), |bundle| edit(bundle.simulation.as_mut().unwrap()))
    };
    let access =
        |outcome| change(harmless(), |bundle| bundle.access.as_mut().unwrap().outcome = outcome);
    let claimed = |state| with_claim(harmless(), claim(&harmless(), state));
    vec![
        (change(harmless(), |it| it.packet.clear()), vec!["FINDER_PACKET_INVALID"], Refused),
        (
            change(harmless(), |it| it.finder_packet = digest("other")),
            vec!["FINDER_PACKET_INVALID"],
            Refused,
        ),
        (
            change(harmless(), |it| it.caller.identity = Identity::Unknown),
            vec!["ACCESS_SCOPE_VIOLATION"],
            Refused,
        ),
        (
            change(harmless(), |it| it.caller.tenant = "other".parse().unwrap()),
            vec!["ACCESS_SCOPE_VIOLATION"],
            Refused,
        ),
        (
            matched(|it| it.head.goal_fingerprint = digest("another goal")),
            vec!["FINDER_PACKET_OF_ANOTHER_GOAL"],
            Refused,
        ),
        (
            matched(|it| it.head.correlation_id = "corr-2".parse().unwrap()),
            vec!["FINDER_PACKET_OF_ANOTHER_GOAL"],
            Refused,
        ),
        (matched(|it| it.head.attempt_counter = 1), vec!["FINDER_PACKET_OF_ANOTHER_GOAL"], Refused),
        (packet(FinderPacket::Refuse(refuse_packet())), vec!["FINDER_REFUSED"], Refused),
        (
            packet(FinderPacket::Clarify(clarify_packet())),
            vec!["CLARIFY_REQUIRED"],
            AwaitingClarify,
        ),
        (packet(FinderPacket::Missing(missing_packet())), vec!["SIMULATION_MISSING"], Escalated),
        (
            matched(|it| it.candidates[1] = candidate("move_file", 900)),
            vec!["CANDIDATES_UNRESOLVED"],
            Refused,
        ),
        (
            change(harmless(), |it| it.history.last = Some(Timestamp::from_micros(NOW + 1))),
            vec!["CLOCK_WENT_BACKWARDS"],
            Refused,
        ),
        (
            change(harmless(), |it| it.history.goal = Some(digest("another goal"))),
            vec!["IDEMPOTENCY_VIOLATION"],
            Refused,
        ),
        (
            change(harmless(), |it| it.history.request = Some("corr-2".parse().unwrap())),
            vec!["IDEMPOTENCY_VIOLATION"],
            Refused,
        ),
        (
            with_claim(
                harmless(),
                actum_agent::bundle::ClaimFacts {
                    key: digest("other key"),
                    ..claim(&harmless(), AgentState::Reverted)
                },
            ),
            vec!["IDEMPOTENCY_VIOLATION"],
            Reverted,
        ),
        (claimed(Started), vec!["STEP_UNDER_WAY"], Started),
        (claimed(Failed), vec!["STEP_NEEDS_ATTENTION"], Failed),
        (
            with_claim(
                harmless(),
                actum_agent::bundle::ClaimFacts {
                    starts: 3,
                    ..claim(&harmless(), AgentState::Reverted)
                },
            ),
            vec!["RETRIES_EXHAUSTED"],
            Reverted,
        ),
        (
            change(harmless(), |it| it.history.is_replay_failed = true),
            vec!["REPLAY_FAILED"],
            ReplayFailed,
        ),
        (
            change(claimed(Reverted), |it| it.policy_snapshot = digest("new policy")),
            vec!["POLICY_SNAPSHOT_CHANGED"],
            Reverted,
        ),
        (
            change(harmless(), |it| it.catalog_snapshot = digest("new catalog")),
            vec!["CATALOG_SNAPSHOT_CHANGED"],
            Refused,
        ),
        (change(harmless(), |it| it.simulation = None), vec!["SIMULATION_NOT_REGISTERED"], Refused),
        (
            matched(|it| it.candidates[0] = candidate("made_up", 900)),
            vec!["SIMULATION_NOT_REGISTERED"],
            Refused,
        ),
        (simulation(|it| it.state = ActionState::Draft), vec!["SIMULATION_NOT_ACTIVE"], Refused),
        (simulation(|it| it.state = ActionState::Retired), vec!["SIMULATION_NOT_ACTIVE"], Refused),
        (simulation(|it| it.fields_fit = false), vec!["REQUIRED_FIELDS_INVALID"], Refused),
        (
            matched(|it| it.access_action = "RunCommand".to_owned()),
            vec!["ACCESS_ACTION_MISMATCH"],
            Refused,
        ),
        (
            change(
                with_packet(
                    impactful(),
                    &FinderPacket::Match(actum_agent::packet::SimulationMatchPacket {
                        rollback_plan: None,
                        ..match_packet()
                    }),
                ),
                |_| {},
            ),
            vec!["ROLLBACK_PLAN_MISSING"],
            Refused,
        ),
        (change(harmless(), |it| it.rollback = None), vec!["ROLLBACK_PLAN_UNUSABLE"], Refused),
        (
            change(harmless(), |it| it.rollback.as_mut().unwrap().state = ActionState::Retired),
            vec!["ROLLBACK_PLAN_UNUSABLE"],
            Refused,
        ),
        (access(AccessOutcome::Denied), vec!["ACCESS_SCOPE_VIOLATION"], Refused),
        (change(harmless(), |it| it.access = None), vec!["ACCESS_SCOPE_VIOLATION"], Refused),
        (access(AccessOutcome::ApRequired), vec!["ACCESS_AP_REQUIRED"], AwaitingAp),
        (impactful(), vec!["CONFIRMATION_REQUIRED"], AwaitingConfirm),
        (
            confirmation(|it| it.outcome = ConfirmationOutcome::Rejected),
            vec!["CONFIRMATION_REJECTED"],
            Refused,
        ),
        (
            confirmation(|it| it.outcome = ConfirmationOutcome::Ambiguous),
            vec!["CONFIRMATION_AMBIGUOUS"],
            AwaitingConfirm,
        ),
        (
            change(confirmation(|it| it.outcome = ConfirmationOutcome::Ambiguous), |it| {
                it.history.ambiguous_answers = 2;
            }),
            vec!["CONFIRMATION_ATTEMPTS_EXHAUSTED"],
            Refused,
        ),
        (
            confirmation(|it| {
                it.outcome = ConfirmationOutcome::Rejected;
                it.expires = Timestamp::from_micros(NOW - 1);
            }),
            vec!["CONFIRMATION_REJECTED"],
            Refused,
        ),
        (
            confirmation(|it| it.by = actor(1000)),
            vec!["CONFIRMATION_BY_DISPATCHER"],
            AwaitingConfirm,
        ),
        (
            confirmation(|it| it.thread = "thread-2".parse().unwrap()),
            vec!["CONFIRMATION_OF_ANOTHER_THREAD"],
            AwaitingConfirm,
        ),
        (
            confirmation(|it| it.plan_fingerprint = digest("another plan")),
            vec!["CONFIRMATION_OF_ANOTHER_PLAN"],
            AwaitingConfirm,
        ),
        (
            confirmation(|it| it.lexicon = digest("old lexicon")),
            vec!["CONFIRMATION_LEXICON_CHANGED"],
            AwaitingConfirm,
        ),
        (
            confirmation(|it| it.expires = Timestamp::from_micros(NOW - 1)),
            vec!["CONFIRMATION_EXPIRED"],
            AwaitingConfirm,
        ),
    ]
}

/// AEC-6, AEC-10
#[test]
fn each_reason_is_reported_only_for_its_cause() {
    let cases = refused();
    for (bundle, expected, state) in &cases {
        let decision = decide(bundle);
        assert_eq!(reasons(&decision), *expected, "{bundle:?}");
        assert_eq!((decision.verdict, decision.state), (AgentVerdict::NoDispatch, *state));
        assert_eq!(DispatchEnvelope::new(bundle, &decision, &bundle.packet, None), None);
    }
    let given = cases.iter().flat_map(|(_, reasons, _)| reasons.clone());
    let given: std::collections::BTreeSet<_> = given.collect();
    let all = ReasonCode::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(given, all, "each reason has a case");
}

/// AEC-10
#[test]
fn denials_follow_the_order_of_the_checks_and_precede_confirmations() {
    let bundle = change(impactful(), |it| {
        it.caller.identity = Identity::Unknown;
        it.catalog_snapshot = digest("new catalog");
        it.simulation.as_mut().unwrap().state = ActionState::Retired;
        it.access.as_mut().unwrap().outcome = AccessOutcome::ApRequired;
    });
    let expected = [
        "ACCESS_SCOPE_VIOLATION",
        "CATALOG_SNAPSHOT_CHANGED",
        "SIMULATION_NOT_ACTIVE",
        "ACCESS_AP_REQUIRED",
    ];
    assert_eq!(reasons(&decide(&bundle)), expected);
    assert!(ReasonCode::ALL.is_sorted());
    let confirmations = ReasonCode::ALL.iter().filter(|it| it.is_about_confirmation());
    assert!(confirmations.into_iter().all(|it| it.as_str().starts_with("CONFIRMATION_")));
}

/// AEC-5: a confirmation may come from another account, or from a host under its own key.
#[test]
fn confirmation_by_another_account_or_under_a_host_key_is_accepted() {
    let by_host = change(confirmed(), |it| {
        let confirmation = it.confirmation.as_mut().unwrap();
        (confirmation.by, confirmation.relayed_by) = (actor(1000), Some("key-1".to_owned()));
    });
    for bundle in [confirmed(), by_host] {
        let decision = decide(&bundle);
        assert_eq!((decision.verdict, reasons(&decision)), (AgentVerdict::Dispatch, vec![]));
        let envelope =
            DispatchEnvelope::new(&bundle, &decision, &bundle.packet, Some(digest("row"))).unwrap();
        assert_eq!(envelope.confirmation_proof_ref, Some(digest("row")));
        assert_eq!(DispatchEnvelope::new(&bundle, &decision, &bundle.packet, None), None);
    }
}

/// AEC-6: an approval of this exact step starts a new cycle.
#[test]
fn step_with_a_granted_approval_is_dispatched() {
    let bundle = change(harmless(), |it| {
        let access = it.access.as_mut().unwrap();
        (access.outcome, access.is_approved) = (AccessOutcome::ApRequired, true);
    });
    assert_eq!(decide(&bundle).verdict, AgentVerdict::Dispatch);
}

/// AEC-7: a completed step returns its recorded outcome even after policy and catalog have changed.
#[test]
fn completed_step_is_answered_without_a_new_dispatch() {
    let bundle =
        change(with_claim(impactful(), claim(&impactful(), AgentState::Succeeded)), |it| {
            it.policy_snapshot = digest("new policy");
            it.catalog_snapshot = digest("new catalog");
        });
    let decision = decide(&bundle);
    assert_eq!((decision.verdict, decision.state), (AgentVerdict::Answered, AgentState::Succeeded));
    assert_eq!(DispatchEnvelope::new(&bundle, &decision, &bundle.packet, None), None);
    let other = change(bundle, |it| it.caller.identity = Identity::Unknown);
    let decision = decide(&other);
    assert_eq!(
        (reasons(&decision), decision.state),
        (vec!["ACCESS_SCOPE_VIOLATION"], AgentState::Succeeded)
    );
}

/// AEC-7: a step whose effect was undone is dispatched again under its key.
#[test]
fn reverted_step_is_dispatched_again_under_its_key() {
    let bundle = with_claim(harmless(), claim(&harmless(), AgentState::Reverted));
    let decision = decide(&bundle);
    assert_eq!(decision.verdict, AgentVerdict::Dispatch);
    assert_eq!(decision.key, decide(&harmless()).key);
}

/// AEC-4, AEC-15
#[test]
fn at_agent_06_clarify_one_question_rule() {
    let packet = FinderPacket::Clarify(clarify_packet());
    let decision = decide(&with_packet(impactful(), &packet));
    assert_eq!(reasons(&decision), ["CLARIFY_REQUIRED"]);
    assert_eq!((decision.plan, decision.key), (None, None));
    let FinderPacket::Clarify(read) =
        FinderPacket::read(&actum_core::canonical::to_vec(&packet.to_object().unwrap()).unwrap())
            .unwrap()
    else {
        panic!("it is a clarify packet");
    };
    assert_eq!((&*read.question, read.head.attempt_counter), ("Which file?", 1));
}

/// AEC-2, AEC-15: the first candidate is used even if a later one has a higher score.
#[test]
fn at_agent_09_finder_top1_is_consumed_without_rerank() {
    let mut packet = match_packet();
    packet.candidates = vec![candidate("delete_file", 5), candidate("move_file", 999_999)];
    let bundle = with_packet(harmless(), &FinderPacket::Match(packet));
    let decision = decide(&bundle);
    assert_eq!(decision.verdict, AgentVerdict::Dispatch);
    let envelope = DispatchEnvelope::new(&bundle, &decision, &bundle.packet, None).unwrap();
    assert_eq!(envelope.simulation_id.as_str(), "delete_file");
    assert_eq!(envelope.required_fields, match_packet().required_fields);
}
