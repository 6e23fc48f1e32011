//! Access control with the operator's Cedar policies, which are parsed strictly and evaluated once for each change
//! (AEC-6).
//!
//! Policies are written in [Cedar](https://docs.cedarpolicy.com) and validated against `schema.cedarschema`, which is
//! stored next to this file. A policy that fails validation is not loaded, so that a mistake is reported as an error
//! when the policy is read, instead of becoming a rule that never matches. No policy can permit a change that
//! `always.cedar` forbids.
//!
//! The access gate calls this crate through [`Cedar`]. A different version of the Cedar library could parse or evaluate
//! a policy differently. The version is therefore pinned, and changing it requires a new version of the rules
//! (`actum_gate::DECISION_SEMANTICS`). No ground quotes messages of the library.
//!
//! This crate uses no clock, environment or I/O, and its answers do not depend on the order of policies or paths. It is
//! a separate crate because Cedar takes minutes to compile.

mod answer;
mod cedar;
mod depth;
mod diagnosis;
mod judge;
mod limits;
mod names;
mod policies;
mod problem;
mod request;

pub use answer::{Access, AccessAnswer, GROUNDS_MAX};
pub use cedar::Cedar;
pub use limits::{
    ANNOTATION_BYTES_MAX, POLICIES_MAX, POLICY_BYTES_MAX, POLICY_NESTING_MAX, POLICY_OPERATORS_MAX,
};
pub use names::AccessAction;
pub use policies::AccessPolicies;
pub use problem::{AccessError, AccessFileError, PolicyProblem, Problems};
pub use request::{AccessRequest, ChangeKind, REQUEST_PATHS_MAX};
