//! The file that a policy is written in: `actum.toml`.

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

/// The longest file, in bytes.
pub const POLICY_BYTES_MAX: u64 = 1 << 20;
/// The most rules of each kind in one file.
pub(super) const RULES_MAX: usize = 10_000;
/// The version of the file that this program knows.
const VERSION: i64 = 1;
/// The most paths of one rule about tiers.
const RULE_PATHS_MAX: usize = 200;
/// The most examples of one rule, of each kind.
const EXAMPLES_MAX: usize = 20;
/// The longest reason of a rule, in bytes; it stands in receipts.
const WHY_BYTES_MAX: usize = 1000;
/// What a rule can be about.
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

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// The profile that it chooses.
    pub profile: Option<Profile>,
    protected: Vec<PathRule>,
    /// Exact paths that built-in rules do not protect.
    pub except: Vec<RelPath>,
    scope: Scope,
    budget: Budget,
    tiers: Vec<TierRule>,
    commands: CommandRules,
    pub(super) credentials: Vec<Digest>,
    /// The command that tells the operator of a plan that waits, with its arguments.
    pub notify: Option<Vec<String>>,
    /// What commands may see and pass through besides.
    pub sandbox: SandboxAllowance,
    /// Whether the code of plugin packages may be run.
    pub plugins: PluginAllowance,
    /// Absolute paths of directories in which a workspace may be made although programs act on what they hold.
    pub roots: Vec<String>,
    /// History that is kept.
    pub retention: Option<Retention>,
    /// The most bytes of the ledger before it takes nothing new.
    pub ledger_bytes: Option<u64>,
    /// Task envelopes that are accepted.
    pub task_envelopes: TaskEnvelopes,
    /// Requests that need a lease.
    lease: BTreeSet<LeasedWork>,
    /// Absolute paths of the directories in which file tasks act (FE-6).
    pub base_directories: Vec<String>,
    /// Pipelines that task plans may run.
    pub pipelines: Vec<DeclaredPipeline>,
    /// Library and limits of SQL steps.
    pub sql: SqlSettings,
    /// Rows that the SQL steps of a plan may change without an approval; no limit if absent.
    sql_rows: Option<u64>,
}

/// A file that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFileError {
    /// It is longer than [`POLICY_BYTES_MAX`].
    #[error("it is {bytes} bytes long, and a policy has at most {POLICY_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: u64,
    },
    /// It is no text.
    #[error("it is no UTF-8 text")]
    NoText,
    /// It is no TOML, or says what no policy says.
    #[error(transparent)]
    Malformed(#[from] Diagnostic),
    /// It does not say which version it is.
    #[error("it does not say its version; begin it with `version = {VERSION}`")]
    NoVersion,
    /// It is of a later version, whose rules this program would overlook.
    #[error(
        "it is of version {version}, and this program knows version {VERSION}; a newer actum reads it"
    )]
    Newer {
        /// Its version.
        version: i64,
    },
    /// There is no such version.
    #[error("there is no version {version}; this program knows version {VERSION}")]
    NoSuchVersion {
        /// Its version.
        version: i64,
    },
    /// It has too many rules.
    #[error("it has {rules} rules under `{kind}`, and {RULES_MAX} is the most")]
    TooMany {
        /// Where they stand.
        kind: &'static str,
        /// How many.
        rules: usize,
    },
    /// A limit that no document can hold.
    #[error("the limit {limit} is beyond {COUNT_MAX}; leave it out where there is none")]
    Limit {
        /// The limit.
        limit: u64,
    },
    /// A rule that speaks of nothing.
    #[error("the rule {number} under `[[tier]]` names no path")]
    NoPaths {
        /// Which rule, counted from 1.
        number: usize,
    },
    /// A person who is asked would not know why.
    #[error("the rule {number} under `[[tier]]` does not say `why` in 1 to {WHY_BYTES_MAX} bytes")]
    NoWhy {
        /// Which rule, counted from 1.
        number: usize,
    },
    /// More than anybody reads, and than can be tried in a moment.
    #[error(
        "the rule {number} under `[[tier]]` is too long: it has at most {RULE_PATHS_MAX} paths, and \
         {EXAMPLES_MAX} examples of each kind; write several rules"
    )]
    LongRule {
        /// Which rule, counted from 1.
        number: usize,
    },
    /// An example that is not as it says.
    #[error("the rule {number} under `[[tier]]` is not what its examples say: {problem}")]
    Example {
        /// Which rule, counted from 1.
        number: usize,
        /// The example.
        problem: ExampleError,
    },
}

impl PolicyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`PolicyFileError`]; nothing of such a file counts, and nothing may be done under it.
    pub fn read(bytes: &[u8]) -> Result<Self, PolicyFileError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > POLICY_BYTES_MAX {
            return Err(PolicyFileError::TooLong { bytes: length });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PolicyFileError::NoText)?;
        let text = Text::new(text);
        let parsed = text.parse()?;
        let root = text.root(&parsed);
        // A newer version may say what this one takes for a mistake.
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

    /// One that says nothing.
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

    /// The layer of what it says beside the profile.
    /// Keys that loosen the rules in force without a policy.
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

/// Base directories of file tasks.
fn base_directories(table: Option<Table<'_>>) -> Result<Vec<String>, Diagnostic> {
    let Some(table) = table else { return Ok(Vec::new()) };
    table.only(&["base_directories"], Secret::No)?;
    Ok(table.list("base_directories", "paths", absolute)?.unwrap_or_default())
}

/// An absolute path that is not `/`.
pub(super) fn absolute(value: &Value<'_>) -> Result<String, Diagnostic> {
    match value.text("a path, which is a text")? {
        path if path.starts_with('/') && path.len() > 1 => Ok(path.to_owned()),
        other => Err(value.other_than("an absolute path".to_owned(), format!("`{other}`"))),
    }
}

fn patterns(table: &Table<'_>, key: &str) -> Result<Option<Vec<PathRule>>, Diagnostic> {
    table.list(key, "patterns", Value::pattern)
}

/// Profile, rules and exceptions.
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

/// A command that is found by where it is, not by a search that its caller could lead elsewhere.
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

/// Of what looks like a digest and is none nothing is told: who pastes the secret itself is not to find it
/// in a log.
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
