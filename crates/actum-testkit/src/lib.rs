//! Test support for actum, centered on a simulated disk that can lose power at every system call.
//!
//! This crate is only used as a dev-dependency. It panics with the path in question if a test uses it incorrectly.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    reason = "runs in tests only, on 64-bit machines, where a panic is the way to fail"
)]

mod effort;
pub mod fuzz;
pub mod known_home;
pub mod limited_host;
mod random;
pub mod sim_disk;
pub mod test_dir;

pub use effort::effort;
pub use random::Random;
pub use rustix::io::Errno;
pub use sim_disk::{CrashStates, Node, SimDisk, SimHandle};
pub use test_dir::{Held, TestDir};
