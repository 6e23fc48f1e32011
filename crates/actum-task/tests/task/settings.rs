//! The system config of tasks.

use std::time::Duration;

use actum_core::PathRule;
use actum_task::{ActionType, Constraints, ErrorCode, Limits, SystemConfig, TaskPlan, Timeouts};
use serde_json::{Value, json};

use crate::examples::everything;

const EVERYTHING: &str = "\
# What holds for this project.
format: actum.system-config/1
soft_constraints:
  stop_on_error: false
  rollback_on_failure: false
  preserve_permissions: false
  verify_hashes: false
timeouts:
  file_seconds: 120
  schema_seconds: 60
  sql_seconds: 300
  pipeline_seconds: 3600
  task_seconds: 1
limits:
  max_files: 1
  max_file_bytes: 2
  max_backup_bytes: 3
  max_parallel: 4
rollback_manifest:
  ttl_days: 30
git:
  commit: true
protected_files:
  - config/**
  - '*.lock'
";

pub(crate) fn everything_set() -> Value {
    json!({
        "format": "actum.system-config/1",
        "soft_constraints": {
            "stop_on_error": false,
            "rollback_on_failure": false,
            "preserve_permissions": false,
            "verify_hashes": false,
        },
        "timeouts": {
            "file_seconds": 120,
            "schema_seconds": 60,
            "sql_seconds": 300,
            "pipeline_seconds": 3600,
            "task_seconds": 1,
        },
        "limits": {
            "max_files": 1,
            "max_file_bytes": 2,
            "max_backup_bytes": 3,
            "max_parallel": 4,
        },
        "rollback_manifest": {"ttl_days": 30},
        "git": {"commit": true},
        "protected_files": ["config/**", "*.lock"],
    })
}

fn problems(text: &str) -> Vec<(ErrorCode, String)> {
    let mistakes = SystemConfig::read(text.as_bytes()).unwrap_err().0;
    mistakes
        .list
        .iter()
        .map(|mistake| (ErrorCode::from_diagnostic(mistake), mistake.to_string()))
        .collect()
}

/// EX-17, EX-19, EX-21, D-5
#[test]
fn every_setting_can_be_set_and_is_optional() {
    let config = SystemConfig::read(EVERYTHING.as_bytes()).unwrap();
    let expected = SystemConfig {
        constraints: Constraints {
            stop_on_error: false,
            rollback_on_failure: false,
            preserve_permissions: false,
            verify_hashes: false,
        },
        timeouts: Timeouts {
            file: Duration::from_secs(120),
            schema: Duration::from_secs(60),
            sql: Duration::from_secs(300),
            pipeline: Duration::from_secs(3600),
            task: Duration::from_secs(1),
        },
        limits: Limits { files_max: 1, file_bytes_max: 2, backup_bytes_max: 3, parallel_max: 4 },
        manifest_ttl: Some(Duration::from_secs(30 * 24 * 60 * 60)),
        commit: true,
        protected: vec![PathRule::new("config/**").unwrap(), PathRule::new("*.lock").unwrap()],
    };
    assert_eq!(config, expected);
    assert_eq!(SystemConfig::read(everything_set().to_string().as_bytes()), Ok(expected));
    assert_eq!(SystemConfig::read(b"{}"), Ok(SystemConfig::default()));
    assert_eq!(SystemConfig::read(b"git: {}\nlimits: {}\n"), Ok(SystemConfig::default()));
}

/// EX-19, EX-21: a value of the plan takes precedence over one of the config.
#[test]
fn plan_values_override_config_values() {
    let config = SystemConfig::read(EVERYTHING.as_bytes()).unwrap();
    let plan = TaskPlan::read(everything().as_bytes()).unwrap();
    let set = plan.actions.iter().filter(|action| action.timeout.is_some());
    let set: Vec<_> = set.map(|action| config.timeout(action).as_secs()).collect();
    assert_eq!(set, [120, 60, 300, 3600]);
    let whole = plan.actions.iter().find(|action| action.id.as_str() == "whole").unwrap();
    assert_eq!(config.timeout(whole).as_secs(), 120);
    for (action_type, seconds) in ActionType::ALL.into_iter().zip([30, 30, 30, 30, 30, 60, 300]) {
        let limit = action_type.time_limit();
        assert_eq!(
            (limit.default.as_secs(), Timeouts::default().of(action_type)),
            (seconds, limit.default)
        );
        assert_eq!(config.timeouts.of(action_type), limit.max);
    }
    let all = Constraints::default();
    assert_eq!(plan.constraints(all), config.constraints);
    let text = everything().replace("\"stop_on_error\": false,", "");
    let plan = TaskPlan::read(text.as_bytes()).unwrap();
    assert_eq!(plan.constraints(all), Constraints { stop_on_error: true, ..config.constraints });
    assert_eq!(plan.constraints(config.constraints), config.constraints);
}

/// EX-2, EX-21
#[test]
fn config_errors_report_the_line() {
    let known =
        "fields of limits: `max_files`, `max_file_bytes`, `max_backup_bytes`, `max_parallel`";
    assert_eq!(problems("limits:\n  max_files: 101\n  max_fils: 3\n  max_parallel: four\n"), [
        (
            ErrorCode::SchemaViolation,
            "line 2, column 14: `limits.max_files`: expected a whole number from 1 to 100, but found \
             `101`"
                .to_owned()
        ),
        (
            ErrorCode::UnknownField,
            format!(
                "line 3, column 3: `limits.max_fils`: unknown field (did you mean `max_files`?); \
                 {known}"
            )
        ),
        (
            ErrorCode::SchemaViolation,
            "line 4, column 17: `limits.max_parallel`: expected a whole number from 1 to 4, but found \
             a string"
                .to_owned()
        ),
    ]);
    let yaml = |text: &str, message: &str| {
        let expected = (ErrorCode::InvalidYaml, message.to_owned());
        assert_eq!(problems(text), [expected], "{text}");
    };
    yaml("git: {}\nb", "line 2, column 1: invalid YAML: simple key expected ':'");
    yaml(
        "limits:\n\tmax_files: 1\n",
        "line 2, column 2: invalid YAML: tabs disallowed within this context (block indentation)",
    );
    yaml(
        "limits: {<<: {max_files: 2}}",
        "line 1, column 10: invalid YAML: merge keys (`<<`) are not supported; write the fields out",
    );
    yaml(
        "--- {}\n--- {}\n",
        "line 2, column 5: invalid YAML: a second document starts here, but only one is allowed",
    );
    yaml("git: !a {}", "line 1, column 9: invalid YAML: unsupported tag `!a`");
    assert_eq!(
        problems("git: {}\ngit: {}\n"),
        [(ErrorCode::DuplicateKey, "line 2, column 1: `git`: duplicate field".to_owned())]
    );
    let schema = |text: &str, message: &str| {
        let expected = (ErrorCode::SchemaViolation, message.to_owned());
        assert_eq!(problems(text), [expected], "{text}");
    };
    schema(
        "a",
        "line 1, column 1: expected a system config, which is an object, but found a string",
    );
    schema(
        "null",
        "line 1, column 1: expected a system config, which is an object, but found `null`",
    );
    for nothing in ["", "# nothing is said\n", "\n\n# nor here"] {
        let read = SystemConfig::read(nothing.as_bytes()).unwrap();
        assert_eq!(read, SystemConfig::default(), "{nothing:?}");
    }
    schema(
        "git: {commit: yes}",
        "line 1, column 15: `git.commit`: expected `true` or `false`, but found a string",
    );
    schema(
        "protected_files: [a, '[']",
        "line 1, column 22: `protected_files[1]`: the rule `[` cannot be used: `[` is not \
         supported: use `?` for one character or `*` for any number; to match it literally, write `\\[`",
    );
    let invalid = SystemConfig::read(b"a: \xff").unwrap_err();
    assert_eq!(
        invalid.to_string(),
        "the system config cannot be used: line 1, column 4: invalid YAML: the byte at \
         this position is not valid UTF-8"
    );
}
