//! The frozen contract of the action API, v4.0.17: plan envelope, result envelope, plugin package.
//!
//! Each of the three documents is described once, as a [`Shape`]. What is read is held to it, and
//! the published JSON Schemas are written from it, so neither can say something else than the other.

pub(crate) mod json_schema;
pub mod limits;
mod manifest;
pub(crate) mod mistake;
mod name;
mod plan;
pub(crate) mod reader;
mod result;
pub(crate) mod shape;

pub use json_schema::{SchemaFile, schemas};
pub use manifest::{
    EXECUTE_FILE, Filesystem, MANIFEST_FILE, Manifest, ManifestError, PACKAGE_FILES, Permissions,
    ROLLBACK_FILE, RollbackRule, VERIFY_FILE,
};
pub use mistake::{JsonPath, Mistake, Problem, Step};
pub use name::{ActionName, ActionNameError, CORE_ACTIONS};
pub use plan::{
    Confidence, NoConfidence, PlanEnvelope, PlanError, PlanScope, RollbackPlan, VerificationPlan,
};
pub use result::{Attempt, Check, ResultEnvelope, ResultError, VerificationResult};
pub use shape::{Characters, Form, Member, Need, Others, Shape, Text};
