//! The target `file_manifests` for libFuzzer. Its rules are beside the tests of the File Executor, which `actum-testkit` does not
//! depend on.
#![no_main]

#[path = "../../crates/actum-file/tests/manifests/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|input: &[u8]| rules::check(input));
