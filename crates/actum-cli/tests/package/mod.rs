//! Builder for plugin packages that tests write step by step.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Package in a directory. By default it declares and does as little as possible.
pub(crate) struct Written {
    _place: Option<TempDir>,
    pub(crate) directory: PathBuf,
}

/// Imports that are available to each step of a package.
const IMPORTS: &str = "import fs from 'node:fs'; import net from 'node:net'; \
                       import child from 'node:child_process';";

impl Written {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().canonicalize().unwrap().join("probe");
        fs::create_dir(&directory).unwrap();
        let written = Self { _place: Some(place), directory };
        written.put("action.json", &manifest().to_string());
        written
            .execute("return {};")
            .verify("return { checks: [{ name: 'fine', ok: true }] };")
            .rollback("return null;")
    }

    /// Opens an existing package.
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self { _place: None, directory }
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::write(self.directory.join(name), text).unwrap();
    }

    fn step(self, name: &str, body: &str) -> Self {
        let text = format!(
            "{IMPORTS}\nexport default async function {name}({{ input, context }}) {{\n{body}\n}}\n"
        );
        self.put(&format!("{name}.js"), &text);
        self
    }

    pub(crate) fn execute(self, body: &str) -> Self {
        self.step("execute", body)
    }

    pub(crate) fn verify(self, body: &str) -> Self {
        self.step("verify", body)
    }

    pub(crate) fn rollback(self, body: &str) -> Self {
        self.step("rollback", body)
    }

    pub(crate) fn with(self, change: impl FnOnce(&mut Value)) -> Self {
        let text = fs::read_to_string(self.directory.join("action.json")).unwrap();
        let mut manifest = serde_json::from_str(&text).unwrap();
        change(&mut manifest);
        self.put("action.json", &manifest.to_string());
        self
    }

    pub(crate) fn input(self, schema: Value) -> Self {
        self.with(|manifest| manifest["inputSchema"] = schema)
    }

    pub(crate) fn output(self, schema: Value) -> Self {
        self.with(|manifest| manifest["outputSchema"] = schema)
    }

    pub(crate) fn filesystem(self, filesystem: &str, tier: &str) -> Self {
        self.with(|manifest| {
            manifest["permissions"]["filesystem"] = filesystem.into();
            manifest["riskTier"] = tier.into();
        })
    }
}

fn manifest() -> Value {
    json!({
        "name": "probe",
        "riskTier": "R2",
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
        "rollback": { "required": true },
    })
}
