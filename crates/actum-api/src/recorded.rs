//! Schemas of parts that stand in a document as a ledger or a receipt has them.
//!
//! These types are never made. A field that holds the type of `actum-record` names one in `#[schemars(with = "...")]`.
#![expect(dead_code, reason = "only the schemas of these types are used")]

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::change::ChangeKind;
use crate::record::{Actor, EntryRef, Isolation};
use crate::value;

/// Path below the root of the workspace: its text, or an object with `hex` where its bytes are not UTF-8.
pub(crate) enum PathName {}

impl JsonSchema for PathName {
    fn schema_name() -> Cow<'static, str> {
        "PathName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about =
            "Path below the root: its text, or an object with `hex` where its bytes are not UTF-8.";
        json_schema!({
            "description": about,
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "hex": {
                            "description": "Bytes of the path in hexadecimal.",
                            "type": "string",
                            "pattern": "^([0-9a-f]{2})+$"
                        }
                    },
                    "required": ["hex"]
                }
            ]
        })
    }
}

/// Effect of a run on one path.
#[derive(JsonSchema)]
pub(crate) struct PathEffect {
    /// Number of lines added; 0 for what has none.
    added: u64,
    /// The file after the run; `null` where there is none.
    after: Option<FileState>,
    /// The file before the run; `null` where there was none.
    before: Option<FileState>,
    /// What happens to the path.
    effect: ChangeKind,
    /// Path of a renamed file before the run, else `null`.
    from: Option<PathName>,
    /// The path; of a renamed file the new one.
    path: PathName,
    /// Number of lines removed; 0 for what has none.
    removed: u64,
}

/// Content and permissions of a file.
#[derive(JsonSchema)]
struct FileState {
    /// SHA-256 of the content.
    sha256: value::Digest,
    /// Size in bytes.
    size: u64,
    /// Permission bits.
    mode: value::Mode,
}

/// Signed answer of an approver about a plan.
#[derive(JsonSchema)]
pub(crate) struct PlanAnswered {
    /// Name and number of the answer's own format.
    format: String,
    /// Time of the answer.
    time: value::Time,
    /// Tenant of the ledger.
    tenant: value::TenantId,
    /// Workspace of the plan.
    workspace: value::WorkspaceId,
    /// The plan.
    plan: value::RunId,
    /// Ledger entry that queued the plan.
    queued: EntryRef,
    /// The answer.
    answer: Answer,
    /// Reason that the approver gave, or `null`.
    reason: Option<String>,
    /// Digests of what was approved.
    bound: Bound,
    /// Time until which the plan may be carried out.
    expires: value::Time,
    /// The approver.
    by: Actor,
    /// Isolation of the approval key.
    isolation: Isolation,
}

/// Digests that an approval is bound to.
#[derive(JsonSchema)]
struct Bound {
    /// Digest of the request.
    plan: value::Digest,
    /// Digest of the limits of the request.
    limits: value::Digest,
    /// Digest of the change: of each file before and after.
    change: value::Digest,
    /// Digest of the policy in force.
    policy: value::Digest,
}

/// Answer of an approver.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The plan may be carried out, once.
    Approved,
    /// The plan may not be carried out.
    Denied,
    /// The approval was withdrawn.
    Revoked,
}
