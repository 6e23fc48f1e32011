//! Policy in force for a decision: that of the operator and that of the workspace.
//!
//! Each file is a layer. A gate asks all layers and takes the strictest answer, so another layer can only
//! tighten the policy. Loosening rules count only if they are the operator's, or of a workspace that the
//! operator trusts. Command rules can also allow, so a layer marks those that only tighten.

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

/// Whole policy in force, as a document that is kept. Each receipt has its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    format: String,
    /// Profiles in force. The protected path groups are those of all of them.
    profiles: BTreeSet<Profile>,
    /// Exact paths that the operator excludes from these groups in the profile `interactive`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    except: BTreeSet<RelPath>,
    layers: Vec<Layer>,
    /// Digests of contents that look like credentials and are not, or need not be secret.
    credentials: BTreeSet<Digest>,
    /// Files of access policies, by name; `None` without such files.
    access: Option<Vec<AccessText>>,
}

/// Rules of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Source of the file.
    pub source: Source,
    /// Directory of an enclosing policy, to which its rules are relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Paths that no change may touch, in addition to those of the profiles.
    pub protected: Vec<PathRule>,
    /// Scope of changes.
    pub scope: Scope,
    /// Budget of changes.
    pub budget: Budget,
    /// Rules that raise the risk tier.
    pub tiers: Vec<TierRule>,
    /// Command rules.
    pub commands: LayerCommands,
    /// Kinds of requests that need a lease.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lease: BTreeSet<LeasedWork>,
    /// Maximum number of rows that the SQL steps of a plan may change without an approval; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
}

/// Trust of the operator in a policy's loosening rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Trusted: the loosening rules of the policy's current content count.
    Trusted,
    /// Untrusted: the policy only tightens.
    Untrusted,
}

/// Loosening rule of a workspace policy that has no effect until it is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// Profile that protects less.
    Profile(Profile),
    /// Number of allowed contents that look like credentials.
    Credentials(usize),
    /// Number of rules that allow commands.
    Commands(usize),
}

impl Layer {
    /// Returns the roots to which its rules are relative, each as the number of names that lead to it. A
    /// workspace policy only uses the root of the workspace. The operator's policy also uses the enclosing
    /// roots.
    pub(crate) fn roots(&self, bundle: &Bundle, above: &Above<'_>) -> Vec<usize> {
        let own = above.names.len();
        match self.source {
            Source::System | Source::Operator => {
                above.enclosing.iter().copied().chain([own]).collect()
            }
            Source::Workspace => vec![own],
            // A directory outside the enclosing ones could only loosen what is left out.
            Source::Enclosing => {
                let root = self.root.as_deref().and_then(|root| bundle.depth_of(root));
                vec![root.unwrap_or(own)]
            }
        }
    }

    /// Returns a rule of the layer in the form that is compared with the paths of a change.
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
    /// Returns the policy in force if no policy file exists.
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
    /// Value of `format`.
    pub const FORMAT: &str = "actum.policy/3";

    /// Combines these files into a policy, and returns the parts that have no effect.
    pub fn new(
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

    /// Adds a policy that only tightens: that of the machine's administrator, or one named in the operator's
    /// environment.
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

    /// Adds the policies of enclosing directories, which only tighten, each with its directory.
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

    /// Adds the operator's access policies. Without a file they are not in force. With one, a change that no
    /// policy permits is denied.
    #[must_use]
    pub fn with_access(mut self, mut texts: Vec<AccessText>) -> Self {
        texts.sort_by(|one, other| one.name.cmp(&other.name));
        self.access = Some(texts).filter(|texts| !texts.is_empty());
        self
    }

    /// Adds the protected paths of a profile.
    #[must_use]
    pub fn guarding(mut self, profile: Profile) -> Self {
        self.profiles.insert(profile);
        self
    }

    /// Adds protected paths of the operator that are not in a file.
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

    /// Returns true if a rule depends on the root to which paths are relative. Only rules of the machine, the
    /// operator and enclosing directories are considered.
    pub fn counts_from_roots(&self) -> bool {
        let says = |layer: &Layer| {
            let Layer { protected, scope, budget, tiers, .. } = layer;
            let is_plain = protected.is_empty() && tiers.is_empty();
            !is_plain || *scope != Scope::everything() || *budget != Budget::default()
        };
        let mut layers = self.layers.iter().filter(|layer| layer.source != Source::Workspace);
        self.access.is_some() || layers.any(says)
    }

    /// Returns the files of access policies, if there are any.
    pub fn access(&self) -> Option<&[AccessText]> {
        self.access.as_deref()
    }

    /// Returns the protected path groups, each once.
    pub fn protected_groups(&self) -> impl Iterator<Item = &'static ProtectedGroup> {
        PROTECTED_GROUPS.iter().filter(|group| self.protects(group))
    }

    /// Returns true if a group is protected.
    pub fn protects(&self, group: &ProtectedGroup) -> bool {
        group.profiles.iter().any(|profile| self.profiles.contains(profile))
    }

    /// Returns the exact paths that the operator excludes from all built-in groups. It is empty if any
    /// profile other than
    /// `interactive` is in force, even in addition.
    pub fn exceptions(&self) -> impl Iterator<Item = &RelPath> {
        let is_interactive = self.profiles.iter().eq([&Profile::Interactive]);
        self.except.iter().filter(move |_| is_interactive)
    }

    /// Returns the profiles in force.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        self.profiles.iter().copied()
    }

    /// Returns the digests of contents that look like credentials and are allowed in files.
    pub fn credentials(&self) -> &BTreeSet<Digest> {
        &self.credentials
    }

    /// Returns the rules of each file.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Serialises the policy as canonical JSON.
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
