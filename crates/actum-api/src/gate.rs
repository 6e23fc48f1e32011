//! Decisions of gates and the grounds for them.

use std::borrow::Cow;
use std::fmt;

use actum_core::path::Harmless;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word::words;

words! {
    /// Verdict of a gate on a change.
    Verdict {
        /// The gate allows the change.
        Allow = "allow",
        /// An approver has to decide on the change.
        NeedsApproval = "needs_approval",
        /// The gate rejects the change.
        Deny = "deny",
    }
}

/// Decision of a single gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Name of the gate, such as `protected`, `scope` or `budget`.
    pub gate: String,
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// Reason for the verdict as structured data for programs.
    pub ground: Ground,
    /// Reason for the verdict as a sentence for the user. Its wording may change in any version.
    pub message: String,
}

/// Formats the decision for the user on a single line, with control characters escaped.
impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gate, verdict, message] =
            [&self.gate, self.verdict.as_str(), &self.message].map(|it| Harmless(it.as_bytes()));
        write!(f, "{gate}: {}, {message}", verdict.to_string().replace('_', " "))
    }
}

/// Ground for a verdict, an object with a `kind` field. Decisions that were made before version 7 of the rules have a sentence
/// instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ground(pub Value);

impl Ground {
    /// Returns the kind of the ground, or `None` if the ground is a sentence.
    pub fn kind(&self) -> Option<&str> {
        self.0.get("kind")?.as_str()
    }
}

impl JsonSchema for Ground {
    fn schema_name() -> Cow<'static, str> {
        "Ground".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Ground for a verdict as structured data. `docs/json.md` lists the kinds and their fields.",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "kind": { "description": "Kind of the ground. Future versions may add more.", "type": "string" }
                    }
                },
                {
                    "description": "Ground as a sentence, for decisions that were made before version 7 of the rules.",
                    "type": "string"
                }
            ]
        })
    }
}
