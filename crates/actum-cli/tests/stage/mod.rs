//! Workspace with plugin packages, and the plans that use them.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use actum_action::ResultEnvelope;
use serde_json::{Value, json};

use crate::program::{Ended, command, workspace};

/// Workspace with the packages of actum, an operator policy that lets code run, and an approval key.
pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Stage {
    pub(crate) fn new(policy: &str) -> Self {
        let (directory, root) = workspace();
        let stage = Self { directory, root };
        let configuration = stage.configuration().join("actum");
        fs::create_dir_all(&configuration).unwrap();
        fs::write(configuration.join("actum.toml"), format!("version = 1\n{policy}")).unwrap();
        fs::write(stage.passphrase(), "correct horse battery\n").unwrap();
        fs::set_permissions(stage.passphrase(), fs::Permissions::from_mode(0o600)).unwrap();
        let passphrase = stage.passphrase();
        let made = stage.actum(&[
            "key",
            "make",
            "approval",
            "--passphrase-file",
            passphrase.to_str().unwrap(),
        ]);
        assert_eq!(made.code, 0, "{made:?}");
        stage
    }

    pub(crate) fn configuration(&self) -> PathBuf {
        self.directory.path().join("config")
    }

    pub(crate) fn passphrase(&self) -> PathBuf {
        self.directory.path().join("passphrase")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.root, arguments);
        command.env("XDG_CONFIG_HOME", self.configuration());
        command
    }

    pub(crate) fn actum(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    pub(crate) fn package(&self, name: &str, manifest: &Value, steps: [&str; 3]) {
        let directory = self.root.join("actions").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("action.json"), manifest.to_string()).unwrap();
        for (file, code) in ["execute.js", "verify.js", "rollback.js"].into_iter().zip(steps) {
            fs::write(directory.join(file), code).unwrap();
        }
    }

    pub(crate) fn shipped(&self, name: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../actions").join(name);
        fs::create_dir_all(self.root.join("actions")).unwrap();
        let copied = Command::new("cp").arg("-r").arg(from).arg(self.root.join("actions")).status();
        assert!(copied.unwrap().success());
    }

    pub(crate) fn activate(&self, name: &str) -> Ended {
        let (directory, passphrase) = (format!("actions/{name}"), self.passphrase());
        let passphrase = passphrase.to_str().unwrap();
        self.actum(&[
            "catalog",
            "activate",
            name,
            "--package",
            &directory,
            "--passphrase-file",
            passphrase,
        ])
    }

    pub(crate) fn act(&self, plan: &Value) -> Value {
        acted(self.command(&["action", "run", "-"]), plan)
    }

    /// Runs a plan while actum's own environment contains a secret.
    pub(crate) fn act_beside_a_secret(&self, plan: &Value, secret: &str) -> Value {
        let mut command = self.command(&["action", "run", "-"]);
        command.env("SECRET", secret);
        acted(command, plan)
    }
}

fn acted(mut command: Command, plan: &Value) -> Value {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(plan.to_string().as_bytes()).unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    ResultEnvelope::read(ended.stdout.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    serde_json::from_str(&ended.stdout).unwrap()
}

pub(crate) const ALLOWED: &str = "[plugins]\nallowPluginCodeExecution = true\n";

pub(crate) fn plan(action: &str, input: Value) -> Value {
    json!({
        "actionType": action,
        "riskTier": "R2",
        "input": input,
        "rollbackPlan": { "kind": "plugin" },
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedDirs": ["."] }
    })
}

pub(crate) fn manifest(name: &str, tier: &str) -> Value {
    json!({
        "name": name,
        "riskTier": tier,
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
        "rollback": { "required": true }
    })
}

pub(crate) fn status(result: &Value) -> (&str, Option<&str>) {
    (result["status"].as_str().unwrap(), result["feedback"]["reason"].as_str())
}
