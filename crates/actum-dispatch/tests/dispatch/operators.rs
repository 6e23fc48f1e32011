//! Operators resolve goals in Dev Intake and waive the SLO gate.

use actum_agent::packet::{FinderPacket, MissingSimulationPacket};
use actum_core::Timestamp;
use actum_dispatch::{DispatchError, IntakeGoal, SloReport, SloTarget, WaiveError};
use actum_ledger::conformance::sample::SampleStep;
use actum_record::ledger::{AgentEventKind, AgentState};

use crate::world::{World, goal, person, with_packet};

const HOUR: i64 = 60 * 60 * 1_000_000;

/// AEC-12: a resolved goal leaves Dev Intake, and only an active simulation can resolve it.
#[test]
fn goal_without_a_simulation_is_resolved_once() {
    let world = World::new();
    let asked = goal("wish");
    let packet = FinderPacket::Missing(MissingSimulationPacket {
        head: world.head(&asked),
        requested_capability: "send a letter".to_owned(),
    });
    let wish = with_packet(asked, &packet);
    world.dispatch(&wish);
    world.dispatch(&wish);
    let open = || world.records.ledger().read(IntakeGoal::open).unwrap();
    assert_eq!(open().len(), 1, "a goal is listed once");
    assert_eq!(open()[0].requested_capability.as_deref(), Some("send a letter"));
    let resolve = |simulation: Option<&str>| {
        let simulation = simulation.map(|name| name.parse().unwrap());
        let (correlation, by) = (&wish.correlation_id, person().actor);
        IntakeGoal::resolve(&world.records, correlation, (simulation, "a package has it"), &by)
    };
    let error = resolve(Some("made_up")).unwrap_err();
    assert!(matches!(error, DispatchError::NotActive { .. }), "{error}");
    assert!(resolve(Some("file_create")).unwrap().is_some());
    assert_eq!(open(), []);
    assert_eq!(resolve(None).unwrap(), None, "it does not wait any more");
}

/// AEC-17: a waiver expires within 30 days and must be signed with the approval key.
#[test]
fn slo_gate_waiver_needs_the_approval_key_and_expires() {
    let world = World::new();
    let now = world.records.now();
    let after = |micros: i64| Timestamp::from_micros(now.micros() + micros);
    let report = |at: Timestamp| {
        let read =
            |log: &dyn actum_ledger::Log| SloReport::read((log, world.records.keyring()), now, at);
        world.records.ledger().read(read).unwrap()
    };
    world.as_operator(|approver| {
        for wrong in [after(-1), after(31 * 24 * HOUR)] {
            let error = SloReport::waive(&world.records, (wrong, "why"), approver).unwrap_err();
            assert!(matches!(error, WaiveError::Until), "{error}");
        }
    });
    assert_eq!(report(now).waived_until, None);
    world.as_operator(|approver| {
        SloReport::waive(&world.records, (after(HOUR), "a slow disk"), approver).unwrap();
    });
    assert_eq!(report(after(HOUR / 2)).waived_until, Some(after(HOUR)));
    assert_eq!(report(after(2 * HOUR)).waived_until, None, "it has an end");
    let host = world.signer(actum_record::signer::KeyRole::Host);
    let isolation = actum_record::ledger::Isolation::SameUser;
    let other = actum::Approver { by: person().actor, signer: &host, isolation };
    let error = SloReport::waive(&world.records, (after(HOUR), "no"), &other).unwrap_err();
    assert!(matches!(error, WaiveError::Key(_)), "{error}");
}

/// AEC-17: slow dispatches miss their targets, so the gate fails until it is waived.
#[test]
fn slow_dispatches_fail_the_gate_until_it_is_waived() {
    let world = World::new();
    let now = world.records.now();
    let hour = Timestamp::from_micros(now.micros() + HOUR);
    let report = || {
        let read =
            |log: &dyn actum_ledger::Log| SloReport::read((log, world.records.keyring()), now, now);
        world.records.ledger().read(read).unwrap()
    };
    assert!(report().passes());
    let slow = SampleStep { dispatch_us: 2_500_001, time: now, ..SampleStep::numbered(1) };
    let outcome = slow.event(AgentEventKind::Outcome, AgentState::Succeeded).unwrap();
    for entries in [slow.started().unwrap(), vec![outcome]] {
        world.records.ledger().append(entries).wait().unwrap();
    }
    assert_eq!(report().breaches, [SloTarget::DispatchP95, SloTarget::DispatchP99]);
    assert!(!report().passes());
    world.as_operator(|approver| {
        SloReport::waive(&world.records, (hour, "a slow disk"), approver).unwrap();
    });
    assert!(report().passes(), "the targets are missed, and it is waived");
    assert_eq!(report().breaches.len(), 2);
}
