//! Compares decisions on random bundles with an independent model in Python.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use actum_agent::bundle::{AgentBundle, ClaimFacts, Identity};
use actum_agent::packet::FinderPacket;
use actum_agent::{AgentDecision, decide};
use actum_core::Timestamp;
use actum_record::ledger::{AccessOutcome, ActionState, AgentState, ConfirmationOutcome};
use actum_testkit::{Random, effort};
use serde_json::{Value, json};

use crate::fixture::{
    NOW, actor, candidate, clarify_packet, confirmation, digest, harmless, match_packet,
    missing_packet, refuse_packet, with_packet,
};

/// Default number of random bundles. `ACTUM_MODEL_CASES` overrides it.
const CASES: usize = 20_000;
/// Most of the unusual facts are chosen with a probability of one in this many.
const RARE: usize = 12;

pub(crate) fn random_bundle(random: &mut Random) -> AgentBundle {
    let mut rare = |of: usize| random.below(of) == 0;
    let [other_goal, other_correlation, tie, other_catalog, other_action, no_rollback] =
        std::array::from_fn(|_| rare(RARE));
    let packet = match random.below(10) {
        0 => FinderPacket::Clarify(clarify_packet()),
        1 => FinderPacket::Refuse(refuse_packet()),
        2 => FinderPacket::Missing(missing_packet()),
        _ => {
            let mut packet = match_packet();
            if tie {
                packet.candidates[1] = candidate("move_file", 900);
            }
            if random.below(4) == 0 {
                packet.candidates.truncate(1);
            }
            if other_action {
                packet.access_action = "RunCommand".to_owned();
            }
            if no_rollback {
                packet.rollback_plan = None;
            }
            if other_goal {
                packet.head.goal_fingerprint = digest("another goal");
            }
            if other_correlation {
                packet.head.correlation_id = "corr-2".parse().unwrap();
            }
            if other_catalog {
                packet.head.catalog_snapshot_ref = digest("old catalog");
            }
            FinderPacket::Match(packet)
        }
    };
    let mut bundle = with_packet(harmless(), &packet);
    if random.below(RARE) == 0 {
        let damage: [fn(&mut AgentBundle); 4] = [
            |it| it.finder_packet = digest("other"),
            |it| drop(it.packet.remove("candidates")),
            |it| drop(it.packet.insert("more".to_owned(), json!(1))),
            |it| drop(it.packet.insert("packet_type".to_owned(), json!("ToolPacket"))),
        ];
        random.one_of(&damage)(&mut bundle);
    }
    let micros = |offset: i64| Timestamp::from_micros(NOW + offset);
    if let Some(simulation) = &mut bundle.simulation {
        simulation.state = match random.below(RARE) {
            0 => ActionState::Draft,
            1 => ActionState::Retired,
            _ => ActionState::Active,
        };
        [simulation.impactful, simulation.side_effecting, simulation.irreversible] =
            std::array::from_fn(|_| random.below(3) == 0);
        simulation.fields_fit = random.below(RARE) > 0;
    }
    if random.below(2 * RARE) == 0 {
        bundle.simulation = None;
    }
    if let Some(rollback) = &mut bundle.rollback {
        match random.below(RARE) {
            0 => rollback.state = ActionState::Retired,
            1 => rollback.id = "redo_run".parse().unwrap(),
            _ => {}
        }
    }
    if random.below(2 * RARE) == 0 {
        bundle.rollback = None;
    }
    if random.below(2 * RARE) == 0 {
        bundle.goal.attempt = 7;
    }
    if let Some(access) = &mut bundle.access {
        access.outcome = match random.below(RARE) {
            0 => AccessOutcome::Denied,
            1 | 2 => AccessOutcome::ApRequired,
            _ => AccessOutcome::Allowed,
        };
        access.is_approved = random.below(2) == 0;
    }
    if random.below(3 * RARE) == 0 {
        bundle.access = None;
    }
    bundle.caller.identity = match random.below(RARE) {
        0 => Identity::Unknown,
        1 | 2 => Identity::Host { key: "host-1".to_owned(), assertion: digest("assertion") },
        _ => Identity::Own,
    };
    if random.below(2 * RARE) == 0 {
        bundle.caller.tenant = "other".parse().unwrap();
    }
    bundle.history.last =
        random.one_of(&[None, Some(micros(-5)), Some(micros(-5)), Some(micros(5))]);
    if random.below(RARE) == 0 {
        bundle.history.goal = Some(random.one_of(&[digest("goal"), digest("another goal")]));
    }
    if random.below(RARE) == 0 {
        bundle.history.request = Some(random.one_of(&["corr-1", "corr-9"]).parse().unwrap());
    }
    bundle.history.is_replay_failed = random.below(3 * RARE) == 0;
    bundle.history.ambiguous_answers = u32::try_from(random.below(4)).unwrap();
    let planned = decide(&bundle);
    if random.below(4) == 0
        && let Some(key) = planned.key
    {
        let states = [
            AgentState::Started,
            AgentState::Succeeded,
            AgentState::Succeeded,
            AgentState::Reverted,
            AgentState::Reverted,
            AgentState::Failed,
        ];
        bundle.history.claim = Some(ClaimFacts {
            key: random.one_of(&[key, key, key, digest("other key")]),
            policy_snapshot: random.one_of(&[
                bundle.policy_snapshot,
                bundle.policy_snapshot,
                digest("old policy"),
            ]),
            state: random.one_of(&states),
            starts: u32::try_from(1 + random.below(4)).unwrap(),
        });
    }
    if random.below(3) > 0 {
        let fingerprint = decide(&bundle).plan_fingerprint.unwrap_or(digest("none"));
        let mut answer = confirmation(fingerprint);
        let outcomes = [
            ConfirmationOutcome::Confirmed,
            ConfirmationOutcome::Confirmed,
            ConfirmationOutcome::Confirmed,
            ConfirmationOutcome::Rejected,
            ConfirmationOutcome::Ambiguous,
        ];
        answer.outcome = random.one_of(&outcomes);
        let edits: [fn(&mut actum_agent::bundle::ConfirmationFacts); 7] = [
            |it| it.thread = "thread-2".parse().unwrap(),
            |it| it.plan_fingerprint = digest("another plan"),
            |it| it.lexicon = digest("old lexicon"),
            |it| it.by = actor(1000),
            |it| (it.by, it.relayed_by) = (actor(1000), Some("host-1".to_owned())),
            |it| it.expires = Timestamp::from_micros(NOW - 1),
            |it| it.time = Timestamp::from_micros(NOW + 2_000_000),
        ];
        for edit in edits {
            if random.below(RARE) == 0 {
                edit(&mut answer);
            }
        }
        bundle.confirmation = Some(answer);
    }
    bundle
}

/// Returns the parts of a decision that the model computes as well.
fn summary(decision: &AgentDecision) -> Value {
    let AgentDecision { verdict, state, reasons, key, plan_fingerprint, .. } = decision;
    json!([verdict, state, reasons, key, plan_fingerprint])
}

/// AEC-7, AEC-10
#[test]
fn independent_python_model_makes_the_same_decisions() {
    let mut random = Random::new(25);
    let cases = effort("ACTUM_MODEL_CASES", CASES);
    let bundles: Vec<AgentBundle> = (0..cases).map(|_| random_bundle(&mut random)).collect();
    let lines: String =
        bundles.iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decide/agent_model.py");
    let mut model = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut input = model.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = model.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), cases);
    let mut given = BTreeMap::<String, usize>::new();
    for (bundle, line) in bundles.iter().zip(stdout.lines()) {
        let decision = decide(bundle);
        let found: Value = serde_json::from_str(line).unwrap();
        assert_eq!(found, summary(&decision), "{}", serde_json::to_string(bundle).unwrap());
        let verdict = serde_json::to_value(decision.verdict).unwrap().as_str().unwrap().to_owned();
        *given.entry(verdict).or_default() += 1;
        for reason in &decision.reasons {
            *given.entry(reason.as_str().to_owned()).or_default() += 1;
        }
    }
    // Every reason and every verdict must occur at least once.
    assert_eq!(given.len(), actum_agent::ReasonCode::ALL.len() + 3, "{given:?}");
    assert!(given.values().all(|count| count * 1000 >= cases), "{given:?}");
}
