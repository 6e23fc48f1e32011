//! The examples from the specification, and documents that omit optional fields.

use actum_action::{
    Check, Filesystem, Manifest, Permissions, Phrases, PlanEnvelope, PlanScope, ResultEnvelope,
    RollbackPlan, RollbackRule, VerificationPlan, VerificationResult,
};
use actum_core::{ActionName, RiskTier, Status};
use actum_record::ledger::{Attempt, Confidence};
use serde_json::{Map, Value, json};

/// Plan envelope from the specification.
pub(crate) const PLAN: &str = r#"{
  "actionId": "action:example",
  "actionType": "diagnose_error",
  "riskTier": "R1",
  "confidence": 0.9,
  "reason": "why this action is proposed",
  "input": {},
  "rollbackPlan": null,
  "verification": {
    "required": true,
    "commands": []
  },
  "scope": {
    "allowedFiles": [],
    "allowedDirs": [],
    "forbiddenFiles": []
  }
}"#;

/// Result envelope from the specification.
pub(crate) const RESULT: &str = r#"{
  "status": "succeeded",
  "actionType": "diagnose_error",
  "riskTier": "R1",
  "output": {},
  "verification": {
    "ok": true,
    "checks": []
  },
  "repair": {
    "attempted": false,
    "ok": false
  },
  "rollback": {
    "attempted": false,
    "ok": false
  },
  "feedback": {}
}"#;

/// `action.json` from the specification.
pub(crate) const MANIFEST: &str = r#"{
  "name": "example_action",
  "riskTier": "R2",
  "inputSchema": {},
  "outputSchema": {},
  "permissions": {
    "commands": ["node --check src/file.js"],
    "filesystem": "workspace"
  },
  "verification": {
    "required": true,
    "commands": ["node --check src/file.js"]
  },
  "rollback": {
    "required": true
  }
}"#;

pub(crate) fn name(text: &str) -> ActionName {
    text.parse().unwrap()
}

/// Removes insignificant whitespace from an example.
fn dense(text: &str) -> String {
    text.lines().map(|line| line.trim().replace("\": ", "\":")).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// AA-1, AA-12
#[test]
fn seed_plan_envelope_round_trips_field_by_field() {
    let plan = PlanEnvelope::read(PLAN.as_bytes()).unwrap();
    let expected = PlanEnvelope {
        action_id: Some("action:example".to_owned()),
        action_type: name("diagnose_error"),
        declared_tier: Some(RiskTier::R1),
        confidence: Confidence::new(0.9),
        reason: Some("why this action is proposed".to_owned()),
        input: Map::new(),
        rollback_plan: None,
        verification: VerificationPlan { required: true, commands: Vec::new() },
        scope: PlanScope::default(),
    };
    assert_eq!(plan, expected);
    assert_eq!(plan.tier(), RiskTier::R1);
    assert_eq!(String::from_utf8(plan.write().unwrap()).unwrap(), dense(PLAN));
}

/// AA-1, AA-4
#[test]
fn plan_without_optional_fields_gets_the_highest_tier_and_no_scope() {
    let text = r#"{"actionType":"run_command","input":{"a":[1.5,null]},"verification":{"required":false}}"#;
    let plan = PlanEnvelope::read(text.as_bytes()).unwrap();
    let expected = PlanEnvelope {
        action_id: None,
        action_type: name("run_command"),
        declared_tier: None,
        confidence: None,
        reason: None,
        input: object(json!({ "a": [1.5, null] })),
        rollback_plan: None,
        verification: VerificationPlan { required: false, commands: Vec::new() },
        scope: PlanScope::default(),
    };
    assert_eq!(plan, expected);
    assert_eq!(plan.tier(), RiskTier::R4);
    assert!(plan.scope.permits_nothing());
    // The written plan still shows that no tier was declared.
    assert_eq!(
        String::from_utf8(plan.write().unwrap()).unwrap(),
        "{\"actionType\":\"run_command\",\"input\":{\"a\":[1.5,null]},\"rollbackPlan\":null,\
         \"verification\":{\"required\":false,\"commands\":[]},\"scope\":{\"allowedFiles\":[],\
         \"allowedDirs\":[],\"forbiddenFiles\":[]}}"
    );
}

/// AA-1, AA-4
#[test]
fn rollback_plan_is_text_or_object_and_scope_lists_stay_separate() {
    let with = |field: &str, value: Value| {
        let mut plan: Value = serde_json::from_str(PLAN).unwrap();
        plan[field] = value;
        PlanEnvelope::read(plan.to_string().as_bytes()).unwrap()
    };
    let read = |value| with("rollbackPlan", value).rollback_plan;
    assert_eq!(read(json!("undo")), Some(RollbackPlan::Text("undo".to_owned())));
    let steps = json!({ "steps": ["undo"] });
    assert_eq!(read(steps.clone()), Some(RollbackPlan::Object(object(steps))));
    assert_eq!(read(json!(null)), None);

    let scope = with(
        "scope",
        json!({ "allowedFiles": ["a", "b"], "allowedDirs": ["src/"], "forbiddenFiles": ["src/x"] }),
    )
    .scope;
    let expected = PlanScope {
        allowed_files: texts(&["a", "b"]),
        allowed_dirs: texts(&["src/"]),
        forbidden_files: texts(&["src/x"]),
    };
    assert_eq!(scope, expected);
    assert!(!scope.permits_nothing());
    assert!(with("scope", json!({ "forbiddenFiles": ["a"] })).scope.permits_nothing());
}

/// AA-2, AA-12
#[test]
fn seed_result_envelope_round_trips_field_by_field() {
    let result = ResultEnvelope::read(RESULT.as_bytes()).unwrap();
    let mut expected = ResultEnvelope::new(Status::Succeeded, name("diagnose_error"), RiskTier::R1);
    expected.verification.ok = true;
    assert_eq!(result, expected);
    assert_eq!(String::from_utf8(result.write().unwrap()).unwrap(), dense(RESULT));
}

/// AA-2, AA-6, AA-7
#[test]
fn result_reports_each_check_and_the_repair_and_rollback_attempts() {
    let passed = Check {
        exit_code: Some(0),
        duration_ms: Some(1200),
        stdout: Some("ok\n".to_owned()),
        stderr: Some(String::new()),
        message: Some("as it should".to_owned()),
        ..Check::new("node --check a.js", true)
    };
    let result = ResultEnvelope {
        output: json!([1, "two"]),
        verification: VerificationResult {
            ok: false,
            checks: vec![passed, Check::new("scope", false)],
        },
        repair: Attempt { attempted: true, ok: false },
        rollback: Attempt { attempted: true, ok: true },
        feedback: object(json!({ "lesson": "b" })),
        ..ResultEnvelope::new(Status::Reverted, name("mend"), RiskTier::R2)
    };
    let written = result.write().unwrap();
    assert_eq!(
        String::from_utf8(written.clone()).unwrap(),
        "{\"status\":\"reverted\",\"actionType\":\"mend\",\"riskTier\":\"R2\",\
         \"output\":[1,\"two\"],\"verification\":{\"ok\":false,\"checks\":[{\"name\":\
         \"node --check a.js\",\"ok\":true,\"exitCode\":0,\"durationMs\":1200,\"stdout\":\"ok\\n\",\
         \"stderr\":\"\",\"message\":\"as it should\"},{\"name\":\"scope\",\"ok\":false}]},\
         \"repair\":{\"attempted\":true,\"ok\":false},\"rollback\":{\"attempted\":true,\
         \"ok\":true},\"feedback\":{\"lesson\":\"b\"}}"
    );
    assert_eq!(ResultEnvelope::read(&written).unwrap(), result);
}

/// AA-2, D-1
#[test]
fn a_result_has_one_of_the_five_statuses() {
    for status in Status::ALL {
        let text = RESULT.replace("succeeded", status.as_str());
        assert_eq!(ResultEnvelope::read(text.as_bytes()).unwrap().status, status);
    }
    for wrong in ["success", "SUCCEEDED", "cancelled", ""] {
        let text = RESULT.replace("succeeded", wrong);
        assert!(ResultEnvelope::read(text.as_bytes()).is_err(), "{wrong}");
    }
}

/// AA-2, D-4
#[test]
fn unknown_result_fields_are_ignored_at_any_depth() {
    let mut text: Value = serde_json::from_str(RESULT).unwrap();
    text["verification"]["checks"] = json!([{ "name": "a", "ok": true }]);
    let plain = ResultEnvelope::read(text.to_string().as_bytes()).unwrap();
    text["later"] = json!([{ "any": 1 }]);
    text["verification"]["later"] = json!(null);
    text["verification"]["checks"][0]["later"] = json!("x");
    text["repair"]["later"] = json!(1);
    assert_eq!(ResultEnvelope::read(text.to_string().as_bytes()).unwrap(), plain);
}

/// AA-8, AA-12
#[test]
fn seed_manifest_round_trips_field_by_field() {
    let manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
    let commands = texts(&["node --check src/file.js"]);
    let expected = Manifest {
        name: name("example_action"),
        risk_tier: RiskTier::R2,
        input_schema: Map::new(),
        output_schema: Map::new(),
        permissions: Permissions { commands: commands.clone(), filesystem: Filesystem::Workspace },
        verification: VerificationPlan { required: true, commands },
        rollback: RollbackRule { required: true },
        version: None,
        description: None,
        phrases: Phrases::new(),
        repair: None,
    };
    assert_eq!(manifest, expected);
    assert_eq!(String::from_utf8(manifest.write().unwrap()).unwrap(), dense(MANIFEST));
}

/// AA-8, AA-11
#[test]
fn only_packages_with_workspace_access_are_write_like() {
    for (word, filesystem, is_write_like) in [
        ("none", Filesystem::None, false),
        ("read", Filesystem::Read, false),
        ("workspace", Filesystem::Workspace, true),
    ] {
        let text = MANIFEST.replace("\"workspace\"", &format!("\"{word}\""));
        let manifest = Manifest::read(text.as_bytes()).unwrap();
        assert_eq!(manifest.permissions.filesystem, filesystem);
        assert_eq!(filesystem.as_str(), word);
        assert_eq!(manifest.is_write_like(), is_write_like);
    }
}

/// AA-8, AEC-2
#[test]
fn manifest_phrases_round_trip_by_language() {
    let mut text: Value = serde_json::from_str(MANIFEST).unwrap();
    let phrases = json!({ "de": ["räume ein"], "en": ["tidy up", "clean house"] });
    text["phrases"] = phrases.clone();
    let manifest = Manifest::read(text.to_string().as_bytes()).unwrap();
    assert_eq!(json!(manifest.phrases), phrases);
    assert_eq!(Manifest::read(&manifest.write().unwrap()).unwrap(), manifest);
    text["phrases"] = json!({});
    let without = Manifest::read(text.to_string().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(without.write().unwrap()).unwrap(), dense(MANIFEST));
}

/// AA-6, AA-8
#[test]
fn manifest_repair_must_be_one_of_its_commands() {
    let mut text: Value = serde_json::from_str(MANIFEST).unwrap();
    text["repair"] = json!("node --check src/file.js");
    let manifest = Manifest::read(text.to_string().as_bytes()).unwrap();
    assert_eq!(manifest.repair.as_deref(), Some("node --check src/file.js"));
    assert_eq!(Manifest::read(&manifest.write().unwrap()).unwrap(), manifest);
    for (repair, message) in [
        (json!("node fix.js"), "`repair`: the command `node fix.js`"),
        (json!(""), "`repair`: expected a string of 1 to 4096 characters"),
        (json!(["node fix.js"]), "`repair`: expected a string"),
        (Value::Null, "`repair`: expected a string"),
    ] {
        text["repair"] = repair;
        let refused = Manifest::read(text.to_string().as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(message), "{message}: {refused}");
    }
}

/// AA-8
#[test]
fn manifest_version_is_semantic_and_round_trips_with_the_description() {
    let with = |version: &str| {
        let mut text: Value = serde_json::from_str(MANIFEST).unwrap();
        text["version"] = json!(version);
        text["description"] = json!("Checks a file.");
        Manifest::read(text.to_string().as_bytes())
    };
    for sound in ["0.0.0", "1.20.300", "1.0.0-rc.1", "10.0.0-a-b"] {
        let manifest = with(sound).unwrap();
        assert_eq!(manifest.version.as_deref(), Some(sound));
        assert_eq!(manifest.description.as_deref(), Some("Checks a file."));
        assert_eq!(Manifest::read(&manifest.write().unwrap()).unwrap(), manifest);
    }
    for wrong in ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "v1.0.0", "1.0.0-a_b", "1..0"] {
        assert!(with(wrong).is_err(), "{wrong}");
    }
}
