//! Command-line options for the terms of a lease.

use std::path::{Path, PathBuf};

use actum::real_path;
use actum_core::{PathRule, Scope, Timestamp};
use actum_record::lease::{
    AgentName, BaseDirectory, Capability, LEASE_COUNT_MAX, LeaseTermError, LeaseTerms, Quotas,
    TaskName,
};

use super::when::{When, add, whole_second};
use crate::duration::milliseconds;
use crate::failure::Failure;
use crate::lease_failure::{DAYS_MAX, LeaseFailure};
use crate::output_file::lexical;
use crate::size::Size;
use crate::verb::Session;

const HOUR_MICROS: i64 = 3_600_000_000;
const DAY_MICROS: i64 = 24 * HOUR_MICROS;

/// Command-line options for the terms of a single block of a lease.
#[derive(clap::Args)]
pub(super) struct TermArguments {
    /// Allow APPLY (also undo and redo), EXEC, TASK, ACTION:TYPE, FILE_MOVE, FILE_COPY or FILE_DELETE; can be repeated
    #[arg(long = "capability", value_name = "CAP")]
    capabilities: Vec<Capability>,
    /// Allow changes below the existing directory DIR; can be repeated
    #[arg(long = "base", value_name = "DIR")]
    bases: Vec<PathBuf>,
    /// Allow only the agent NAME and its sub-agents `NAME/…`
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentName>,
    /// Allow only the task plan with this id, or only requests with this `--request-key`
    #[arg(long, value_name = "ID")]
    task: Option<TaskName>,
    /// Expire at this time (RFC 3339) or after this duration (`10m`, `2h`, `7d`); at most 366 days after the start
    #[arg(long, value_name = "WHEN")]
    expires: Option<When>,
    /// Become valid at this time (RFC 3339) or after this duration
    #[arg(long, value_name = "WHEN")]
    not_before: Option<When>,
    /// Allow at most N runs to be started
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LEASE_COUNT_MAX))]
    uses: Option<u64>,
    /// Allow at most N changed files in a single run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=LEASE_COUNT_MAX))]
    max_files: Option<u64>,
    /// Limit the total size of the files that a single run changes to SIZE, such as `500M`
    #[arg(long, value_name = "SIZE")]
    max_space: Option<Size>,
    /// Limit the amount of data that a command reads and writes to SIZE
    #[arg(long, value_name = "SIZE")]
    max_storage: Option<Size>,
    /// Limit the memory of a command to SIZE
    #[arg(long, value_name = "SIZE")]
    max_memory: Option<Size>,
    /// Limit the running time of a command to DURATION, such as `90s`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_wall: Option<u64>,
    /// Allow only those paths below the base directories that match RULE; can be repeated
    #[arg(long, value_name = "RULE")]
    allow: Vec<PathRule>,
    /// Deny those paths below the base directories that match RULE; can be repeated
    #[arg(long, value_name = "RULE")]
    deny: Vec<PathRule>,
}

fn duration(text: &str) -> Result<u64, String> {
    let message = "expected a whole number followed by `ms`, `s`, `m`, `h` or `d`";
    milliseconds(text).ok_or_else(|| message.to_owned())
}

/// Reaction to a base directory that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Reject,
    Note,
}

impl TermArguments {
    /// Returns the terms of the first block of a lease. By default, the block is valid from now on for one hour. It is always
    /// limited to the tenant of the session.
    ///
    /// # Errors
    /// Returns an error if the options name no capability or no base directory, or if a base directory does not exist.
    pub(super) fn first(&self, session: &Session, now: Timestamp) -> Result<LeaseTerms, Failure> {
        if self.capabilities.is_empty() || self.bases.is_empty() {
            let message = "a lease needs at least one `--capability` and one `--base`".to_owned();
            return Err(Failure::Usage { message });
        }
        let now = whole_second(now);
        let start = self.not_before.map_or(now, |when| when.resolve(now));
        let expires = self.expires.unwrap_or(When::After(HOUR_MICROS)).resolve(start);
        let terms = LeaseTerms {
            expires: Some(expires),
            not_before: Some(start),
            tenant: Some(session.tenant.id()?),
            ..self.given(session, Missing::Reject)?
        };
        check_times(start.max(now), expires)?;
        terms.check_complete().and_then(|()| terms.check_limits()).map_err(LeaseFailure::from)?;
        Ok(terms)
    }

    /// Returns the terms of a block that narrows a lease. It contains only terms that the options set.
    pub(super) fn further(&self, session: &Session, now: Timestamp) -> Result<LeaseTerms, Failure> {
        let now = whole_second(now);
        let not_before = self.not_before.map(|when| when.resolve(now));
        let start = not_before.unwrap_or(now);
        let expires = self.expires.map(|when| when.resolve(start));
        expires.map_or(Ok(()), |expires| check_times(start.max(now), expires))?;
        Ok(LeaseTerms { expires, not_before, ..self.given(session, Missing::Note)? })
    }

    /// Returns the terms that the options set, except the start and expiry times.
    fn given(&self, session: &Session, missing: Missing) -> Result<LeaseTerms, Failure> {
        let bases = self.bases.iter().map(|base| base_directory(base, session, missing));
        let bases: Vec<BaseDirectory> = bases.collect::<Result<_, _>>()?;
        let bytes = |size: Option<Size>| size.map(|Size(bytes)| bytes);
        let scope = Scope {
            allow: (!self.allow.is_empty()).then(|| self.allow.clone()),
            deny: self.deny.clone(),
        };
        Ok(LeaseTerms {
            agent: self.agent.clone(),
            base_directories: (!bases.is_empty()).then(|| bases.into_iter().collect()),
            capabilities: (!self.capabilities.is_empty())
                .then(|| self.capabilities.iter().cloned().collect()),
            quotas: Quotas {
                files: self.max_files,
                memory_bytes: bytes(self.max_memory),
                space_bytes: bytes(self.max_space),
                storage_bytes: bytes(self.max_storage),
                wall_ms: self.max_wall,
            },
            scope: (scope != Scope::everything()).then_some(scope),
            task: self.task.clone(),
            uses: self.uses,
            ..LeaseTerms::default()
        })
    }
}

/// Returns an error if a lease would expire before it starts, or would be valid for longer than [`DAYS_MAX`].
fn check_times(start: Timestamp, expires: Timestamp) -> Result<(), LeaseFailure> {
    let latest = add(start, DAYS_MAX.saturating_mul(DAY_MICROS));
    if expires <= start {
        return Err(LeaseFailure::NeverValid { expires, after: start });
    }
    if expires > latest {
        return Err(LeaseFailure::TooLong { expires, latest });
    }
    Ok(())
}

/// Returns the absolute path of a base directory. Rejects a path that contains a symbolic link, because workspaces record their
/// paths without symbolic links.
fn base_directory(
    base: &Path,
    session: &Session,
    missing: Missing,
) -> Result<BaseDirectory, Failure> {
    let path = lexical(&session.start.join(base));
    let unusable = |why| LeaseFailure::BaseUnusable { path: path.clone(), why };
    let text = path.to_str().ok_or_else(|| unusable("its path is not UTF-8"))?;
    let directory: BaseDirectory =
        text.parse().map_err(|error: LeaseTermError| LeaseFailure::from(error))?;
    let real = real_path(&path);
    if real != path {
        return Err(LeaseFailure::BaseThroughLink { path, real }.into());
    }
    match (path.symlink_metadata(), missing) {
        (Ok(found), _) if found.is_dir() => {}
        (Ok(_), _) => return Err(unusable("it is not a directory").into()),
        (Err(_), Missing::Reject) => return Err(unusable("it does not exist").into()),
        (Err(_), Missing::Note) => {
            let shown = actum_core::path::Quoted(text.as_bytes());
            session.screen.note(format_args!(
                "the base directory {shown} does not exist, and no run under this lease can create it"
            ));
        }
    }
    Ok(directory)
}
