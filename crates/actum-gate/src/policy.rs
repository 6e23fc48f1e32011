//! Policy in force for a decision, combined from the policies of the operator and of the workspace.
//!
//! Each file is a layer. A gate evaluates all layers and takes the strictest answer, so an additional layer can
//! only tighten the policy. Settings that loosen the rules take effect only if they are the operator's, or if
//! the operator trusts the workspace that sets them. Because command rules can also allow a command, a layer
//! marks those that may only restrict.

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

/// Complete policy in force, as a document that is stored. Each receipt contains its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    format: String,
    /// Profiles in force. All path groups of any of these profiles are protected.
    profiles: BTreeSet<Profile>,
    /// Exact paths that the operator exempts from these groups in the profile `interactive`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    except: BTreeSet<RelPath>,
    layers: Vec<Layer>,
    /// Digests of content that looks like a credential but is not one, or does not have to be secret.
    credentials: BTreeSet<Digest>,
    /// Files with access policies, ordered by name, or `None` if no such file exists.
    access: Option<Vec<AccessText>>,
}

/// Rules from a single policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Origin of the policy file.
    pub source: Source,
    /// Directory of an enclosing policy, to which its rules are relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Paths that no change may touch, in addition to those that the profiles protect.
    pub protected: Vec<PathRule>,
    /// Scope that all changes must stay within.
    pub scope: Scope,
    /// Budget that limits the size of each change.
    pub budget: Budget,
    /// Rules that raise the risk tier of a change.
    pub tiers: Vec<TierRule>,
    /// Rules that allow, restrict or deny commands.
    pub commands: LayerCommands,
    /// Kinds of requests that need a lease.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lease: BTreeSet<LeasedWork>,
    /// Maximum number of rows that the SQL steps of a plan may change without an approval, or `None` if there
    /// is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_rows: Option<u64>,
}

/// Whether the operator trusts a policy to loosen the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The operator trusts the current content of the policy, so its settings may loosen the rules.
    Trusted,
    /// The policy can only tighten the rules.
    Untrusted,
}

/// Setting of a workspace policy that would loosen the rules, but has no effect until the operator trusts the
/// policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// Profile that protects less than the one in force.
    Profile(Profile),
    /// Number of digests that allow content that looks like a credential.
    Credentials(usize),
    /// Number of rules that allow commands.
    Commands(usize),
}

impl Layer {
    /// Returns the roots that the rules of this layer are relative to, each as the number of names in its path.
    /// The rules of the operator apply relative to the workspace root and all enclosing roots, and those of a
    /// workspace policy only to the workspace root.
    pub(crate) fn roots(&self, bundle: &Bundle, above: &Above<'_>) -> Vec<usize> {
        let own = above.names.len();
        match self.source {
            Source::System | Source::Operator => {
                above.enclosing.iter().copied().chain([own]).collect()
            }
            Source::Workspace => vec![own],
            // The directory of an enclosing policy is above the workspace. Otherwise, the workspace root is used.
            Source::Enclosing => {
                let root = self.root.as_deref().and_then(|root| bundle.depth_of(root));
                vec![root.unwrap_or(own)]
            }
        }
    }

    /// Converts a path rule of this layer to the form that is compared with the paths of a change.
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
                write!(f, "the profile `{profile}` as a replacement for the profile in force")
            }
            Self::Credentials(1) => {
                write!(f, "a digest that allows content that looks like a credential")
            }
            Self::Credentials(count) => {
                write!(f, "{count} digests that allow content that looks like a credential")
            }
            Self::Commands(1) => write!(f, "a rule that allows commands"),
            Self::Commands(count) => write!(f, "{count} rules that allow commands"),
        }
    }
}

impl Default for Policy {
    /// Returns the policy that is in force if no policy file exists.
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
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.policy/3";

    /// Combines policy files into a policy, and returns the settings that have no effect.
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

    /// Adds a policy that can only tighten the rules: the policy of the machine's administrator, or one that an
    /// environment variable of the operator names.
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

    /// Adds the policies of enclosing directories, each with its directory. They can only tighten the rules.
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

    /// Adds the operator's access policies. If there is at least one file, a change that no access policy
    /// permits is denied. Otherwise, access policies are not in force.
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

    /// Adds paths that the operator protects outside of a policy file.
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

    /// Returns true if any rule depends on the root that paths are relative to. Rules of the workspace policy
    /// are not considered.
    pub fn counts_from_roots(&self) -> bool {
        let depends_on_root = |layer: &Layer| {
            let Layer { protected, scope, budget, tiers, .. } = layer;
            let is_plain = protected.is_empty() && tiers.is_empty();
            !is_plain || *scope != Scope::everything() || *budget != Budget::default()
        };
        let mut layers = self.layers.iter().filter(|layer| layer.source != Source::Workspace);
        self.access.is_some() || layers.any(depends_on_root)
    }

    /// Returns the files with access policies, if there are any.
    pub fn access(&self) -> Option<&[AccessText]> {
        self.access.as_deref()
    }

    /// Returns the protected path groups, without duplicates.
    pub fn protected_groups(&self) -> impl Iterator<Item = &'static ProtectedGroup> {
        PROTECTED_GROUPS.iter().filter(|group| self.protects(group))
    }

    /// Returns true if the paths of a group are protected.
    pub fn protects(&self, group: &ProtectedGroup) -> bool {
        group.profiles.iter().any(|profile| self.profiles.contains(profile))
    }

    /// Returns the exact paths that the operator exempts from the built-in groups. The result is empty if
    /// any profile other than `interactive` is in force, even in addition to it.
    pub fn exceptions(&self) -> impl Iterator<Item = &RelPath> {
        let is_interactive = self.profiles.iter().eq([&Profile::Interactive]);
        self.except.iter().filter(move |_| is_interactive)
    }

    /// Returns the profiles in force.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        self.profiles.iter().copied()
    }

    /// Returns the digests of content that is allowed although it looks like a credential.
    pub fn credentials(&self) -> &BTreeSet<Digest> {
        &self.credentials
    }

    /// Returns the layers of the policy, one for each policy file.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Serialises the policy as canonical JSON.
    ///
    /// # Errors
    /// Returns `Number` if a limit exceeds 2^53 − 1, which no policy file can contain.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Reads a policy from its canonical bytes.
    ///
    /// # Errors
    /// Returns [`DocumentError`] if the bytes are not a valid policy.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let version = |value: &Value| document::format_of(value).to_owned();
        document::read("the policy", bytes, version, Self::FORMAT.to_owned())
    }
}
