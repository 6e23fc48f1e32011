//! Reads the policy file `actum.toml`.

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

/// Maximum size of a policy file, in bytes.
pub const POLICY_BYTES_MAX: u64 = 1 << 20;
/// Maximum number of rules of each kind in one policy file.
pub(super) const RULES_MAX: usize = 10_000;
/// Version of the policy file format that this program supports.
const VERSION: i64 = 1;
/// Maximum number of paths in one tier rule.
const RULE_PATHS_MAX: usize = 200;
/// Maximum number of examples of each kind in one tier rule.
const EXAMPLES_MAX: usize = 20;
/// Maximum length of the reason of a tier rule, in bytes. The limit is low because receipts contain the reason.
const WHY_BYTES_MAX: usize = 1000;
/// Effects that the `effects` key of a tier rule accepts.
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

/// Settings and rules of one policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// Profile of protected paths, or `None` if the file does not set one.
    pub profile: Option<Profile>,
    protected: Vec<PathRule>,
    /// Exact paths that are exempt from the built-in protection rules.
    pub except: Vec<RelPath>,
    scope: Scope,
    budget: Budget,
    tiers: Vec<TierRule>,
    commands: CommandRules,
    pub(super) credentials: Vec<Digest>,
    /// Command, with its arguments, that notifies the operator of a pending plan.
    pub notify: Option<Vec<String>>,
    /// Additional permissions that commands have in the sandbox.
    pub sandbox: SandboxAllowance,
    /// Permission to run the code of plugin packages.
    pub plugins: PluginAllowance,
    /// Absolute paths of directories where a workspace may be created even though programs act on their
    /// content.
    pub roots: Vec<String>,
    /// Amount of history to keep, or `None` if the file does not set it.
    pub retention: Option<Retention>,
    /// Maximum size of the ledger, in bytes. A ledger that reaches this size accepts no new entries.
    pub ledger_bytes: Option<u64>,
    /// Kind of task envelopes that `actum run` accepts.
    pub task_envelopes: TaskEnvelopes,
    /// Kinds of requests that need a lease.
    lease: BTreeSet<LeasedWork>,
    /// Absolute paths of the base directories for file tasks (FE-6).
    pub base_directories: Vec<String>,
    /// Pipelines that task plans may run.
    pub pipelines: Vec<DeclaredPipeline>,
    /// DuckDB library and limits for SQL steps.
    pub sql: SqlSettings,
    /// Maximum number of rows that the SQL steps of a plan may change without an approval, or `None` for no
    /// limit.
    sql_rows: Option<u64>,
}

/// Reason why a policy file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFileError {
    /// The file is larger than [`POLICY_BYTES_MAX`].
    #[error(
        "the file is {bytes} bytes long, but a policy may have at most {POLICY_BYTES_MAX} bytes"
    )]
    TooLong {
        /// Size of the file, in bytes.
        bytes: u64,
    },
    /// The file is not valid UTF-8.
    #[error("the file is not valid UTF-8")]
    NoText,
    /// The file is not valid TOML, or not a valid policy.
    #[error(transparent)]
    Malformed(#[from] Diagnostic),
    /// The file does not state its version.
    #[error("the policy has no version; start the file with `version = {VERSION}`")]
    NoVersion,
    /// The file has a later version and may contain rules that this program would ignore.
    #[error(
        "the policy has version {version}, but this program only supports version {VERSION}; use a newer actum"
    )]
    Newer {
        /// Version that the file states.
        version: i64,
    },
    /// The file states a version that does not exist.
    #[error("unknown policy version {version}; this program supports version {VERSION}")]
    NoSuchVersion {
        /// Version that the file states.
        version: i64,
    },
    /// The file has too many rules of one kind.
    #[error("the policy has {rules} rules under `{kind}`, but at most {RULES_MAX} are allowed")]
    TooMany {
        /// Key that the rules are listed under.
        kind: &'static str,
        /// Number of rules under the key.
        rules: usize,
    },
    /// A limit is too large to be represented in canonical JSON.
    #[error("the limit {limit} exceeds the maximum of {COUNT_MAX}; omit it for no limit")]
    Limit {
        /// Value of the limit.
        limit: u64,
    },
    /// A tier rule has no paths.
    #[error("rule {number} under `[[tier]]` has no paths")]
    NoPaths {
        /// Number of the rule, starting at 1.
        number: usize,
    },
    /// A tier rule has no valid reason, which an approver needs.
    #[error("rule {number} under `[[tier]]` needs a `why` of 1 to {WHY_BYTES_MAX} bytes")]
    NoWhy {
        /// Number of the rule, starting at 1.
        number: usize,
    },
    /// A tier rule has too many paths or examples to be readable and quick to check.
    #[error(
        "rule {number} under `[[tier]]` is too long; split it into rules of at most {RULE_PATHS_MAX} paths and \
         {EXAMPLES_MAX} examples of each kind"
    )]
    LongRule {
        /// Number of the rule, starting at 1.
        number: usize,
    },
    /// A tier rule does not match its own examples.
    #[error("rule {number} under `[[tier]]` contradicts its examples: {problem}")]
    Example {
        /// Number of the rule, starting at 1.
        number: usize,
        /// Example that contradicts the rule.
        problem: ExampleError,
    },
}

impl PolicyFile {
    /// Reads a policy file.
    ///
    /// # Errors
    /// Returns [`PolicyFileError`] if the file is invalid. In this case no part of it applies, and no change
    /// may be made under it.
    pub fn read(bytes: &[u8]) -> Result<Self, PolicyFileError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > POLICY_BYTES_MAX {
            return Err(PolicyFileError::TooLong { bytes: length });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PolicyFileError::NoText)?;
        let text = Text::new(text);
        let parsed = text.parse()?;
        let root = text.root(&parsed);
        // Check the version first, because a newer version may allow keys that this one rejects.
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

    /// Returns a policy file without any settings.
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

    /// Returns the keys of this file that loosen the rules that apply without a policy.
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

/// Reads the base directories of file tasks from the `[file]` table.
fn base_directories(table: Option<Table<'_>>) -> Result<Vec<String>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["base_directories"], Secret::No)?;
    Ok(table.list("base_directories", "paths", absolute)?.unwrap_or_default())
}

/// Reads an absolute path, which must not be `/`.
pub(super) fn absolute(value: &Value<'_>) -> Result<String, Diagnostic> {
    match value.text("a path (a string)")? {
        path if path.starts_with('/') && path.len() > 1 => Ok(path.to_owned()),
        other => Err(value.other_than("an absolute path".to_owned(), format!("`{other}`"))),
    }
}

fn patterns(table: &Table<'_>, key: &str) -> Result<Option<Vec<PathRule>>, Diagnostic> {
    table.list(key, "patterns", Value::pattern)
}

/// Settings of the `[protected]` table: the profile, the protected path rules and the exempt paths.
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
        let paths = table.list(key, "paths", |path| Ok(path.text("a path (a string)")?.to_owned()));
        Ok(paths?.unwrap_or_default())
    };
    let effect = |it: &Value<'_>| it.one_of(&EFFECTS, EffectKind::as_str);
    Ok(TierRule {
        tier: table.need("tier")?.one_of(&RiskTier::ALL, RiskTier::as_str)?,
        paths: table.need("paths")?.list("patterns", Value::pattern)?,
        effects: table.list("effects", "effects", effect)?.unwrap_or_default(),
        why: table.need("why")?.text("a string")?.to_owned(),
        matches: examples("match")?,
        not_matches: examples("not_match")?,
    })
}

/// Reads the notification command. Its program must have an absolute path, so that the caller cannot influence
/// which program is found.
fn notify(table: Option<Table<'_>>) -> Result<Option<Vec<String>>, Diagnostic> {
    let Some(table) = table else { return Ok(None) };
    table.only(&["notify"], Secret::No)?;
    let Some(value) = table.get("notify") else { return Ok(None) };
    let argument = |it: &Value<'_>| Ok(it.text("an argument (a string)")?.to_owned());
    let command: Vec<String> = value.list("arguments", argument)?;
    match command.first() {
        Some(program) if program.starts_with('/') => Ok(Some(command)),
        Some(_) | None => {
            let expected = "a command whose first word is an absolute path".to_owned();
            Err(value.other_than(expected, "a list that does not start with one".to_owned()))
        }
    }
}

/// Reads the allowed credential digests. The error message does not repeat an invalid value, so that a secret
/// pasted by mistake does not appear in a log.
fn credentials(table: Option<Table<'_>>) -> Result<Vec<Digest>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["allow"], Secret::Perhaps)?;
    let digest = |it: &Value<'_>| {
        let text = it.text("a digest (a string)")?;
        text.parse().map_err(|_| {
            let expected = "a digest of 64 hexadecimal characters".to_owned();
            it.other_than(
                expected,
                "another string (not shown because it could be a secret)".to_owned(),
            )
        })
    };
    Ok(table.list("allow", "digests", digest)?.unwrap_or_default())
}
