//! The plans from the specification, and a plan that uses every feature.

use actum_core::{RelPath, RiskTier};
use actum_task::{
    Change, ExecutionOrder, Files, Instructions, StructureEdit, SystemConfig, TaskPlan, Work, lint,
};

/// Plan from section 12.1 of the specification.
pub(crate) const ADDS_A_PROPERTY: &str = r#"{
  "plan_id": "plan-001",
  "action_plan": [
    {
      "action_id": "a001",
      "action_type": "FILE_MODIFY",
      "target": "esquemas/esquema_bd.json",
      "operation": {
        "type": "json_add_property",
        "path": "$.properties",
        "key": "new_field",
        "value": {"type": "string"}
      }
    }
  ]
}"#;

/// Plan from section 12.2 of the specification.
pub(crate) const TOUCHES_WHAT_IS_PROTECTED: &str = r#"{
  "plan_id": "plan-002",
  "action_plan": [
    {
      "action_id": "a001",
      "action_type": "FILE_MODIFY",
      "target": "agent/agent_rules.md",
      "operation": {
        "type": "text_replace",
        "pattern": "old text",
        "replacement": "new text"
      }
    }
  ]
}"#;

/// Plan from section 3.3 of the specification, with an operation that exists.
pub(crate) const WITH_DETAILS: &str = r#"{
  "plan_id": "uuid",
  "action_plan": [
    {
      "action_id": "string",
      "action_type": "FILE_MODIFY",
      "target": "relative/path/to/file",
      "operation": {
        "type": "line_insert",
        "details": {"line_number": 3, "content": "x\n"}
      },
      "depends_on": [],
      "reversible": true,
      "risk_level": "LOW"
    }
  ],
  "execution_instructions": {
    "execution_order": "sequential",
    "stop_on_error": true,
    "rollback_on_failure": true
  }
}"#;

/// Every type of action, every operation and every condition.
pub(crate) const EVERYTHING: &str = r#"{
  "plan_id": "all.of-it_1",
  "description": "Everything there is.",
  "action_plan": [
    {"action_id": "make", "action_type": "FILE_CREATE", "target": "bin/run",
     "description": "A script.",
     "operation": {"type": "create", "content": "\#!/bin/sh\n", "executable": true},
     "preconditions": [{"type": "absent"}, {"type": "exists", "path": "bin"}],
     "postconditions": [{"type": "contains", "text": "sh"}, {"type": "lacks", "text": "curl"}],
     "risk_level": "CRITICAL", "timeout_seconds": 120},
    {"action_id": "whole", "action_type": "FILE_MODIFY", "target": "a", "depends_on": ["make"],
     "operation": {"type": "content", "details": {"content": "é"}}, "risk_level": "HIGH"},
    {"action_id": "hunks", "action_type": "FILE_MODIFY", "target": "b",
     "operation": {"type": "hunks", "expected_prev_sha256":
       "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
       "details": {"hunks": [{"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1,
                              "lines": "-a\n+b\n"}]}}, "risk_level": "MEDIUM"},
    {"action_id": "replace", "action_type": "FILE_MODIFY", "target": "c",
     "operation": {"type": "text_replace", "pattern": "x", "replacement": "", "count": 2}},
    {"action_id": "insert", "action_type": "FILE_MODIFY", "target": "d",
     "operation": {"type": "line_insert", "line_number": 1, "content": "x\n"}},
    {"action_id": "cut", "action_type": "FILE_MODIFY", "target": "e",
     "operation": {"type": "line_delete", "start_line": 2, "end_line": 2}},
    {"action_id": "add", "action_type": "FILE_MODIFY", "target": "f.json",
     "operation": {"type": "json_add_property", "path": "$", "key": "", "value": 1e400}},
    {"action_id": "remove", "action_type": "SCHEMA_UPDATE", "target": "g.json",
     "operation": {"type": "json_remove_property", "path": "$.a", "key": "k"},
     "timeout_seconds": 60, "reversible": false},
    {"action_id": "update", "action_type": "SCHEMA_UPDATE", "target": "h.json",
     "operation": {"type": "json_update_value", "path": "$.a", "value": [ 1.0, "\u00e9" ]}},
    {"action_id": "yaml", "action_type": "SCHEMA_UPDATE", "target": "i.yaml",
     "operation": {"type": "yaml_update", "path": "$.a", "value": null}},
    {"action_id": "schema", "action_type": "SCHEMA_UPDATE", "target": "j.json",
     "operation": {"type": "content", "content": "{}"}},
    {"action_id": "delete", "action_type": "FILE_DELETE", "target": "k"},
    {"action_id": "delete it", "action_type": "FILE_DELETE", "target": "l",
     "operation": {"type": "delete", "expected_prev_sha256":
       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
    {"action_id": "rename", "action_type": "FILE_RENAME", "target": "m",
     "operation": {"type": "rename", "new_path": "n"},
     "postconditions": [{"type": "exists"}, {"type": "absent", "path": "m"}]},
    {"action_id": "sql", "action_type": "SQL_EXECUTE", "target": "data.duckdb",
     "operation": {"type": "sql_execute", "query_file": "queries/query.sql", "parameters": {},
       "connection": "duckdb", "expect_results": false,
       "save_results_to": "optional/path.parquet"}, "timeout_seconds": 300},
    {"action_id": "pipeline", "action_type": "PIPELINE_RUN", "target": "p",
     "operation": {"type": "pipeline_run", "pipeline": "nightly", "parameters": {"n": 1}},
     "timeout_seconds": 3600}
  ],
  "execution_instructions": {
    "execution_order": "parallel",
    "stop_on_error": false,
    "rollback_on_failure": false,
    "preserve_permissions": false,
    "verify_hashes": false,
    "validation_rules": [{"type": "sha256", "path": "a", "sha256":
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"type": "exists", "path": "b"}, {"type": "absent", "path": "k"},
      {"type": "contains", "path": "c", "text": "x"}, {"type": "lacks", "path": "c", "text": "y"}]
  }
}"#;

pub(crate) fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

pub(crate) fn everything() -> String {
    EVERYTHING.replace("\\#", "#")
}

/// EX-2, EX-10: section 12.1
#[test]
fn property_example_is_read_with_every_default() {
    let plan = TaskPlan::read(ADDS_A_PROPERTY.as_bytes()).unwrap();
    assert_eq!(plan.id.as_str(), "plan-001");
    assert_eq!(plan.instructions, Instructions::default());
    let [action] = &*plan.actions else { panic!("{plan:?}") };
    assert_eq!((action.id.as_str(), action.reversible), ("a001", true));
    assert_eq!((action.declared_tier, action.timeout, action.expected), (None, None, None));
    assert!(action.depends_on.is_empty() && action.preconditions.is_empty());
    let Work::Modify(Change::Structure(StructureEdit::JsonAddProperty { path, key, value })) =
        &action.work
    else {
        panic!("{action:?}")
    };
    assert_eq!(
        (path.as_str(), &**key, value.as_str()),
        ("$.properties", "new_field", r#"{"type": "string"}"#)
    );
    let constraints = plan.constraints(SystemConfig::default().constraints);
    assert!(constraints.stop_on_error && constraints.rollback_on_failure);
    assert!(constraints.preserve_permissions && constraints.verify_hashes);
}

/// EX-2: section 12.2; the gates decide about the protected target.
#[test]
fn protected_file_example_is_a_valid_plan() {
    let plan = TaskPlan::read(TOUCHES_WHAT_IS_PROTECTED.as_bytes()).unwrap();
    let replace = Change::ReplaceText {
        pattern: "old text".to_owned(),
        replacement: "new text".to_owned(),
        count: 1,
    };
    assert_eq!(plan.actions[0].work, Work::Modify(replace));
    let graph = plan.graph().unwrap();
    let files = Files { exists: &|_| true, may_change: &|_, _| false };
    assert_eq!(lint(&plan, &graph, &SystemConfig::default(), files), []);
}

/// EX-2: section 3.3
#[test]
fn details_fields_may_also_be_top_level() {
    let plan = TaskPlan::read(WITH_DETAILS.as_bytes()).unwrap();
    let flat = WITH_DETAILS.replace("\"details\": {", "").replace("x\\n\"}", "x\\n\"");
    assert_eq!(TaskPlan::read(flat.as_bytes()).unwrap(), plan);
    let mixed = WITH_DETAILS
        .replace(r#""details": {"line_number": 3, "#, r#""line_number": 3, "details": {"#);
    assert_eq!(TaskPlan::read(mixed.as_bytes()).unwrap(), plan);
    let insert = Change::InsertLines { line: 3, content: "x\n".to_owned() };
    assert_eq!(plan.actions[0].work, Work::Modify(insert));
    assert_eq!(plan.actions[0].declared_tier, Some(RiskTier::R1));
    assert_eq!(plan.instructions.order, ExecutionOrder::Sequential);
    assert_eq!(plan.instructions.constraints.stop_on_error, Some(true));
    assert_eq!(plan.instructions.constraints.verify_hashes, None);
}
