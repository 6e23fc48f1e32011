//! Frozen contract of the action API, v4.0.17: the plan envelope, the result envelope and the manifest of a plugin
//! package.
//!
//! Each of the three documents is described once, as an [`ObjectSchema`](actum_document::ObjectSchema). The reader
//! enforces this description, and the published JSON Schemas are generated from it, so the two cannot differ.

pub mod limits;
mod malformed;
mod manifest;
mod plan;
mod result;

pub use malformed::MalformedPlan;
pub use manifest::{
    EXECUTE_FILE, Filesystem, MANIFEST_FILE, Manifest, ManifestError, PACKAGE_FILES, Permissions,
    Phrases, ROLLBACK_FILE, RollbackRule, VERIFY_FILE,
};
pub use plan::{PlanEnvelope, PlanError, PlanScope, RollbackPlan, VerificationPlan};
pub use result::{Check, ResultEnvelope, ResultError, VerificationResult};

use actum_document::SchemaFile;
use actum_document::json_schema::file;
use manifest::MANIFEST;
use plan::PLAN;
use result::RESULT;

/// Returns the JSON Schemas of the plan envelope, the result envelope and `action.json`, in this order.
pub fn schemas() -> [SchemaFile; 3] {
    [
        file("action-plan.schema.json", "urn:actum:action-plan:v4", "Action plan envelope", &PLAN),
        file(
            "action-result.schema.json",
            "urn:actum:action-result:v4",
            "Action result envelope",
            &RESULT,
        ),
        file(
            "action-package.schema.json",
            "urn:actum:action-package:v4",
            "Manifest of a plugin action package",
            &MANIFEST,
        ),
    ]
}
