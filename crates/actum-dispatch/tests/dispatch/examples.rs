//! Runs the example of this crate.

#[expect(dead_code, reason = "the example is a whole program")]
#[path = "../../examples/host.rs"]
mod host;

/// AEC-21: a host calls the library, asserts its user, and relays the user's answer.
#[test]
fn host_example_dispatches_a_goal_and_relays_the_users_answer() {
    let directory = actum_testkit::TestDir::in_memory();
    host::run_example(&directory.join("host")).unwrap();
    assert_eq!(directory.get("host/project/notes.txt").unwrap(), b"first note\n");
}
