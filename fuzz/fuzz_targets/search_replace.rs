//! libFuzzer entry point of the target `search_replace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| actum_testkit::fuzz::run("search_replace", input));
