//! Policy file `actum.toml`.

use std::collections::BTreeSet;

use actum_core::canonical::COUNT_MAX;
use actum_core::{Budget, Digest, PathRule, RelPath, RiskTier, Scope};
use actum_record::ledger::Retention;
use actum_record::receipt::EffectKind;

use super::diagnostic::Diagnostic;
use super::exception::{self, NoException};
use super::lease::LeasedWork;
use super::pipeline::DeclaredPipeline;
use super::plugins::PluginAllowance;
use super::profile::Profile;
use super::sandbox::SandboxAllowance;
use super::sql::SqlSettings;
use super::tasks::TaskEnvelopes;
use super::tier_rule::{ExampleError, TierRule};
use super::written::{Secret, Table, Text, Value};
use super::{Layer, LayerCommands, Source, command, ledger, retention};
use crate::command::CommandRules;

/// Maximum size of a file, in bytes.
pub const POLICY_BYTES_MAX: u64 = 1 << 20;
/// Maximum number of rules of each kind in one file.
pub(super) const RULES_MAX: usize = 10_000;
/// Version of the file format that this program knows.
const VERSION: i64 = 1;
/// Maximum number of paths in one tier rule.
const RULE_PATHS_MAX: usize = 200;
/// Maximum number of examples of each kind in one tier rule.
const EXAMPLES_MAX: usize = 20;
/// Maximum length of a rule's reason, in bytes; receipts contain it.
const WHY_BYTES_MAX: usize = 1000;
/// Effects that a rule can have.
const EFFECTS: [EffectKind; 8] = [
    EffectKind::Created,
    EffectKind::Modified,
    EffectKind::Renamed,
    EffectKind::Mode,
    EffectKind::Attributes,
    EffectKind::Deleted,
    EffectKind::DirectoryCreated,
    EffectKind::DirectoryRemoved,
];

/// Content of one policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// Profile, if set.
    pub profile: Option<Profile>,
    protected: Vec<PathRule>,
    /// Exact paths that built-in rules do not protect.
    pub except: Vec<RelPath>,
    scope: Scope,
    budget: Budget,
    tiers: Vec<TierRule>,
    commands: CommandRules,
    pub(super) credentials: Vec<Digest>,
    /// Command that notifies the operator of a pending plan, with its arguments.
    pub notify: Option<Vec<String>>,
    /// Additional sandbox permissions of commands.
    pub sandbox: SandboxAllowance,
    /// Permission to run the code of plugin packages.
    pub plugins: PluginAllowance,
    /// Absolute paths of directories in which a workspace may be created even though programs act on their content.
    pub roots: Vec<String>,
    /// History to keep.
    pub retention: Option<Retention>,
    /// Maximum size of the ledger in bytes; a full ledger accepts no new entries.
    pub ledger_bytes: Option<u64>,
    /// Accepted task envelopes.
    pub task_envelopes: TaskEnvelopes,
    /// Kinds of requests that need a lease.
    lease: BTreeSet<LeasedWork>,
    /// Absolute paths of the directories for file tasks (FE-6).
    pub base_directories: Vec<String>,
    /// Pipelines that task plans may run.
    pub pipelines: Vec<DeclaredPipeline>,
    /// Library and limits of SQL steps.
    pub sql: SqlSettings,
    /// Maximum number of rows that the SQL steps of a plan may change without an approval; no limit if absent.
    sql_rows: Option<u64>,
}

/// Error of an invalid policy file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFileError {
    /// Larger than [`POLICY_BYTES_MAX`].
    #[error("it is {bytes} bytes long, but a policy may have at most {POLICY_BYTES_MAX}")]
    TooLong {
        /// Size of the file.
        bytes: u64,
    },
    /// Not UTF-8 text.
    #[error("it is no UTF-8 text")]
    NoText,
    /// Not TOML, or not a valid policy.
    #[error(transparent)]
    Malformed(#[from] Diagnostic),
    /// Missing version.
    #[error("it does not say its version; begin it with `version = {VERSION}`")]
    NoVersion,
    /// Later version, whose rules this program would overlook.
    #[error(
        "it is of version {version}, and this program knows version {VERSION}; a newer actum reads it"
    )]
    Newer {
        /// Version of the file.
        version: i64,
    },
    /// Version that does not exist.
    #[error("there is no version {version}; this program knows version {VERSION}")]
    NoSuchVersion {
        /// Version of the file.
        version: i64,
    },
    /// Too many rules.
    #[error("it has {rules} rules under `{kind}`, and {RULES_MAX} is the most")]
    TooMany {
        /// Key of the rules.
        kind: &'static str,
        /// Number of rules.
        rules: usize,
    },
    /// Limit that no document can hold.
    #[error("the limit {limit} is beyond {COUNT_MAX}; leave it out for no limit")]
    Limit {
        /// Value of the limit.
        limit: u64,
    },
    /// Tier rule without a path.
    #[error("the rule {number} under `[[tier]]` names no path")]
    NoPaths {
        /// Number of the rule, counted from 1.
        number: usize,
    },
    /// Tier rule without a valid reason, which an approver needs.
    #[error("the rule {number} under `[[tier]]` does not say `why` in 1 to {WHY_BYTES_MAX} bytes")]
    NoWhy {
        /// Number of the rule, counted from 1.
        number: usize,
    },
    /// Tier rule that is too long to read, or to check quickly.
    #[error(
        "the rule {number} under `[[tier]]` is too long: it has at most {RULE_PATHS_MAX} paths, and \
         {EXAMPLES_MAX} examples of each kind; write several rules"
    )]
    LongRule {
        /// Number of the rule, counted from 1.
        number: usize,
    },
    /// Tier rule that does not match its examples.
    #[error("the rule {number} under `[[tier]]` does not match its examples: {problem}")]
    Example {
        /// Number of the rule, counted from 1.
        number: usize,
        /// Problem of the example.
        problem: ExampleError,
    },
}

impl PolicyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`PolicyFileError`]. No part of such a file applies, and nothing may be done under it.
    pub fn read(bytes: &[u8]) -> Result<Self, PolicyFileError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > POLICY_BYTES_MAX {
            return Err(PolicyFileError::TooLong { bytes: length });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PolicyFileError::NoText)?;
        let text = Text::new(text);
        let parsed = text.parse()?;
        let root = text.root(&parsed);
        // Check the version first: a newer one may allow what this one rejects.
        match root.get("version").map(|version| version.whole()).transpose()? {
            None => return Err(PolicyFileError::NoVersion),
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(PolicyFileError::Newer { version }),
            Some(version) => return Err(PolicyFileError::NoSuchVersion { version }),
        }
        root.only(
            &[
                "version",
                "protected",
                "scope",
                "budget",
                "tier",
                "command",
                "credentials",
                "approvals",
                "sandbox",
                "plugins",
                "workspaces",
                "retention",
                "ledger",
                "tasks",
                "lease",
                "file",
                "pipeline",
                "sql",
            ],
            Secret::No,
        )?;
        let (profile, protected, except) = protected(root.table("protected")?)?;
        let scope = scope(root.table("scope")?)?;
        let budget = budget(root.table("budget")?)?;
        let tiers: Vec<TierRule> =
            root.tables("tier")?.iter().map(tier).collect::<Result<_, _>>()?;
        let commands = command::rules(&root)?;
        let credentials = credentials(root.table("credentials")?)?;
        let notify = notify(root.table("approvals")?)?;
        let sandbox = SandboxAllowance::read(root.table("sandbox")?)?;
        let plugins = PluginAllowance::read(root.table("plugins")?)?;
        let roots = workspaces(root.table("workspaces")?)?;
        let retention = retention::read(root.table("retention")?)?;
        let ledger_bytes = ledger::read(root.table("ledger")?)?;
        let task_envelopes = TaskEnvelopes::read(root.table("tasks")?)?;
        let lease = LeasedWork::read(root.table("lease")?)?;
        let base_directories = base_directories(root.table("file")?)?;
        let pipelines = DeclaredPipeline::read_all(&root)?;
        let (sql, sql_rows) = SqlSettings::read(root.table("sql")?)?;
        let passed = [
            ("file.base_directories", base_directories.len()),
            ("sandbox.read", sandbox.read.len()),
            ("sandbox.write", sandbox.write.len()),
            ("sandbox.exec", sandbox.exec.len()),
            ("sandbox.env", sandbox.env.len()),
            ("sandbox.caches", sandbox.caches.len()),
            ("sandbox.limits", sandbox.limits.len()),
            ("workspaces.roots", roots.len()),
        ];
        let Budget { max_files, max_loc } = budget;
        if let Some(limit) = [max_files, max_loc].into_iter().flatten().find(|it| *it > COUNT_MAX) {
            return Err(PolicyFileError::Limit { limit });
        }
        let allowed = scope.allow.as_ref().map_or(0, Vec::len);
        let counts = [
            ("protected.paths", protected.len()),
            ("protected.except", except.len()),
            ("scope.allow", allowed),
            ("scope.deny", scope.deny.len()),
            ("[[tier]]", tiers.len()),
            ("credentials.allow", credentials.len()),
        ];
        if let Some((kind, rules)) =
            counts.into_iter().chain(passed).find(|(_, count)| *count > RULES_MAX)
        {
            return Err(PolicyFileError::TooMany { kind, rules });
        }
        for (rule, number) in tiers.iter().zip(1..) {
            if rule.paths.is_empty() {
                return Err(PolicyFileError::NoPaths { number });
            }
            if rule.why.is_empty() || rule.why.len() > WHY_BYTES_MAX {
                return Err(PolicyFileError::NoWhy { number });
            }
            let examples = rule.matches.len().max(rule.not_matches.len());
            if rule.paths.len() > RULE_PATHS_MAX || examples > EXAMPLES_MAX {
                return Err(PolicyFileError::LongRule { number });
            }
            let checked = rule.check_examples();
            checked.map_err(|problem| PolicyFileError::Example { number, problem })?;
        }
        Ok(Self {
            profile,
            protected,
            except,
            scope,
            budget,
            tiers,
            commands,
            credentials,
            notify,
            sandbox,
            plugins,
            roots,
            retention,
            ledger_bytes,
            task_envelopes,
            lease,
            base_directories,
            pipelines,
            sql,
            sql_rows,
        })
    }

    /// Returns a policy file without any setting.
    pub(super) fn empty() -> Self {
        Self {
            profile: None,
            protected: Vec::new(),
            except: Vec::new(),
            scope: Scope::everything(),
            budget: Budget::default(),
            tiers: Vec::new(),
            commands: CommandRules::default(),
            credentials: Vec::new(),
            notify: None,
            sandbox: SandboxAllowance::default(),
            plugins: PluginAllowance::default(),
            roots: Vec::new(),
            retention: None,
            ledger_bytes: None,
            task_envelopes: TaskEnvelopes::default(),
            lease: BTreeSet::new(),
            base_directories: Vec::new(),
            pipelines: Vec::new(),
            sql: SqlSettings::default(),
            sql_rows: None,
        }
    }

    /// Returns the keys that loosen the rules that apply without a policy.
    pub fn loosening(&self) -> impl Iterator<Item = &'static str> {
        let is_weaker = |profile: Profile| !profile.protects_all_of(Profile::default());
        let is_shorter = |kept: Retention| kept.longer(Retention::default()) != kept;
        let all = [
            (self.profile.is_some_and(is_weaker), "protected.profile"),
            (!self.except.is_empty(), "protected.except"),
            (!self.credentials.is_empty(), "credentials"),
            (self.commands.allow_some(), "command"),
            (self.retention.is_some_and(is_shorter), "retention"),
        ];
        all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key)
    }

    pub(super) fn layer(self, source: Source) -> Layer {
        let Self { protected, scope, budget, tiers, commands, lease, sql_rows, .. } = self;
        let commands = LayerCommands { rules: commands, narrowing: CommandRules::default() };
        Layer { source, root: None, protected, scope, budget, tiers, commands, lease, sql_rows }
    }
}

fn workspaces(table: Option<Table<'_>>) -> Result<Vec<String>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["roots"], Secret::No)?;
    Ok(table.list("roots", "paths", absolute)?.unwrap_or_default())
}

/// Reads the base directories of file tasks.
fn base_directories(table: Option<Table<'_>>) -> Result<Vec<String>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["base_directories"], Secret::No)?;
    Ok(table.list("base_directories", "paths", absolute)?.unwrap_or_default())
}

/// Reads an absolute path other than `/`.
pub(super) fn absolute(value: &Value<'_>) -> Result<String, Diagnostic> {
    match value.text("a path, which is a text")? {
        path if path.starts_with('/') && path.len() > 1 => Ok(path.to_owned()),
        other => Err(value.other_than("an absolute path".to_owned(), format!("`{other}`"))),
    }
}

fn patterns(table: &Table<'_>, key: &str) -> Result<Option<Vec<PathRule>>, Diagnostic> {
    table.list(key, "patterns", Value::pattern)
}

/// Profile, protected path rules and exceptions.
type Protected = (Option<Profile>, Vec<PathRule>, Vec<RelPath>);

fn protected(table: Option<Table<'_>>) -> Result<Protected, Diagnostic> {
    let Some(table) = table else { return Ok((None, Vec::new(), Vec::new())) };
    table.only(&["profile", "paths", "except"], Secret::No)?;
    let profile = table.get("profile").map(|it| it.one_of(&Profile::ALL, Profile::as_str));
    let profile = profile.transpose()?;
    let paths = patterns(&table, "paths")?.unwrap_or_default();
    let except = table.list("except", "paths", |path| exception::read(path, &paths))?;
    match (profile, table.get("except")) {
        (None | Some(Profile::Interactive), _) | (_, None) => {}
        (Some(profile), Some(value)) => {
            return Err(value.unusable(&NoException::Profile { profile }));
        }
    }
    Ok((profile, paths, except.unwrap_or_default()))
}

fn scope(table: Option<Table<'_>>) -> Result<Scope, Diagnostic> {
    let Some(table) = table else { return Ok(Scope::everything()) };
    table.only(&["allow", "deny"], Secret::No)?;
    let (allow, deny) = (patterns(&table, "allow")?, patterns(&table, "deny")?);
    Ok(Scope { allow, deny: deny.unwrap_or_default() })
}

fn budget(table: Option<Table<'_>>) -> Result<Budget, Diagnostic> {
    let Some(table) = table else { return Ok(Budget::unlimited()) };
    table.only(&["max_files", "max_loc"], Secret::No)?;
    let limit = |key| table.get(key).map(|limit| limit.count()).transpose();
    Ok(Budget { max_files: limit("max_files")?, max_loc: limit("max_loc")? })
}

fn tier(table: &Table<'_>) -> Result<TierRule, Diagnostic> {
    table.only(&["tier", "paths", "effects", "why", "match", "not_match"], Secret::No)?;
    let examples = |key| -> Result<Vec<String>, Diagnostic> {
        let paths =
            table.list(key, "paths", |path| Ok(path.text("a path, which is a text")?.to_owned()));
        Ok(paths?.unwrap_or_default())
    };
    let effect = |it: &Value<'_>| it.one_of(&EFFECTS, EffectKind::as_str);
    Ok(TierRule {
        tier: table.need("tier")?.one_of(&RiskTier::ALL, RiskTier::as_str)?,
        paths: table.need("paths")?.list("patterns", Value::pattern)?,
        effects: table.list("effects", "effects", effect)?.unwrap_or_default(),
        why: table.need("why")?.text("a text")?.to_owned(),
        matches: examples("match")?,
        not_matches: examples("not_match")?,
    })
}

/// Reads a command with an absolute path, so that its caller cannot redirect a search for it.
fn notify(table: Option<Table<'_>>) -> Result<Option<Vec<String>>, Diagnostic> {
    let Some(table) = table else { return Ok(None) };
    table.only(&["notify"], Secret::No)?;
    let Some(value) = table.get("notify") else { return Ok(None) };
    let argument = |it: &Value<'_>| Ok(it.text("an argument, which is a text")?.to_owned());
    let command: Vec<String> = value.list("arguments", argument)?;
    match command.first() {
        Some(program) if program.starts_with('/') => Ok(Some(command)),
        Some(_) | None => {
            let expected = "a command whose first word is an absolute path".to_owned();
            Err(value.other_than(expected, "another list".to_owned()))
        }
    }
}

/// Reads digests. A text that is not a digest is not repeated in the message, so that a secret pasted by
/// mistake does not appear in a log.
fn credentials(table: Option<Table<'_>>) -> Result<Vec<Digest>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["allow"], Secret::Perhaps)?;
    let digest = |it: &Value<'_>| {
        let text = it.text("a digest, which is a text")?;
        text.parse().map_err(|_| {
            let expected = "a digest of 64 hexadecimal characters".to_owned();
            it.other_than(
                expected,
                "another text, which is not shown as it could be a secret".to_owned(),
            )
        })
    };
    Ok(table.list("allow", "digests", digest)?.unwrap_or_default())
}
