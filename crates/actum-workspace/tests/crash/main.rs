//! Kills, power cuts, failing calls and concurrent programs on a simulated disk.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod adoption;
mod barriers;
mod baseline;
mod block_deltas;
mod captures;
mod changes;
mod concurrent_edits;
mod cost;
mod crash_states;
mod edits_of_moved_files;
mod explore;
mod faults;
mod full_disk;
mod interrupted;
mod kept_images;
mod later_edits;
mod links;
mod model;
mod moved_files;
mod stamps;
