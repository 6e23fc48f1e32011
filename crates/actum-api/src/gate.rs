//! Decisions of gates, and their grounds.

use std::borrow::Cow;
use std::fmt;

use actum_core::path::Harmless;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word::words;

words! {
    /// Verdict of a gate.
    Verdict {
        /// The gate has no objection.
        Allow = "allow",
        /// An approver decides.
        NeedsApproval = "needs_approval",
        /// The change is rejected.
        Deny = "deny",
    }
}

/// Decision of one gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Name of the gate: `protected`, `scope` or `budget`, for example.
    pub gate: String,
    /// Verdict of the gate.
    pub verdict: Verdict,
    /// Reason as fields for programs.
    pub ground: Ground,
    /// Reason as a sentence for the user. The wording can change.
    pub message: String,
}

/// Writes the decision for the user: on one line, with control characters escaped.
impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gate, verdict, message] =
            [&self.gate, self.verdict.as_str(), &self.message].map(|it| Harmless(it.as_bytes()));
        write!(f, "{gate}: {}, {message}", verdict.to_string().replace('_', " "))
    }
}

/// Ground of a verdict: an object whose `kind` names it. Decisions that were made before version 7 of the rules have a
/// sentence instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ground(pub Value);

impl Ground {
    /// Returns the kind; `None` for a sentence.
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
            "description": "Why, as fields. `docs/json.md` lists the kinds and their fields.",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "kind": { "description": "Name of the ground. More can come.", "type": "string" }
                    }
                },
                {
                    "description": "Sentence of a decision that was made before version 7 of the rules.",
                    "type": "string"
                }
            ]
        })
    }
}
