//! libFuzzer entry point of the target `journal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| actum_testkit::fuzz::run("journal", input));
