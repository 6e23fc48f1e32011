//! libFuzzer entry point of the target `git_diff`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| actum_testkit::fuzz::run("git_diff", input));
