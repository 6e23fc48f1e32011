//! JSON Schemas for values that are defined in `actum-core` and `actum-record`.
//!
//! The types in this module are never instantiated. Fields refer to them with `#[schemars(with = "...")]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Defines JSON Schemas for string values.
macro_rules! texts {
    ($($(#[doc = $about:literal])+ $name:ident { $($keyword:literal: $value:expr),+ $(,)? })+) => { $(
        $(#[doc = $about])+
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let about = concat!($($about),+).trim_start();
                json_schema!({ "description": about, "type": "string", $($keyword: $value),+ })
            }
        }
    )+ };
}

texts! {
    /// Id of a run or a plan.
    RunId { "pattern": "^[0-9a-hjkmnp-tv-z]{12}$" }
    /// SHA-256 digest in hexadecimal.
    Digest { "pattern": "^[0-9a-f]{64}$" }
    /// Id of a block of a lease.
    LeaseId { "pattern": "^[0-9a-f]{64}$" }
    /// Id of a key.
    KeyId { "pattern": "^[0-9a-f]{16}$" }
    /// Time in UTC (RFC 3339).
    Time { "format": "date-time", "pattern": "Z$" }
    /// Ed25519 public key in base64.
    PublicKey { "pattern": "^[A-Za-z0-9+/]{43}=$" }
    /// Purpose of a key: to sign leases (`lease`), receipts (`result`), ledger checkpoints (`checkpoint`) or approvals
    /// (`approval`).
    KeyRole { "enum": ["lease", "result", "checkpoint", "approval"] }
    /// Name of the tenant that owns a ledger.
    TenantId { "minLength": 1, "maxLength": 64 }
    /// Id of a workspace.
    WorkspaceId { "pattern": "^[0-9a-hjkmnp-tv-z]{12}$" }
    /// Name of an action.
    ActionName { "pattern": "^[a-z][a-z0-9_]*$" }
    /// State of an action: registered (`DRAFT`), usable (`ACTIVE`) or no longer usable (`RETIRED`).
    ActionState { "enum": ["DRAFT", "ACTIVE", "RETIRED"] }
    /// Kind of effect on a path.
    EffectKind {
        "enum": [
            "created", "modified", "renamed", "mode", "attributes", "deleted", "directory_created",
            "directory_removed"
        ]
    }
    /// Permission bits in octal.
    Mode { "pattern": "^([0-7]{4}|120000)$" }
    /// Status of a request: `succeeded`, `reverted` (rolled back), `rejected` (nothing changed), `queued` (waiting for approval) or
    /// `failed` (needs attention).
    Status { "enum": ["succeeded", "reverted", "rejected", "queued", "failed"] }
    /// Risk tier of a change. R3 and above require an approver's decision.
    Tier { "enum": ["R0", "R1", "R2", "R3", "R4"] }
}

/// Path relative to the workspace root, either as text or, if it is not UTF-8, as an object with `hex`.
pub(crate) enum PathName {}

impl JsonSchema for PathName {
    fn schema_name() -> Cow<'static, str> {
        "PathName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about =
            "Path relative to the workspace root, or an object with `hex` if it is not UTF-8.";
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
