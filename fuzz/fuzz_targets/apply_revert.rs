//! libFuzzer entry point of the target `apply_revert`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| actum_testkit::fuzz::run("apply_revert", input));
