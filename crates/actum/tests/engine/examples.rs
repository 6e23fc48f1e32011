//! Tests that run the examples.

#[path = "../../examples/apply_and_undo.rs"]
mod apply_and_undo;
#[path = "../../examples/only_once.rs"]
mod only_once;

#[test]
fn a_change_and_its_undo_leave_nothing_behind() {
    apply_and_undo::run_example(tempfile::tempdir().unwrap().path()).unwrap();
}

/// AEC-7
#[test]
fn a_request_that_is_made_twice_is_carried_out_once() {
    only_once::run_example(tempfile::tempdir().unwrap().path()).unwrap();
}
