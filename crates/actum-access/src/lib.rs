//! Who may do what: the operator's Cedar policies, read strictly and asked once a change (AEC-6).
//!
//! Policies are written in [Cedar](https://docs.cedarpolicy.com) against `schema.cedarschema`,
//! which lies beside this file. What is not valid against it is not loaded, so that a slip of the
//! pen is an error when a policy is read, and not a rule that never holds. What
//! `always.cedar` forbids, no policy permits.
//!
//! [`Cedar`] is what the gate of access asks. Another version of the library may read or judge a policy in
//! another way, so that it is pinned, and a new one is a new version of the rules
//! (`actum_gate::DECISION_SEMANTICS`). No ground quotes it.
//!
//! Nothing here has a clock, an environment or I/O, and no answer depends on the order of policies
//! or paths. This is a crate of its own because Cedar takes minutes to compile.

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
