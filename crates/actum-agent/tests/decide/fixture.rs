//! A bundle that would be dispatched, which the tests then modify.

use actum_agent::bundle::{
    AccessFacts, AgentBundle, Caller, ClaimFacts, ConfirmationFacts, GoalFacts, HistoryFacts,
    Identity, Place, RollbackFacts, SimulationFacts,
};
use actum_agent::packet::{
    Candidate, ClarifyPacket, FinderPacket, MissingSimulationPacket, PacketHead, RefusePacket,
    RollbackSimulation, SimulationMatchPacket,
};
use actum_agent::{AgentDecision, decide};
use actum_core::{Digest, RiskTier, Timestamp};
use actum_record::ledger::{
    AccessOutcome, ActionState, Actor, AgentState, ConfirmationOutcome, TenantId,
};
use serde_json::{Map, json};

/// Time of the decision, in microseconds.
pub(crate) const NOW: i64 = 1_795_000_000_000_000;

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

pub(crate) fn actor(uid: u32) -> Actor {
    Actor { agent: None, uid, user: format!("user-{uid}") }
}

pub(crate) fn head() -> PacketHead {
    PacketHead {
        correlation_id: "corr-1".parse().unwrap(),
        tenant_id: TenantId::default(),
        goal_fingerprint: digest("goal"),
        catalog_snapshot_ref: digest("catalog"),
        finder_proof_ref: digest("evidence"),
        finder_version: "finder 1".to_owned(),
        idempotency_key: "packet-1".to_owned(),
        attempt_counter: 0,
    }
}

pub(crate) fn candidate(name: &str, score: u32) -> Candidate {
    Candidate { simulation_id: name.parse().unwrap(), score }
}

pub(crate) fn match_packet() -> SimulationMatchPacket {
    SimulationMatchPacket {
        head: head(),
        candidates: vec![candidate("delete_file", 900), candidate("move_file", 100)],
        required_fields: json!({"path": "notes.txt"}).as_object().unwrap().clone(),
        access_action: "ChangeFiles".to_owned(),
        rollback_plan: Some(RollbackSimulation {
            simulation_id: "undo_run".parse().unwrap(),
            required_fields: Map::new(),
        }),
        learning_table_ref: None,
    }
}

pub(crate) fn clarify_packet() -> ClarifyPacket {
    ClarifyPacket {
        head: PacketHead { attempt_counter: 1, ..head() },
        question: "Which file?".to_owned(),
        missing_field: Some("path".to_owned()),
        candidates: vec![candidate("delete_file", 900)],
    }
}

pub(crate) fn refuse_packet() -> RefusePacket {
    RefusePacket {
        head: head(),
        refusal_code: "OUT_OF_SCOPE".to_owned(),
        message: "Not here.".to_owned(),
    }
}

pub(crate) fn missing_packet() -> MissingSimulationPacket {
    MissingSimulationPacket { head: head(), requested_capability: "send a letter".to_owned() }
}

/// Replaces the packet of a bundle.
pub(crate) fn with_packet(bundle: AgentBundle, packet: &FinderPacket) -> AgentBundle {
    let packet = packet.to_object().unwrap();
    let bytes = actum_core::canonical::to_vec(&packet).unwrap();
    AgentBundle { packet, finder_packet: Digest::of(&bytes), ..bundle }
}

/// Creates a bundle that is dispatched because its simulation is allowed and not impactful.
pub(crate) fn harmless() -> AgentBundle {
    let bundle = AgentBundle {
        format: AgentBundle::FORMAT.to_owned(),
        time: Timestamp::from_micros(NOW),
        goal: GoalFacts {
            correlation: "corr-1".parse().unwrap(),
            tenant: TenantId::default(),
            user: "user-1".parse().unwrap(),
            thread: "thread-1".parse().unwrap(),
            fingerprint: digest("goal"),
            attempt: 0,
            request_key: digest("request-1"),
        },
        packet: Map::new(),
        finder_packet: digest(""),
        caller: Caller { actor: actor(1000), tenant: TenantId::default(), identity: Identity::Own },
        policy_snapshot: digest("policy"),
        catalog_snapshot: digest("catalog"),
        simulation: Some(SimulationFacts {
            id: "delete_file".parse().unwrap(),
            state: ActionState::Active,
            tier: RiskTier::R2,
            impactful: false,
            side_effecting: false,
            irreversible: false,
            access_action: "ChangeFiles".to_owned(),
            fields_fit: true,
        }),
        rollback: Some(RollbackFacts {
            id: "undo_run".parse().unwrap(),
            state: ActionState::Active,
        }),
        place: Place {
            root: "/home/ada/project".to_owned(),
            allowed_dirs: vec![".".to_owned()],
            checks: Vec::new(),
        },
        access: Some(AccessFacts {
            outcome: AccessOutcome::Allowed,
            case: digest("case"),
            is_approved: false,
        }),
        history: HistoryFacts::default(),
        confirmation: None,
        lexicon: digest("lexicon"),
        artifacts: digest("artifacts"),
    };
    with_packet(bundle, &FinderPacket::Match(match_packet()))
}

/// Creates a bundle with an impactful simulation that another account has confirmed.
pub(crate) fn confirmed() -> AgentBundle {
    let bundle = impactful();
    let plan_fingerprint = decide(&bundle).plan_fingerprint.unwrap();
    AgentBundle { confirmation: Some(confirmation(plan_fingerprint)), ..bundle }
}

/// Creates a bundle with an impactful simulation and no confirmation.
pub(crate) fn impactful() -> AgentBundle {
    let mut bundle = harmless();
    let simulation = bundle.simulation.as_mut().unwrap();
    (simulation.impactful, simulation.side_effecting) = (true, true);
    bundle
}

pub(crate) fn confirmation(plan_fingerprint: Digest) -> ConfirmationFacts {
    ConfirmationFacts {
        outcome: ConfirmationOutcome::Confirmed,
        proof: digest("proof"),
        lexicon: digest("lexicon"),
        thread: "thread-1".parse().unwrap(),
        plan_fingerprint,
        time: Timestamp::from_micros(NOW - 1_000_000),
        expires: Timestamp::from_micros(NOW + 1_000_000),
        by: actor(1001),
        relayed_by: None,
    }
}

/// Creates a claim on the step of `bundle` in the given state.
pub(crate) fn claim(bundle: &AgentBundle, state: AgentState) -> ClaimFacts {
    let key = decide(bundle).key.unwrap();
    ClaimFacts { key, policy_snapshot: bundle.policy_snapshot, state, starts: 1 }
}

pub(crate) fn with_claim(mut bundle: AgentBundle, claim: ClaimFacts) -> AgentBundle {
    bundle.history.claim = Some(claim);
    bundle
}

/// Returns the names of the reasons of a decision.
pub(crate) fn reasons(decision: &AgentDecision) -> Vec<&'static str> {
    decision.reasons.iter().map(|reason| reason.as_str()).collect()
}
