//! What is in force where a decision is made: the operator's policy, and that of the workspace.
//!
//! Each file is a layer. A gate asks all layers and takes the strictest answer, so that another layer
//! can only narrow what may be done. What would widen it counts from the operator alone, and from a
//! workspace that the operator trusts: of rules about commands, which allow as well, a layer says which of
//! them only narrow.

mod command;
mod diagnostic;
mod exception;
mod expectation;
mod file;
mod lease;
mod ledger;
mod pipeline;
mod plugins;
mod profile;
mod retention;
mod sandbox;
mod sql;
mod suggest;
mod tasks;
mod tier_rule;
mod written;

use std::collections::BTreeSet;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Budget, Digest, PathRule, RelPath, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::AccessText;
use crate::decision::Bundle;
use crate::document::{self, DocumentError};
use crate::spelling::{Above, Guard, GuardKind};

pub use crate::source::Source;

pub use command::LayerCommands;
pub use diagnostic::{Diagnostic, MistakeProblem};
pub use exception::NoException;
pub use expectation::{ExpectedCase, PolicyTest, PolicyTestError, expected_word};
pub use file::{POLICY_BYTES_MAX, PolicyFile, PolicyFileError};
pub use lease::LeasedWork;
pub use pipeline::{Argument, DeclaredPipeline, ParameterError, ParameterRule, ParameterValues};
pub use plugins::PluginAllowance;
pub use profile::{Exceptions, PROTECTED_GROUPS, Profile, ProtectedGroup};
pub(crate) use profile::{groups_below, groups_covering};
pub use sandbox::SandboxAllowance;
pub use sql::{PinnedLibrary, SqlSettings};
pub use suggest::Addition;
pub use tasks::TaskEnvelopes;
pub use tier_rule::{BUILT_IN, BuiltIn, BuiltInPaths, TierRule};

/// All that is in force, as a document that is kept. Its digest stands in every receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    format: String,
    /// Which groups of paths are protected: those of all these profiles.
    profiles: BTreeSet<Profile>,
    /// Exact paths that the operator excepts from these groups in the profile `interactive`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    except: BTreeSet<RelPath>,
    layers: Vec<Layer>,
    /// What looks like a credential and is none, or may be known, by digest.
    credentials: BTreeSet<Digest>,
    /// Files of access policies, by name; nothing where there are none.
    access: Option<Vec<AccessText>>,
}

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Where it is from.
    pub source: Source,
    /// The directory that an enclosing policy lies in, which its rules count from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Paths that no change may touch, besides those of the profiles.
    pub protected: Vec<PathRule>,
    /// Where changes may be made.
    pub scope: Scope,
    /// How large they may be.
    pub budget: Budget,
    /// What is of a higher tier than it would be.
    pub tiers: Vec<TierRule>,
    /// Which commands may run.
    pub commands: LayerCommands,
    /// Requests that need a lease.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lease: BTreeSet<LeasedWork>,
    /// Rows that the SQL steps of a plan may change without an approval; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
}

/// Whether what a policy widens counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It does: the operator trusts the policy as it is now.
    Trusted,
    /// The policy only narrows.
    Untrusted,
}

/// What a workspace's policy asks for and does not get before it is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// A profile that protects less.
    Profile(Profile),
    /// Contents that look like credentials.
    Credentials(usize),
    /// Rules that allow commands.
    Commands(usize),
}

impl Layer {
    /// The roots that its rules count from, by how many names lead to each: the workspace's own is that of a
    /// workspace's policy, and for the operator's those around it count as well.
    pub(crate) fn roots(&self, bundle: &Bundle, above: &Above<'_>) -> Vec<usize> {
        let own = above.names.len();
        match self.source {
            Source::System | Source::Operator => {
                above.enclosing.iter().copied().chain([own]).collect()
            }
            Source::Workspace => vec![own],
            // A directory that is none of those around it could only widen what is left out.
            Source::Enclosing => {
                let root = self.root.as_deref().and_then(|root| bundle.depth_of(root));
                vec![root.unwrap_or(own)]
            }
        }
    }

    /// A rule of it, as it is compared with the paths of a change.
    pub(crate) fn guard(&self, rule: &PathRule, bundle: &Bundle) -> Guard {
        let root = match self.source {
            Source::System | Source::Operator => None,
            Source::Workspace => bundle.depth_of(bundle.root()),
            Source::Enclosing => self.root.as_deref().and_then(|root| bundle.depth_of(root)),
        };
        Guard::of_kind(rule, root.map_or(GuardKind::Directory, GuardKind::At))
    }
}

impl std::fmt::Display for Ignored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Profile(profile) => {
                write!(
                    f,
                    "the profile `{profile}` in the place of the one in force, to which it is added"
                )
            }
            Self::Credentials(1) => write!(f, "a content that looks like a credential"),
            Self::Credentials(count) => {
                write!(f, "{count} contents that look like credentials")
            }
            Self::Commands(1) => write!(f, "a rule that allows commands"),
            Self::Commands(count) => write!(f, "{count} rules that allow commands"),
        }
    }
}

impl Default for Policy {
    /// What is in force where nobody wrote a policy.
    fn default() -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            profiles: BTreeSet::from([Profile::default()]),
            except: BTreeSet::new(),
            layers: Vec::new(),
            credentials: BTreeSet::new(),
            access: None,
        }
    }
}

impl Policy {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.policy/3";

    /// What is in force with these files, and what of them does not count.
    pub fn of(
        operator: Option<PolicyFile>,
        workspace: Option<(PolicyFile, Trust)>,
    ) -> (Self, Vec<Ignored>) {
        let mut ignored = Vec::new();
        let base = operator.as_ref().and_then(|file| file.profile).unwrap_or_default();
        let profiles =
            match workspace.as_ref().and_then(|(file, trust)| Some((file.profile?, *trust))) {
                None => BTreeSet::from([base]),
                Some((own, Trust::Trusted)) => BTreeSet::from([own]),
                Some((own, Trust::Untrusted)) => {
                    if !own.protects_all_of(base) {
                        ignored.push(Ignored::Profile(own));
                    }
                    BTreeSet::from([base, own])
                }
            };
        let mut credentials = BTreeSet::new();
        credentials.extend(operator.iter().flat_map(|file| file.credentials.iter().copied()));
        match &workspace {
            Some((file, Trust::Trusted)) => credentials.extend(&file.credentials),
            Some((file, Trust::Untrusted)) if !file.credentials.is_empty() => {
                ignored.push(Ignored::Credentials(file.credentials.len()));
            }
            Some(_) | None => {}
        }
        let except = operator.iter().flat_map(|file| file.except.iter().cloned()).collect();
        let operator = operator.map(|file| file.layer(Source::Operator));
        let workspace = workspace.map(|(file, trust)| {
            let mut layer = file.layer(Source::Workspace);
            if trust == Trust::Untrusted {
                ignored.extend(layer.commands.narrow());
            }
            layer
        });
        let layers = operator.into_iter().chain(workspace).collect();
        (Self { profiles, except, layers, credentials, ..Self::default() }, ignored)
    }

    /// Adds a policy that only tightens: that of the machine's administrator, or one that the operator's environment
    /// names.
    #[must_use]
    pub fn tightened(mut self, source: Source, file: Option<PolicyFile>) -> Self {
        if let Some(file) = file {
            self.profiles.extend(file.profile);
            let mut layer = file.layer(source);
            let _loosening = layer.commands.narrow();
            self.layers.insert(0, layer);
        }
        self
    }

    /// The same below the policies of enclosing directories, which only narrow: each with the directory that it lies
    /// in.
    #[must_use]
    pub fn enclosed(mut self, files: Vec<(PolicyFile, String)>) -> Self {
        for (file, root) in files {
            self.profiles.extend(file.profile);
            let mut layer = file.layer(Source::Enclosing);
            let _widening = layer.commands.narrow();
            layer.root = Some(root);
            self.layers.push(layer);
        }
        self
    }

    /// The same with the operator's access policies. Where there is no file of them they are not in force; where
    /// there is one, what no policy permits is denied.
    #[must_use]
    pub fn with_access(mut self, mut texts: Vec<AccessText>) -> Self {
        texts.sort_by(|one, other| one.name.cmp(&other.name));
        self.access = Some(texts).filter(|texts| !texts.is_empty());
        self
    }

    /// The same where what a profile protects is protected besides.
    #[must_use]
    pub fn guarding(mut self, profile: Profile) -> Self {
        self.profiles.insert(profile);
        self
    }

    /// The same where the operator protects more paths than are written down.
    #[must_use]
    pub fn protecting(mut self, rules: Vec<PathRule>) -> Self {
        if rules.is_empty() {
            return self;
        }
        if self.layers.first().is_none_or(|layer| layer.source != Source::Operator) {
            self.layers.insert(0, PolicyFile::empty().layer(Source::Operator));
        }
        if let Some(operator) = self.layers.first_mut() {
            operator.protected.extend(rules);
        }
        self
    }

    /// Whether the machine's or the operator's rules, or those of enclosing directories, say anything that depends on the
    /// root from which paths are compared.
    pub fn counts_from_roots(&self) -> bool {
        let says = |layer: &Layer| {
            let Layer { protected, scope, budget, tiers, .. } = layer;
            let is_plain = protected.is_empty() && tiers.is_empty();
            !is_plain || *scope != Scope::everything() || *budget != Budget::default()
        };
        let mut layers = self.layers.iter().filter(|layer| layer.source != Source::Workspace);
        self.access.is_some() || layers.any(says)
    }

    /// Files of access policies, where there are any.
    pub fn access(&self) -> Option<&[AccessText]> {
        self.access.as_deref()
    }

    /// The groups of paths that are protected, each once.
    pub fn protected_groups(&self) -> impl Iterator<Item = &'static ProtectedGroup> {
        PROTECTED_GROUPS.iter().filter(|group| self.protects(group))
    }

    /// Whether a group is protected.
    pub fn protects(&self, group: &ProtectedGroup) -> bool {
        group.profiles.iter().any(|profile| self.profiles.contains(profile))
    }

    /// Exact paths that no built-in group protects, as the operator excepts them. Empty where another profile than
    /// `interactive` is in force, be it besides.
    pub fn exceptions(&self) -> impl Iterator<Item = &RelPath> {
        let is_interactive = self.profiles.iter().eq([&Profile::Interactive]);
        self.except.iter().filter(move |_| is_interactive)
    }

    /// The profiles in force.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        self.profiles.iter().copied()
    }

    /// What looks like a credential and may stand in files.
    pub fn credentials(&self) -> &BTreeSet<Digest> {
        &self.credentials
    }

    /// What each file says.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The canonical JSON of the policy.
    ///
    /// # Errors
    /// `Number` for a limit beyond 2^53 − 1, which no file can have.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Reads the canonical bytes of a policy.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        document::read("the policy", bytes, version, Self::FORMAT.to_owned())
    }
}
