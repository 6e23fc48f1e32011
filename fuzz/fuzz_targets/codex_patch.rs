//! libFuzzer entry point of the target `codex_patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| actum_testkit::fuzz::run("codex_patch", input));
