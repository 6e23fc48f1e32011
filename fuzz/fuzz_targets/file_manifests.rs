//! libFuzzer entry point of the target `file_manifests`. Its rules are beside the tests of the File Executor, because
//! `actum-testkit` does not depend on that crate.
#![no_main]

#[path = "../../crates/actum-file/tests/manifests/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|input: &[u8]| rules::check(input));
