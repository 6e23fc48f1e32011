//! Plans round-trip between JSON and their parsed form.

use actum_task::{ActionType, Check, Condition, TaskId, TaskPlan};

use crate::examples::{everything, path};

/// EX-2, EX-9, EX-10
#[test]
fn full_plan_round_trips_and_keeps_value_spelling() {
    let text = everything();
    let (plan, places) = TaskPlan::read_with_places(text.as_bytes()).unwrap();
    let written = plan.to_json();
    assert_eq!(TaskPlan::read(written.as_bytes()).unwrap(), plan);
    for spelled in ["1e400", r#"[ 1.0, "\u00e9" ]"#] {
        assert!(written.contains(spelled), "{written}");
    }
    let lines: Vec<u64> = places.0.iter().map(|place| place.line).collect();
    let begins = |line: &&(usize, &str)| line.1.starts_with("    {\"action_id\"");
    let lines_of: Vec<_> = text.lines().enumerate().collect();
    let expected: Vec<u64> =
        lines_of.iter().filter(begins).map(|(line, _)| u64::try_from(*line).unwrap() + 1).collect();
    assert_eq!(lines, expected);
    assert!(places.0.iter().all(|place| place.column == 5));
}

/// EX-9
#[test]
fn every_action_type_is_read() {
    let plan = TaskPlan::read(everything().as_bytes()).unwrap();
    for action_type in ActionType::ALL {
        assert!(plan.actions.iter().any(|action| action.action_type() == action_type));
    }
}

/// EX-12
#[test]
fn condition_path_defaults_to_the_target_or_its_new_path() {
    let plan = TaskPlan::read(everything().as_bytes()).unwrap();
    let made = &plan.actions[0];
    assert_eq!(
        made.preconditions,
        [
            Condition { path: path("bin/run"), check: Check::Absent },
            Condition { path: path("bin"), check: Check::Exists },
        ]
    );
    let renamed = plan.actions.iter().find(|action| action.id.as_str() == "rename").unwrap();
    assert_eq!(
        renamed.postconditions,
        [
            Condition { path: path("n"), check: Check::Exists },
            Condition { path: path("m"), check: Check::Absent },
        ]
    );
    let rules: Vec<String> =
        plan.instructions.validation_rules.iter().map(Condition::to_string).collect();
    assert_eq!(
        rules,
        [
            "`a` has the SHA-256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "`b` exists",
            "`k` does not exist",
            "`c` contains `x`",
            "`c` does not contain `y`",
        ]
    );
}

/// EX-2
#[test]
fn task_without_an_envelope_is_named_after_its_plan() {
    let plan = TaskPlan::read(everything().as_bytes()).unwrap();
    assert_eq!(TaskId::from(&plan.id).as_str(), "all.of-it_1");
    let error = "a/b".parse::<TaskId>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a/b` cannot be used as a task id: expected a string of 1 to 128 characters (letters, \
         digits, `.`, `_` and `-`)"
    );
}
