//! Replays of decisions (AEC-11).

use actum::Cedar;
use actum_dispatch::ReplayReport;
use serde_json::json;

use crate::world::{World, access, agent, goal};

/// AEC-11: each decision of a goal, also "no", is the same when it is made again.
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
        let report = world
            .records
            .ledger()
            .read(|log| ReplayReport::of(log, &goal.correlation_id, &Cedar::default()))
            .unwrap();
        assert!(report.is_same(), "{report:?}");
        decisions += report.decisions.len();
    }
    assert_eq!(decisions, 3 + 2 + 2 + 1, "events and access decisions");
}
