//! Sandbox helper for programs that cannot act as their own helper, such as tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    actum_sandbox::inside::enter();
    ExitCode::from(2) // `enter` returns only if the program was not started as a helper
}
