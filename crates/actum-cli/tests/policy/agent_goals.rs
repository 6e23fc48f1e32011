//! Goals of agents whose step needs an approval.

use std::fs;

use actum_testkit::TestDir;
use serde_json::Value;

use crate::agent_goal;
use crate::program::{Ended, actum, approval_key, operator_of};

const ASK: &str = "permit (principal, action, resource) when { context.approvals >= 1 };";
const DISPATCH: [&str; 3] = ["agent", "dispatch", "../goal.json"];

/// AEC-6, AEC-8: an approval lets the next dispatch start the step. It starts nothing outside of the chain.
#[test]
fn an_approval_leaves_the_step_of_an_agent_to_its_dispatch() {
    let directory = TestDir::new();
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    let access = operator_of(&root).join("actum/access");
    fs::create_dir_all(&access).unwrap();
    fs::write(access.join("team.cedar"), ASK).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let passphrase = approval_key(&root);
    agent_goal::write(&root);
    let dispatch = || actum(&root, &DISPATCH);
    let code = |ended: &Ended| {
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        outcome["reason_code"].as_str().map(str::to_owned)
    };

    let refused = dispatch();
    assert_eq!(code(&refused).as_deref(), Some("ACCESS_AP_REQUIRED"), "{refused:?}");
    let outcome: Value = serde_json::from_str(&refused.stdout).unwrap();
    let (_, plan) =
        outcome["user_visible_text"].as_str().unwrap().split_once("actum approve ").unwrap();
    let plan = plan.trim_end_matches('`');
    let shown = actum(&root, &["queue", plan]);
    assert!(shown.stdout.contains("the same `actum agent dispatch`"), "{shown:?}");
    let approved = actum(&root, &["approve", plan, "--passphrase-file", &passphrase]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(approved.stderr.contains("the same `actum agent dispatch`"), "{approved:?}");
    assert!(!root.join("notes.txt").exists(), "it waits for its dispatch");

    let asked = dispatch();
    assert_eq!(code(&asked).as_deref(), Some("CONFIRMATION_REQUIRED"), "{asked:?}");
    let confirm = ["agent", "confirm", "goal", "ja", "--thread", "thread", "--language", "de"];
    let key = ["--passphrase-file", &passphrase];
    let confirmed = actum(&root, &[&confirm[..], &key].concat());
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    let done = dispatch();
    assert_eq!((done.code, code(&done)), (0, None), "{done:?}");
    assert_eq!(fs::read(root.join("notes.txt")).unwrap(), b"text\n");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}
