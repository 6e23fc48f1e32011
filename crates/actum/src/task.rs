//! The door of task plans (EX): the actions of an approved plan become one change, which goes through the pipeline like
//! any other.

mod operation;
mod problem;
mod protected;
mod rehearsal;

pub use problem::ActionProblem;
pub use protected::{Violation, violations};
pub use rehearsal::{ActionEnd, Rehearsal, Rehearsed};
