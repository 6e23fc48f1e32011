//! Access policies: parsing, rejection, answers and their grounds, for any order of policies and any operator permissions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a test fails by panicking, and its texts are its own"
)]

mod answering;
mod files;
mod properties;
mod reading;

use actum_access::{AccessAction, AccessPolicies, AccessRequest, ChangeKind};
use actum_core::RelPath;

/// Returns a request to change one file at risk tier R2, without any approvals.
fn request() -> AccessRequest {
    AccessRequest {
        user: "ada".to_owned(),
        uid: 1000,
        agent: None,
        action: AccessAction::ChangeFiles,
        workspace: "/home/ada/project".to_owned(),
        enclosing: Vec::new(),
        tenant: "home".to_owned(),
        tier: 2,
        approvals: 0,
        entry_point: "cli".to_owned(),
        files: 1,
        lines: 10,
        deletes: 0,
        paths: [RelPath::new("src/parser/lexer.rs").unwrap()].into(),
        kind: ChangeKind::New,
    }
}

fn policies(text: &str) -> AccessPolicies {
    AccessPolicies::read(text).unwrap()
}
