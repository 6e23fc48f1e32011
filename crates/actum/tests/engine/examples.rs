//! Tests that run the examples.

#[path = "../../examples/apply_and_undo.rs"]
mod apply_and_undo;
#[path = "../../examples/only_once.rs"]
mod only_once;

#[test]
fn apply_and_undo_example_runs() {
    apply_and_undo::run_example(tempfile::tempdir().unwrap().path()).unwrap();
}

/// AEC-7
#[test]
fn repeated_request_example_executes_once() {
    only_once::run_example(tempfile::tempdir().unwrap().path()).unwrap();
}
