//! What an operator does: resolves wishes, waives the SLO gate.

use actum_agent::packet::{FinderPacket, MissingSimulationPacket};
use actum_core::Timestamp;
use actum_dispatch::{DispatchError, IntakeGoal, SloReport, WaiveError};

use crate::world::{World, goal, person, with_packet};

const HOUR: i64 = 60 * 60 * 1_000_000;

/// AEC-12: a wish that is resolved leaves Dev Intake, and only an active simulation resolves it.
#[test]
fn a_goal_that_waits_for_a_simulation_is_resolved_once() {
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
    assert_eq!(open().len(), 2);
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

/// AEC-17: a waiver has an end within 30 days, and is of the approval key.
#[test]
fn the_gate_is_waived_under_the_approval_key_until_a_time() {
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
