//! Byte worker executable, for programs such as tests that cannot start themselves as a worker.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    actum_file::sandboxed::enter();
    ExitCode::from(2) // reached only if the program was not started as a worker
}
