//! Actions as whole processes: compares a change of a file with `actum apply`, and a package with a direct start of
//! Node.js in the sandbox.

use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::exec::{Shop, finished};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race};

const APPLY: &str = "`apply`";
const ACTION: &str = "`action run` of `apply_changeset`";
const NODE: &str = "`sandbox run -- node -e 0`";
const PACKAGE: &str = "`action run` of a package";
/// Name of a package that is bundled with actum.
const NAME: &str = "bump_version";
const CHANGE: &str = "--- a/file.txt\n+++ b/file.txt\n@@ -1 +1 @@\n-one\n+two\n";

pub(super) fn contests(
    root: &Path,
    shop: &Shop<'_>,
    rounds: usize,
) -> Result<Vec<Contest>, Failure> {
    let directory = &shop.home;
    let put = |path: &str, text: &str| -> Result<String, Failure> {
        let path = directory.join(path);
        create_dir_all(path.parent().unwrap_or(directory))?;
        write(&path, text)?;
        Ok(path.to_str().ok_or("the directory for measuring is no UTF-8")?.to_owned())
    };
    let policy = "version = 1\n[plugins]\nallowPluginCodeExecution = true\n";
    shop.let_operator_say(policy)?;
    put("workspace/file.txt", "one\n")?;
    put("workspace/package.json", "{\n  \"version\": \"1.0.0\"\n}\n")?;
    let change = put("change.diff", CHANGE)?;
    let plan_of_change = plan("apply_changeset", &json!({ "document": CHANGE }));
    let plan_of_change = put("change.json", &plan_of_change.to_string())?;
    let plan_of_package = plan(NAME, &json!({ "part": "minor" }));
    let plan_of_package = put("package.json", &plan_of_package.to_string())?;
    let passphrase = put("passphrase", "a passphrase for measuring\n")?;
    set_permissions(&passphrase, Permissions::from_mode(0o600))?;
    create_dir_all(shop.workspace.join("actions"))?;
    let from = root.join("actions").join(NAME);
    finished(Command::new("cp").arg("-r").arg(from).arg(shop.workspace.join("actions")))?;
    shop.run(&["init"])?;
    shop.run(&["key", "make", "approval", "--passphrase-file", &passphrase])?;
    let package = format!("actions/{NAME}");
    let activate = ["catalog", "activate", NAME, "--package", &package];
    shop.run(&[&activate[..], &["--passphrase-file", &passphrase]].concat())?;
    let and_back = |words: &[&str]| -> Result<Duration, Failure> {
        let taken = shop.timed(words)?;
        shop.run(&["undo"])?;
        Ok(taken)
    };
    let changed = race(
        vec![
            Contestant::new(APPLY, || and_back(&["apply", &change])),
            Contestant::new(ACTION, || and_back(&["action", "run", &plan_of_change])),
        ],
        rounds,
    );
    let by_package = race(
        vec![
            Contestant::new(NODE, || {
                shop.timed(&["sandbox", "run", "-q", "--", "node", "-e", "0"])
            }),
            Contestant::new(PACKAGE, || and_back(&["action", "run", &plan_of_package])),
        ],
        rounds,
    );
    Ok(vec![
        Contest {
            title: "A change of one file as an action, whole processes".to_owned(),
            finishes: changed,
            bars: vec![Bar { who: ACTION, limit: Limit::Times(2.0) }],
        },
        Contest {
            title: "An action of a package: `execute`, then `verify` beside `rollback`".to_owned(),
            finishes: by_package,
            bars: vec![Bar { who: PACKAGE, limit: Limit::Times(1.5) }],
        },
    ])
}

fn plan(action: &str, input: &Value) -> Value {
    json!({
        "actionType": action,
        "riskTier": "R2",
        "input": input,
        "rollbackPlan": "undo the run",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedDirs": ["."] }
    })
}
