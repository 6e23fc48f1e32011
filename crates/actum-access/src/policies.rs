//! Parses and validates access policies, and assigns the names that grounds use for them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use actum_gate::AccessText;
use actum_gate::ground::AccessPolicyName;

use cedar_policy::{
    ActionConstraint, Authorizer, Effect, Policy, PolicyId, PolicySet, ValidationMode, Validator,
};
use miette::Diagnostic;

use crate::limits::{ANNOTATION_BYTES_MAX, POLICIES_MAX, POLICY_BYTES_MAX};
use crate::names::{AccessAction, Types};
use crate::problem::{AccessError, AccessFileError};
use crate::{depth, diagnosis};

/// Built-in policies, which the operator's policies cannot override.
const ALWAYS: &str = include_str!("always.cedar");

/// Prefix reserved for the names of built-in policies.
const BUILT_IN: &str = "actum.";

/// Validated set of the operator's policies and the built-in policies (AEC-6).
pub struct AccessPolicies {
    pub(crate) types: Types,
    /// Policies that can match each action. No action in the schema is a group of other actions.
    sorted: BTreeMap<AccessAction, Sorted>,
    pub(crate) named: BTreeMap<PolicyId, Named>,
    pub(crate) authorizer: Authorizer,
}

/// Policies divided by whether their result depends on the number of approvals.
#[derive(Default)]
pub(crate) struct Sorted {
    /// Policies whose result is the same for any number of approvals.
    pub(crate) settled: PolicySet,
    /// Policies whose result may depend on the number of approvals.
    pub(crate) varying: PolicySet,
}

/// Name that grounds use for a policy, with the policy's reason and effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// Name of the file that contains the policy, if it was read from a file.
    file: Option<Arc<str>>,
    /// Position of the policy in its text, starting at 1. Built-in policies have none.
    position: Option<usize>,
    id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) effect: Effect,
}

impl From<&Named> for AccessPolicyName {
    fn from(Named { file, position, id, .. }: &Named) -> Self {
        let position = position.filter(|_| id.is_none());
        Self { position, id: id.clone(), file: file.as_ref().map(|file| file.to_string()) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AccessPolicyName::from(self).fmt(f)
    }
}

impl AccessPolicies {
    /// Parses and validates the policies in a text. An empty text contains no policies and therefore permits nothing.
    ///
    /// # Errors
    /// Returns an [`AccessError`] that identifies the policy and its line, and lists the known names if a name is
    /// unknown.
    pub fn read(text: &str) -> Result<Self, AccessError> {
        Self::new(&[(None, text)]).map_err(|error| error.problem)
    }

    /// Parses and validates the policies in several files of an operator. Each file is parsed separately, so that a
    /// policy cannot extend into the next file.
    ///
    /// # Errors
    /// Returns an [`AccessFileError`] that names the file, if only one is affected, and contains the same details as
    /// the error of [`read`](Self::read).
    pub fn read_files(files: &[AccessText]) -> Result<Self, AccessFileError> {
        let texts: Vec<_> = files.iter().map(|file| (Some(&*file.name), &*file.text)).collect();
        Self::new(&texts)
    }

    fn new(texts: &[(Option<&str>, &str)]) -> Result<Self, AccessFileError> {
        let bytes = texts.iter().map(|(_, text)| text.len()).sum();
        if bytes > POLICY_BYTES_MAX {
            return Err(AccessError::Bytes { bytes }.into());
        }
        let types = Types::new()?;
        let validator = Validator::new(types.schema.clone());
        depth::try_validator(&validator)?;
        let (mut all, mut named) = (Vec::new(), BTreeMap::new());
        for (number, (file, text)) in texts.iter().enumerate() {
            let failed = |problem| AccessFileError { file: file.map(ToOwned::to_owned), problem };
            let (set, names) = read_one(text, &validator).map_err(failed)?;
            let count = all.len() + names.len();
            if count > POLICIES_MAX {
                return Err(AccessError::TooMany { count }.into());
            }
            let file: Option<Arc<str>> = file.map(Arc::from);
            for policy in set.policies() {
                // Cedar numbers the policies of each text from `policy0`, so make the ids unique across texts.
                let id = PolicyId::new(format!("{number}.{}", policy.id()));
                if let Some(name) = names.get(policy.id()) {
                    named.insert(id.clone(), Named { file: file.clone(), ..name.clone() });
                }
                all.push(policy.new_id(id));
            }
        }
        for (policy, name) in built_in(&validator)? {
            named.insert(policy.id().clone(), name);
            all.push(policy);
        }
        let sorted = sorted(&all, &types)?;
        Ok(Self { types, sorted, named, authorizer: Authorizer::new() })
    }

    pub(crate) fn about(&self, action: AccessAction) -> Option<&Sorted> {
        self.sorted.get(&action)
    }

    /// Returns the number of policies that the operator defined, without the built-in ones.
    pub fn count(&self) -> usize {
        self.named.values().filter(|named| named.position.is_some()).count()
    }

    /// Returns the number of policies that were read from the file with this name.
    pub fn count_in(&self, file: &str) -> usize {
        self.named.values().filter(|named| named.file.as_deref() == Some(file)).count()
    }
}

/// Parses and validates a single text, and collects the names of its policies.
fn read_one(
    text: &str,
    validator: &Validator,
) -> Result<(PolicySet, BTreeMap<PolicyId, Named>), AccessError> {
    depth::check(text)?;
    let set = PolicySet::from_str(text).map_err(|errors| {
        let errors = errors.iter().map(|error| error as &dyn Diagnostic);
        AccessError::Syntax(diagnosis::syntax_problems(text, errors))
    })?;
    let count = set.num_of_policies() + set.num_of_templates();
    if count > POLICIES_MAX {
        return Err(AccessError::TooMany { count });
    }
    if let Some(template) = set.templates().min_by_key(|template| position(template.id())) {
        let position = position(template.id());
        let named = Named::new(position, template.effect(), template.annotations());
        let policy = named?.to_string();
        return Err(AccessError::Template { policy });
    }
    let named = names(&set)?;
    let result = validator.validate(&set, ValidationMode::Strict);
    let name = |id: &PolicyId| named.get(id).map(ToString::to_string);
    match diagnosis::validation_problems(text, &result, name) {
        Some(problems) => Err(AccessError::Invalid(problems)),
        None => Ok((set, named)),
    }
}

impl fmt::Debug for AccessPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessPolicies").field("named", &self.named).finish_non_exhaustive()
    }
}

impl Named {
    /// Creates the name from all annotations of a policy. Iterating over them avoids single lookups, for which Cedar
    /// has to parse the key each time.
    fn new<'a>(
        position: Option<usize>,
        effect: Effect,
        annotations: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, AccessError> {
        let at = position.unwrap_or_default();
        let (mut id, mut reason) = (None, None);
        for (key, text) in annotations {
            let (key, value) = match key {
                "id" => ("id", &mut id),
                "reason" => ("reason", &mut reason),
                _ => continue,
            };
            if text.len() > ANNOTATION_BYTES_MAX {
                return Err(AccessError::Annotation { position: at, key, bytes: text.len() });
            }
            *value = Some(text.to_owned());
        }
        if let Some(id) = &id {
            check_id(at, id)?;
        }
        Ok(Self { file: None, position, id, reason, effect })
    }
}

fn check_id(position: usize, id: &str) -> Result<(), AccessError> {
    let why = if id.trim().is_empty() {
        "is blank"
    } else if id.starts_with(BUILT_IN) {
        "is reserved for built-in policies"
    } else if id.contains(char::is_control) {
        "contains a control character"
    } else {
        return Ok(());
    };
    Err(AccessError::Id { position, id: id.escape_debug().to_string(), why })
}

/// Returns the built-in policies, with ids that differ from those of all other policies.
fn built_in(validator: &Validator) -> Result<Vec<(Policy, Named)>, AccessError> {
    let always = PolicySet::from_str(ALWAYS).map_err(AccessError::built_in)?;
    let result = validator.validate(&always, ValidationMode::Strict);
    if !result.validation_passed_without_warnings() {
        return Err(AccessError::built_in(result));
    }
    let named = always.policies().map(|policy| {
        let annotation = |key: &str| policy.annotation(key).map(str::to_owned);
        let (id, reason) = (annotation("id"), annotation("reason"));
        let named = Named { file: None, position: None, id, reason, effect: policy.effect() };
        (policy.new_id(PolicyId::new(format!("{BUILT_IN}{}", policy.id()))), named)
    });
    Ok(named.collect())
}

/// Groups the policies by the actions that they can match. Evaluation time grows with the number of policies, and a
/// policy whose head names a different action can neither match nor fail.
fn sorted(
    policies: &[Policy],
    types: &Types,
) -> Result<BTreeMap<AccessAction, Sorted>, AccessError> {
    let actions = AccessAction::ALL.map(|action| (action, types.action(action)));
    let mut sorted: BTreeMap<AccessAction, Sorted> = BTreeMap::new();
    for policy in policies {
        let constraint = policy.action_constraint();
        let varies = varies(&policy.to_string());
        for (action, id) in &actions {
            let applies = match &constraint {
                ActionConstraint::Any => true,
                ActionConstraint::Eq(named) => named == id,
                ActionConstraint::In(named) => named.contains(id),
            };
            if applies {
                let sorted = sorted.entry(*action).or_default();
                let set = if varies { &mut sorted.varying } else { &mut sorted.settled };
                set.add(policy.clone()).map_err(AccessError::built_in)?;
            }
        }
    }
    Ok(sorted)
}

/// Checks whether a policy may read the number of approvals. This is assumed if the policy contains `approvals`, or
/// uses `context` other than as `context.name`, because an attribute can also be named by a string with escapes. A
/// false positive only costs time.
fn varies(policy: &str) -> bool {
    policy.contains("approvals")
        || policy.split("context").skip(1).any(|behind| !behind.starts_with('.'))
}

/// Returns the names of all policies in a set. Returns an error if two policies have the same `@id`.
fn names(set: &PolicySet) -> Result<BTreeMap<PolicyId, Named>, AccessError> {
    let mut policies: Vec<&Policy> = set.policies().collect();
    policies.sort_by_key(|policy| position(policy.id()));
    let mut named = BTreeMap::new();
    let mut positions = BTreeMap::new();
    for policy in policies {
        let position = position(policy.id());
        let name = Named::new(position, policy.effect(), policy.annotations())?;
        if let (Some(id), Some(second)) = (&name.id, position)
            && let Some(first) = positions.insert(id.clone(), second)
        {
            return Err(AccessError::SameId { first, second, id: id.clone() });
        }
        named.insert(policy.id().clone(), name);
    }
    Ok(named)
}

/// Returns the position of a policy in its text, starting at 1. Cedar names the policies `policy0`, `policy1`, and so
/// on, in their order.
fn position(id: &PolicyId) -> Option<usize> {
    let id: &str = id.as_ref();
    id.strip_prefix("policy")?.parse::<usize>().ok()?.checked_add(1)
}
