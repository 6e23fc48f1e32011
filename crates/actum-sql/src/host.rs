//! The host: starts the worker in its sandbox, and reads its answer.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use actum_sandbox::{
    Ended, Enforcement, Helper, HostReport, InForce, Limits, Resource, SandboxPolicy, StartError,
    Stdin, Stop, Tier, Usage, Violation,
};
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};

use serde::{Deserialize, Serialize};

use crate::job::{Job, Report, Work};
use crate::library::Library;
use crate::parameter::Parameter;
use crate::worker::NAME;

/// Limits of an SQL step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlLimits {
    /// Time of the step.
    pub time: Duration,
    /// Memory of the engine, in bytes.
    pub memory_bytes_max: u64,
    /// Bytes that it may write beside the database while it does not have that memory.
    pub spill_bytes_max: u64,
    /// Size of the database after the step, in bytes.
    pub database_bytes_max: u64,
    /// Threads.
    pub threads: u32,
}

/// One SQL step.
#[derive(Debug)]
pub struct Step<'s> {
    /// Library.
    pub library: &'s Library,
    /// Directory that only the worker reads or writes meanwhile. The copy of the database is in it.
    pub directory: &'s Path,
    /// Name of the database in the directory. DuckDB names its catalog after it.
    pub database: &'s str,
    /// Statements.
    pub query: &'s str,
    /// Values of the named parameters.
    pub parameters: &'s BTreeMap<String, Parameter>,
    /// Name of the new file in the directory for the rows of the last statement, as Parquet.
    pub save_results_to: Option<&'s str>,
    /// True if the tables before and after are compared, in part of the time of the step.
    pub compares: bool,
    /// Limits of the step.
    pub limits: SqlLimits,
}

/// Means to start workers: the maker of the sandbox, what it can confine here, and the program
/// whose `main` calls [`crate::enter`].
pub type Host<'h> = (&'h Helper, &'h HostReport, &'h Path);

/// A step that came to a report.
#[derive(Debug)]
pub struct Ran {
    /// Report of the worker.
    pub report: Report,
    /// Usage of resources.
    pub usage: Usage,
    /// Confinement that was in force.
    pub in_force: InForce,
}

/// Usage of a worker, and its confinement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Time from its start to its end, in milliseconds.
    pub wall_milliseconds: u64,
    /// Most memory that was seen, in bytes.
    pub peak_memory_bytes: u64,
    /// Tier of the sandbox.
    pub tier: String,
    /// Version of Landlock's interface; `None` if the host has none.
    pub landlock: Option<u32>,
    /// True if it ran as root, without capabilities.
    pub is_root: bool,
}

impl From<&Ran> for Measured {
    fn from(Ran { usage, in_force, .. }: &Ran) -> Self {
        Self {
            wall_milliseconds: usage.wall,
            peak_memory_bytes: usage.memory,
            tier: in_force.tier.to_string(),
            landlock: in_force.landlock,
            is_root: in_force.is_root,
        }
    }
}

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The worker cannot be started: this host has no namespaces, or the system failed.
    #[error("the SQL worker cannot be started: {0}")]
    Start(#[from] StartError),
    /// The worker exceeded a limit.
    #[error("the statements exceeded the limit of {resource}")]
    Limit {
        /// The limit.
        resource: Resource,
    },
    /// The caller asked for it to stop.
    #[error("the statements were cancelled")]
    Cancelled,
    /// The worker ended, or was ended, without an answer.
    #[error("the SQL worker ended without an answer{}", signal.map(|it| format!(" (signal {it})")).unwrap_or_default())]
    Ended {
        /// Signal that ended it.
        signal: Option<i32>,
    },
    /// The library cannot be loaded.
    #[error("{message}")]
    Library {
        /// Reason.
        message: String,
    },
    /// The system failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step.
        doing: &'static str,
        /// Error.
        source: std::io::Error,
    },
}

/// Runs the statements of a step on its copy of the database.
///
/// # Errors
/// [`SqlError`]: the copy is of no use then. A statement that fails is no error here; it is in the
/// report.
pub fn run(host: Host<'_>, step: &Step<'_>, stop: Option<&Stop>) -> Result<Ran, SqlError> {
    let job = Work::Step(Job {
        library: step.library.path().to_owned(),
        library_sha256: step.library.sha256(),
        database: step.directory.join(step.database),
        query: step.query.to_owned(),
        parameters: step.parameters.clone(),
        save_results_to: step.save_results_to.map(|name| step.directory.join(name)),
        // DuckDB makes it if needed.
        spill: step.directory.join("actum-spill"),
        spill_bytes_max: step.limits.spill_bytes_max,
        memory_bytes_max: step.limits.memory_bytes_max,
        threads: step.limits.threads,
        time_milliseconds: u64::try_from(step.limits.time.as_millis()).unwrap_or(u64::MAX),
        compares: step.compares,
    });
    let place = (step.directory, step.library);
    let Answer { line, usage, in_force, signal } = start(host, &job, (place, step.limits), stop)?;
    let report = serde_json::from_slice(&line).map_err(|_| SqlError::Ended { signal })?;
    Ok(Ran { report, usage, in_force })
}

/// Loads a library in the sandbox, and returns the version that it names, such as `v2.0.1`.
///
/// # Errors
/// [`SqlError`], `Library` if it has another digest or is no DuckDB.
pub fn version_of(host: Host<'_>, library: &Library) -> Result<String, SqlError> {
    let system = |source| SqlError::System { doing: "make a directory", source };
    let directory = tempfile::tempdir().map_err(system)?;
    let work = Work::Version { library: library.path().to_owned(), sha256: library.sha256() };
    let place = (directory.path(), library);
    let Answer { line, signal, .. } = start(host, &work, (place, VERSION_LIMITS), None)?;
    let answer: Result<String, String> =
        serde_json::from_slice(&line).map_err(|_| SqlError::Ended { signal })?;
    answer.map_err(|message| SqlError::Library { message })
}

/// Limits of a worker that only loads the library.
const VERSION_LIMITS: SqlLimits = SqlLimits {
    time: Duration::from_secs(10),
    memory_bytes_max: 0,
    spill_bytes_max: 1 << 20,
    database_bytes_max: 1 << 20,
    threads: 1,
};

/// Answer of a worker.
struct Answer {
    line: Vec<u8>,
    usage: Usage,
    in_force: InForce,
    signal: Option<i32>,
}

/// Starts a worker, and waits for its answer.
fn start(
    (helper, host, program): Host<'_>,
    work: &Work,
    (place, limits): ((&Path, &Library), SqlLimits),
    stop: Option<&Stop>,
) -> Result<Answer, SqlError> {
    let mut input = serde_json::to_vec(work)
        .map_err(|error| SqlError::System { doing: "write the job", source: error.into() })?;
    input.push(b'\n');
    let policy = policy(place, limits, (program, input));
    let command = [program.as_os_str().to_owned(), OsString::from(NAME)];
    let mut child = policy.start(host, helper, &command)?;
    if let Some(stop) = stop {
        child.stop_when(stop.clone());
    }
    let outcome = child.wait().map_err(|error| SqlError::System {
        doing: "wait for the SQL worker",
        source: std::io::Error::other(error.to_string()),
    })?;
    match outcome.violated.first() {
        Some(Violation::Limit(resource)) => {
            return Err(SqlError::Limit { resource: *resource });
        }
        Some(Violation::Interrupted) => return Err(SqlError::Cancelled),
        Some(Violation::Unwatched | Violation::Made(_)) => {
            return Err(SqlError::Ended { signal: None });
        }
        None => {}
    }
    let signal = match outcome.ended {
        Some(Ended::Signal(signal)) => Some(signal),
        Some(Ended::Code(_)) | None => None,
    };
    Ok(Answer { line: outcome.stdout, usage: outcome.usage, in_force: outcome.in_force, signal })
}

/// Paths in which the loader finds the libraries of the system; those that exist are readable.
const SYSTEM: [&str; 6] =
    ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store"];
/// Memory of the worker besides that of the engine, in bytes: the program and the library.
const WORKER_BYTES: u64 = 256 << 20;
/// Size of an answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 8 << 20;
/// Processes and threads besides those of the engine.
const OTHER_THREADS: u64 = 16;
/// Larger files than this are written by no step, whatever its limits are.
const WRITTEN_TIMES_MAX: u64 = 8;

/// Confines the worker: it reads this program, the library and the libraries of the system, and
/// writes its directory. It has no network and no environment.
fn policy(
    (directory, library): (&Path, &Library),
    limits: SqlLimits,
    (program, input): (&Path, Vec<u8>),
) -> SandboxPolicy {
    let SqlLimits { time, memory_bytes_max, spill_bytes_max, database_bytes_max, threads } = limits;
    let files = database_bytes_max.max(spill_bytes_max);
    let written =
        database_bytes_max.saturating_mul(WRITTEN_TIMES_MAX).saturating_add(spill_bytes_max);
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let limits = [
        (Resource::Wall, milliseconds),
        (Resource::Cpu, milliseconds.saturating_mul(u64::from(threads))),
        (Resource::Memory, memory_bytes_max.saturating_add(WORKER_BYTES)),
        (Resource::StorageWrite, written),
        (Resource::FileSize, files),
        (Resource::Processes, u64::from(threads).saturating_add(OTHER_THREADS)),
        (Resource::Output, ANSWER_BYTES_MAX),
    ];
    let limits = limits.into_iter().fold(Limits::default(), |limits, (resource, max)| {
        limits.with(resource, max, Enforcement::Polled)
    });
    let system = SYSTEM.iter().map(PathBuf::from).filter(|path| path.exists());
    let own = [program.to_owned(), library.path().to_owned()];
    let exec = std::iter::once(program.to_owned()).chain(interpreter(program)).collect();
    SandboxPolicy {
        read: system.chain(own).collect(),
        write: vec![directory.to_owned()],
        exec,
        limits,
        stdin: Stdin::Bytes(input),
        floor: Tier::N,
        ..SandboxPolicy::new(directory)
    }
}

/// Returns the interpreter of a program (ld.so(8)), which the kernel starts for it; `None` for one
/// that needs none.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut beginning = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    file.take(HEADERS_BYTES_MAX).read_to_end(&mut beginning).ok()?;
    let header = FileHeader64::<Endianness>::parse(&*beginning).ok()?;
    let endian = header.endian().ok()?;
    let mut segments = header.program_headers(endian, &*beginning).ok()?.iter();
    let named = segments.find_map(|segment| segment.interpreter(endian, &*beginning).ok()?)?;
    std::fs::canonicalize(OsStr::from_bytes(named)).ok()
}

/// Part of a program in which its headers are, in bytes.
const HEADERS_BYTES_MAX: u64 = 64 << 10;
