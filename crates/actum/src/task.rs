//! The door of task plans (EX): the actions of an approved plan become one change, which goes through the pipeline like
//! any other.

mod operation;
mod problem;
mod rehearsal;

pub use problem::ActionProblem;
pub use rehearsal::{ActionEnd, Rehearsal, Rehearsed};
