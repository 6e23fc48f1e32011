//! Access control by the operator's Cedar policies, read strictly and evaluated once for each change (AEC-6).
//!
//! Policies are written in [Cedar](https://docs.cedarpolicy.com) against `schema.cedarschema`, which is beside this
//! file. A policy that is not valid against it is not loaded. So a mistake is an error when the policy is read, and
//! not a rule that never holds. No policy permits what `always.cedar` forbids.
//!
//! The access gate calls [`Cedar`]. Another version of the library may read or judge a policy in another way. So the
//! version is pinned, and a new one is a new version of the rules (`actum_gate::DECISION_SEMANTICS`). No ground quotes
//! the library.
//!
//! This crate has no clock, environment or I/O, and no answer depends on the order of policies or paths. It is
//! separate because Cedar takes minutes to compile.

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
