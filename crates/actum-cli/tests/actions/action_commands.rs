//! Commands that plan envelopes contain: the action itself, its checks and its repair.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::envelopes::{
    RULES, act_under, allowing, checked_by, ended, passphrase, plan, result_of, status, with,
};
use crate::program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// AA-4, AA-6
#[test]
fn command_that_changes_paths_outside_the_scope_is_rejected() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let copy = plan("run_command", json!({ "command": "cp a.txt sub/copy" }));
    let copy = checked_by(copy, &["grep -q 1 sub/copy"]);
    let narrow = json!({ "allowedDirs": ["other"], "allowedFiles": [], "forbiddenFiles": [] });
    let result = act_under(&root, &configuration, &with(copy.clone(), "scope", narrow));
    assert_eq!(status(&result), ("rejected", Some("OUTSIDE_SCOPE")));
    assert!(result["feedback"]["message"].as_str().unwrap().contains("`sub/copy`"), "{result}");
    assert!(!root.join("sub/copy").exists());
    let result = act_under(&root, &configuration, &copy);
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert_eq!(result["output"]["exitCode"], 0);
    assert_eq!(result["output"]["changes"][0]["path"], "sub/copy");
    assert_eq!(text(&root, "sub/copy"), "1\n");
}

/// AA-6, AA-7
#[test]
fn failed_check_drops_the_change_and_a_repair_runs_once() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let write = |input: Value| checked_by(plan("file_modify", input), &["grep -q 2 a.txt"]);
    let result =
        act_under(&root, &configuration, &write(json!({ "path": "a.txt", "content": "3\n" })));
    assert_eq!(status(&result), ("reverted", Some("VERIFICATION_FAILED")));
    assert_eq!(result["rollback"], json!({ "attempted": true, "ok": true }));
    let checks = result["verification"]["checks"].as_array().unwrap();
    let last = checks.last().unwrap();
    assert_eq!(
        (&last["name"], &last["ok"], &last["exitCode"]),
        (&json!("grep -q 2 a.txt"), &json!(false), &json!(1))
    );
    assert!(last["durationMs"].is_u64());
    // The ledger records the output of a check together with the check, and no message repeats it.
    let checked_plan = checked_by(
        plan("file_modify", json!({ "path": "a.txt", "content": "secret\n" })),
        &["grep -v 1 a.txt b"],
    );
    let result = act_under(&root, &configuration, &checked_plan);
    assert!(result["verification"]["checks"].to_string().contains("secret"), "{result}");
    assert!(!result["feedback"].to_string().contains("secret"), "{result}");
    assert_eq!(text(&root, "a.txt"), "1\n");

    let repaired = json!({ "path": "a.txt", "content": "3\n", "repair": "cp sub/b.txt a.txt" });
    let result = act_under(&root, &configuration, &write(repaired));
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert_eq!(result["repair"], json!({ "attempted": true, "ok": true }));
    assert_eq!(text(&root, "a.txt"), "2\n");

    let hopeless = json!({ "path": "a.txt", "content": "3\n", "repair": "cp a.txt more" });
    let result = act_under(&root, &configuration, &write(hopeless));
    assert_eq!(status(&result), ("reverted", Some("VERIFICATION_FAILED")));
    assert_eq!(result["repair"], json!({ "attempted": true, "ok": false }));
    assert_eq!(text(&root, "a.txt"), "2\n");
    assert!(!root.join("more").exists());
}

/// AA-5, AA-7
#[test]
fn commands_without_an_allow_rule_or_needing_a_shell_are_not_run() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let run = |line: &str| checked_by(plan("run_command", json!({ "command": line })), &["true"]);
    for (plan, reason) in [
        (run("touch x"), "CHANGE_DENIED"),
        (run("tee x | cat"), "COMMAND_UNUSABLE"),
        (run("tee $HOME"), "COMMAND_UNUSABLE"),
        (run("A=b tee x"), "COMMAND_UNUSABLE"),
        (checked_by(run("true"), &["touch x"]), "CHANGE_DENIED"),
        (checked_by(run("true"), &["grep -q x a.txt > y"]), "COMMAND_UNUSABLE"),
        (
            checked_by(
                plan("file_create", json!({ "path": "x", "content": "", "repair": "touch y" })),
                &["true"],
            ),
            "CHANGE_DENIED",
        ),
    ] {
        let result = act_under(&root, &configuration, &plan);
        assert_eq!(status(&result), ("rejected", Some(reason)), "{plan} {result}");
    }
    assert!(!root.join("x").exists());
    let result = act_under(&root, &configuration, &run("false"));
    assert_eq!(status(&result), ("reverted", Some("COMMAND_FAILED")));
    assert_eq!(result["output"]["exitCode"], 1);
    let accepted = plan("run_command", json!({ "argv": ["false"], "acceptExitCodes": [1] }));
    let result = act_under(&root, &configuration, &checked_by(accepted, &["true"]));
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    let missing = act_under(&root, &configuration, &run("grep -q 1 nothing"));
    assert_eq!(status(&missing), ("reverted", Some("COMMAND_FAILED")));
    assert!(missing["output"]["stderr"].as_str().unwrap().contains("nothing"), "{missing}");
}

/// AA-5: the command runs only after the approval, and only once.
#[test]
fn r3_command_runs_only_once_and_only_after_approval() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let passphrase = passphrase(directory.path());
    let file = passphrase.to_str().unwrap();
    let made = actum(&root, &["key", "make", "approval", "--passphrase-file", file]);
    assert_eq!(made.code, 0, "{made:?}");
    let copy = plan("run_command", json!({ "command": "cp a.txt copy" }));
    let copy = with(checked_by(copy, &["grep -q 1 copy"]), "riskTier", json!("R3"));
    let result = act_under(&root, &configuration, &copy);
    assert_eq!(status(&result), ("queued", Some("NEEDS_APPROVAL")), "{result}");
    assert!(result["output"].get("exitCode").is_none(), "it did not run: {result}");
    let id = result["feedback"]["plan"].as_str().unwrap().to_owned();
    let approve = || -> Ended {
        let arguments = ["approve", &id, "--passphrase-file", file];
        command(&root, &arguments).env("XDG_CONFIG_HOME", &configuration).output().unwrap().into()
    };
    let approved = approve();
    let result = result_of(&approved);
    assert_eq!(status(&result), ("succeeded", None), "{approved:?}");
    assert_eq!(result["feedback"]["approvedAs"], json!(id));
    assert_eq!(text(&root, "copy"), "1\n");
    fs::remove_file(root.join("copy")).unwrap();
    let twice = approve();
    assert_eq!(twice.code, 1, "{twice:?}");
    assert!(!root.join("copy").exists());
    let again = act_under(&root, &configuration, &copy);
    assert_eq!(
        status(&again),
        ("queued", Some("NEEDS_APPROVAL")),
        "an approval can be used only once: {again}"
    );
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-6
#[test]
fn diagnosis_reports_command_findings_and_changes_nothing() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let input = json!({ "commands": ["grep -c 1 a.txt", "grep -q 9 a.txt", "tee a.txt"], "error": "it does not build" });
    let mut diagnose = plan("diagnose_error", input);
    diagnose["riskTier"] = json!("R0");
    diagnose["rollbackPlan"] = Value::Null;
    diagnose["scope"] = json!({});
    let result = act_under(&root, &configuration, &diagnose);
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    let findings = result["output"]["findings"].as_array().unwrap();
    assert_eq!(
        findings.iter().map(|it| it["ok"].as_bool().unwrap()).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!((&findings[0]["stdout"], &result["output"]["problems"]), (&json!("1\n"), &json!(1)));
    assert_eq!(text(&root, "a.txt"), "1\n");
    assert!(result["feedback"].get("run").is_none());
}

/// AA-5, AA-7: even an action that changes nothing is judged before its checks run.
#[test]
fn no_op_change_is_rejected_for_a_command_without_an_allow_rule() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let same = |repair: Value, checks: &[&str]| {
        let input = json!({ "path": "a.txt", "content": "1\n", "repair": repair });
        checked_by(plan("file_modify", input), checks)
    };
    let result = act_under(&root, &configuration, &same(json!("cp a.txt x"), &["sh -c true"]));
    assert_eq!(status(&result), ("rejected", Some("CHANGE_DENIED")), "{result}");
    assert_eq!(result["verification"]["checks"], json!([]));
    let result = act_under(&root, &configuration, &same(json!("touch x"), &["false"]));
    assert_eq!(status(&result), ("rejected", Some("CHANGE_DENIED")), "{result}");
    let result = act_under(&root, &configuration, &same(json!("cp a.txt x"), &["true"]));
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert!(result["feedback"].get("run").is_none() && !root.join("x").exists());
}

/// AA-5: a command that needs approval is not run beforehand, not even as a check.
#[test]
fn check_that_needs_approval_does_not_run_before_it() {
    let (directory, root) = workspace();
    let asks = RULES.replace(
        "argv = [\"false\"]\ndecision = \"allow\"",
        "argv = [\"false\"]\ndecision = \"ask\"",
    );
    let configuration = allowing(directory.path(), &asks);
    let create =
        plan("file_create", json!({ "path": "x", "content": "x", "repair": "cp a.txt y" }));
    let result = act_under(&root, &configuration, &checked_by(create, &["false"]));
    assert_eq!(status(&result), ("queued", Some("NEEDS_APPROVAL")), "{result}");
    assert_eq!(
        (&result["verification"]["checks"], &result["repair"]["attempted"]),
        (&json!([]), &json!(false))
    );
}

/// AA-7: a workspace file cannot replace the program that an allow rule names.
#[test]
fn programs_are_not_resolved_by_name_in_the_workspace() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    fs::create_dir(root.join("bin")).unwrap();
    fs::write(root.join("bin/false"), "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(root.join("bin/false"), fs::Permissions::from_mode(0o755)).unwrap();
    let create =
        checked_by(plan("file_create", json!({ "path": "x", "content": "x" })), &["false"]);
    let mut command = command(&root, &["action", "run", "-"]);
    command.env("XDG_CONFIG_HOME", &configuration);
    command.env("PATH", format!("{}:/usr/bin:/bin", root.join("bin").display()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(create.to_string().as_bytes()).unwrap();
    let result = result_of(&child.wait_with_output().unwrap().into());
    assert_eq!(status(&result), ("reverted", Some("VERIFICATION_FAILED")), "{result}");
}

/// AA-4: creating or removing a directory requires a scope that allows the directory or a file in it.
#[test]
fn creating_a_directory_needs_a_scope_that_allows_the_directory() {
    let (directory, root) = workspace();
    let rules = format!(
        "{RULES}[[command]]\nargv = [\"mkdir\"]\ndecision = \"allow\"\nmatch = [\"mkdir a\"]\n"
    );
    let configuration = allowing(directory.path(), &rules);
    let make = checked_by(plan("run_command", json!({ "command": "mkdir -p d/e" })), &["true"]);
    let scope = |files: Value, dirs: Value| {
        with(make.clone(), "scope", json!({ "allowedFiles": files, "allowedDirs": dirs }))
    };
    let outside = ("rejected", Some("OUTSIDE_SCOPE"));
    for narrow in [scope(json!(["d"]), json!([])), scope(json!([]), json!(["d/e"]))] {
        let result = act_under(&root, &configuration, &narrow);
        assert_eq!(status(&result), outside, "{result}");
    }
    let result = act_under(&root, &configuration, &scope(json!([]), json!(["d"])));
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert!(root.join("d/e").is_dir());
}

/// AEC-7, AA-6
#[test]
fn request_key_runs_commands_and_repairs_only_once() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let copy = checked_by(plan("run_command", json!({ "command": "cp a.txt copy" })), &["true"]);
    let input = json!({ "path": "a.txt", "content": "3\n", "repair": "cp sub/b.txt a.txt" });
    let repaired = checked_by(plan("file_modify", input), &["grep -q 2 a.txt"]);
    for (key, plan) in [("copy", copy), ("repaired", repaired)] {
        let twice = [0, 1].map(|_| {
            let ended =
                ended(&root, Some(&configuration), &plan.to_string(), &["--request-key", key]);
            result_of(&ended)
        });
        assert_eq!(twice.each_ref().map(status), [("succeeded", None); 2], "{twice:?}");
        assert_eq!(twice[0]["feedback"]["run"], twice[1]["feedback"]["run"]);
        assert_eq!(twice[1]["feedback"]["doneBefore"], true);
    }
    let other = plan("run_command", json!({ "command": "cp a.txt other" })).to_string();
    let other = other.replace("\"commands\":[]", "\"commands\":[\"true\"]");
    let taken = result_of(&ended(&root, Some(&configuration), &other, &["--request-key", "copy"]));
    assert_eq!(status(&taken), ("rejected", Some("REQUEST_KEY_TAKEN")));
    assert!(!root.join("other").exists());
}

/// AA-5, AA-13: the approver sees the commands before they run, and the agent receives the approver's decision.
#[test]
fn approver_sees_the_commands_and_the_agent_receives_the_denial() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let passphrase = passphrase(directory.path());
    let file = passphrase.to_str().unwrap();
    assert_eq!(actum(&root, &["key", "make", "approval", "--passphrase-file", file]).code, 0);
    let mut copy = checked_by(
        plan("run_command", json!({ "command": "cp a.txt 'a copy'" })),
        &["grep -q 1 a.txt"],
    );
    copy.as_object_mut().unwrap().remove("riskTier");
    let queued = act_under(&root, &configuration, &copy);
    let message = queued["feedback"]["message"].as_str().unwrap();
    assert!(message.starts_with("the plan declares no `riskTier`"), "{message}");
    assert!(queued["feedback"]["hints"][0].as_str().unwrap().contains("actum approve"), "{queued}");
    let id = queued["feedback"]["plan"].as_str().unwrap();
    let shown: Ended = command(&root, &["queue", id])
        .env("XDG_CONFIG_HOME", &configuration)
        .output()
        .unwrap()
        .into();
    for line in [
        "action   run_command (action:test), declares no `riskTier`, which is treated as R4",
        "input    {\"command\":\"cp a.txt 'a copy'\"}",
        "scope    below `.`",
        "runs     cp a.txt 'a copy'",
        "check    grep -q 1 a.txt",
    ] {
        assert!(shown.stdout.contains(line), "{line}\n{}", shown.stdout);
    }
    let denied = actum(&root, &["deny", id, "--reason", "no copies", "--passphrase-file", file]);
    assert_eq!(denied.code, 0, "{denied:?}");
    let again = act_under(&root, &configuration, &copy);
    assert_eq!(
        again["feedback"]["denied"],
        json!({ "plan": id, "reason": "no copies" }),
        "{again}"
    );
}
