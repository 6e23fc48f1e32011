//! Helper executable for programs that cannot be one themselves, such as tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    actum_sandbox::inside::enter();
    ExitCode::from(2) // it is of no use by itself
}
