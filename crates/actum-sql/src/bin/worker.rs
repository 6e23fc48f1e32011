//! Worker executable for programs that cannot serve as their own SQL worker, such as tests. It can also install the
//! DuckDB library for them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    actum_sandbox::inside::enter();
    actum_sql::enter();
    let program = std::env::current_exe().unwrap_or_default();
    // The directory `tools` next to the profile directories is where the tests look for the library.
    let home = program.ancestors().nth(2).map(|target| target.join("tools"));
    match (std::env::args().nth(1).as_deref(), home) {
        (Some("install"), Some(home)) => match actum_sql::install(&home, Path::new("python3")) {
            Ok(installed) => {
                println!(
                    "DuckDB {} is installed at {}",
                    installed.version,
                    installed.path.display()
                );
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("actum-sql-worker: {error}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::from(2), // without arguments, it can only run as a worker
    }
}
