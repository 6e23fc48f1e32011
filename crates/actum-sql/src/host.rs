//! Host side of an SQL step, which starts the worker in its sandbox and reads its answer.

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

/// Resource limits of an SQL step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlLimits {
    /// Maximum duration of the step.
    pub time: Duration,
    /// Maximum memory of the engine, in bytes.
    pub memory_bytes_max: u64,
    /// Maximum number of bytes that the engine may spill to disk once its memory is full.
    pub spill_bytes_max: u64,
    /// Maximum size of the database after the step, in bytes.
    pub database_bytes_max: u64,
    /// Number of threads that the engine may use.
    pub threads: u32,
}

/// SQL step that a worker runs.
#[derive(Debug)]
pub struct Step<'s> {
    /// DuckDB library to load.
    pub library: &'s Library,
    /// Directory with the copy of the database. Only the worker accesses it during the step.
    pub directory: &'s Path,
    /// Name of the database file in the directory. DuckDB derives the name of its catalog from it.
    pub database: &'s str,
    /// SQL text with one or more statements.
    pub query: &'s str,
    /// Values of the named parameters of the query.
    pub parameters: &'s BTreeMap<String, Parameter>,
    /// Name of the Parquet file in the directory to which the rows of the last statement are written. The file must not
    /// exist.
    pub save_results_to: Option<&'s str>,
    /// Whether the tables before and after the step are compared, which takes part of its time.
    pub compares: bool,
    /// Resource limits of the step.
    pub limits: SqlLimits,
}

/// Requirements for starting a worker: the sandbox helper, the capabilities of this host, and the program whose `main`
/// calls [`crate::enter`].
pub type Host<'h> = (&'h Helper, &'h HostReport, &'h Path);

/// Step whose worker returned a report.
#[derive(Debug)]
pub struct Ran {
    /// Report of the worker on the statements.
    pub report: Report,
    /// Resources that the worker used.
    pub usage: Usage,
    /// Confinement that was in force for the worker.
    pub in_force: InForce,
}

/// Resource usage and confinement of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Time between the start and the end of the worker, in milliseconds.
    pub wall_milliseconds: u64,
    /// Highest memory usage that was observed, in bytes.
    pub peak_memory_bytes: u64,
    /// Sandbox tier in which the worker ran.
    pub tier: String,
    /// Version of the Landlock ABI, or `None` if the host does not support Landlock.
    pub landlock: Option<u32>,
    /// Whether the worker ran as root, without capabilities.
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

/// Reason why a worker returned no report.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The worker could not be started because the host has no namespaces or the system reported an error.
    #[error("failed to start the SQL worker: {0}")]
    Start(#[from] StartError),
    /// The worker exceeded a resource limit.
    #[error("the statements exceeded the limit for {resource}")]
    Limit {
        /// Resource whose limit was exceeded.
        resource: Resource,
    },
    /// The caller cancelled the step.
    #[error("the statements were cancelled")]
    Cancelled,
    /// The worker exited or was killed before it sent a valid answer.
    #[error("the SQL worker ended without an answer{}", signal.map(|it| format!(" (signal {it})")).unwrap_or_default())]
    Ended {
        /// Signal that killed the worker, or `None` if it exited.
        signal: Option<i32>,
    },
    /// The DuckDB library could not be loaded.
    #[error("{message}")]
    Library {
        /// Reason why loading failed.
        message: String,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step that failed, as a verb phrase.
        doing: &'static str,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

/// Runs the statements of a step on its copy of the database.
///
/// # Errors
/// Returns [`SqlError`] if there is no report, in which case the copy must be discarded. A failed statement is not an
/// error here, because the report contains it.
pub fn run(host: Host<'_>, step: &Step<'_>, stop: Option<&Stop>) -> Result<Ran, SqlError> {
    let job = Work::Step(Job {
        library: step.library.path().to_owned(),
        library_sha256: step.library.sha256(),
        database: step.directory.join(step.database),
        query: step.query.to_owned(),
        parameters: step.parameters.clone(),
        save_results_to: step.save_results_to.map(|name| step.directory.join(name)),
        // DuckDB creates this directory if it needs one.
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

/// Loads a library in the sandbox and returns the version that it reports, such as `v2.0.1`.
///
/// # Errors
/// Returns `SqlError::Library` if the digest of the library differs or the file is not DuckDB, and another [`SqlError`]
/// if the worker returns no answer.
pub fn version_of(host: Host<'_>, library: &Library) -> Result<String, SqlError> {
    let system = |source| SqlError::System { doing: "create a directory", source };
    let directory = tempfile::tempdir().map_err(system)?;
    let work = Work::Version { library: library.path().to_owned(), sha256: library.sha256() };
    let place = (directory.path(), library);
    let Answer { line, signal, .. } = start(host, &work, (place, VERSION_LIMITS), None)?;
    let answer: Result<String, String> =
        serde_json::from_slice(&line).map_err(|_| SqlError::Ended { signal })?;
    answer.map_err(|message| SqlError::Library { message })
}

/// Limits of a worker that only loads the library to read its version.
const VERSION_LIMITS: SqlLimits = SqlLimits {
    time: Duration::from_secs(10),
    memory_bytes_max: 0,
    spill_bytes_max: 1 << 20,
    database_bytes_max: 1 << 20,
    threads: 1,
};

/// Answer of a worker, with its resource usage and confinement.
struct Answer {
    line: Vec<u8>,
    usage: Usage,
    in_force: InForce,
    signal: Option<i32>,
}

/// Starts a worker and waits for its answer.
fn start(
    (helper, host, program): Host<'_>,
    work: &Work,
    (place, limits): ((&Path, &Library), SqlLimits),
    stop: Option<&Stop>,
) -> Result<Answer, SqlError> {
    let mut input = serde_json::to_vec(work)
        .map_err(|error| SqlError::System { doing: "serialize the job", source: error.into() })?;
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

/// Paths at which the dynamic loader finds system libraries. The worker may read those that exist.
const SYSTEM: [&str; 6] =
    ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store"];
/// Memory that the worker needs in addition to the engine, in bytes, for the program and the library.
const WORKER_BYTES: u64 = 256 << 20;
/// Maximum size of a worker's answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 8 << 20;
/// Number of processes and threads that the worker needs in addition to the engine's threads.
const OTHER_THREADS: u64 = 16;
/// Maximum number of bytes that a step may write, as a multiple of the maximum database size.
const WRITTEN_TIMES_MAX: u64 = 8;

/// Returns the sandbox policy of a worker. The worker may read this program, the library and the system libraries, and
/// write to its directory. It has no network access and an empty environment.
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

/// Returns the interpreter that the kernel starts for a program (ld.so(8)), or `None` if the program names none.
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

/// Number of bytes at the start of a program that are searched for its ELF headers.
const HEADERS_BYTES_MAX: u64 = 64 << 10;
