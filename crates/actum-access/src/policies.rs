//! Access policies: parsed, validated and named.

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

/// Built-in policies, which an operator's policy cannot override.
const ALWAYS: &str = include_str!("always.cedar");

/// Prefix of the names of built-in policies.
const BUILT_IN: &str = "actum.";

/// Operator's policies and the built-in ones (AEC-6).
pub struct AccessPolicies {
    pub(crate) types: Types,
    /// Policies that may match each action; no action contains others.
    sorted: BTreeMap<AccessAction, Sorted>,
    pub(crate) named: BTreeMap<PolicyId, Named>,
    pub(crate) authorizer: Authorizer,
}

/// Policies, split by the effect of more approvals.
#[derive(Default)]
pub(crate) struct Sorted {
    /// Policies with the same result for any number of approvals.
    pub(crate) settled: PolicySet,
    /// Policies whose result may depend on the approvals.
    pub(crate) varying: PolicySet,
}

/// Name of a policy in grounds, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// File that has the policy, if it is in one.
    file: Option<Arc<str>>,
    /// Position, counted from 1; built-in policies have none.
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
    /// Reads the policies of one text. An empty text has none, and permits nothing.
    ///
    /// # Errors
    /// [`AccessError`] with the policy, its line, and the known names.
    pub fn read(text: &str) -> Result<Self, AccessError> {
        Self::new(&[(None, text)]).map_err(|error| error.problem)
    }

    /// Reads the policies of an operator's files together. Each file is parsed separately, so that no policy extends
    /// into another file.
    ///
    /// # Errors
    /// [`AccessFileError`] with the file, if the problem is in one, and the facts of [`read`](Self::read).
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
                // Each text has a `policy0`.
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

    /// Returns the number of the operator's policies.
    pub fn count(&self) -> usize {
        self.named.values().filter(|named| named.position.is_some()).count()
    }

    /// Returns the number of policies in the file of this name.
    pub fn count_in(&self, file: &str) -> usize {
        self.named.values().filter(|named| named.file.as_deref() == Some(file)).count()
    }
}

/// Reads one text, and the names of its policies.
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
    /// Creates the name from all annotations at once: Cedar parses a name to look up a single annotation.
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
        "is no name"
    } else if id.starts_with(BUILT_IN) {
        "is for what is part of actum"
    } else if id.contains(char::is_control) {
        "holds a control character"
    } else {
        return Ok(());
    };
    Err(AccessError::Id { position, id: id.escape_debug().to_string(), why })
}

/// Returns the built-in policies, with ids that no policy of a text has.
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

/// Sorts the policies by the actions that they may match. Evaluation time grows with the number of policies, and a
/// policy whose head names another action never holds and never fails.
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
            let speaks = match &constraint {
                ActionConstraint::Any => true,
                ActionConstraint::Eq(named) => named == id,
                ActionConstraint::In(named) => named.contains(id),
            };
            if speaks {
                let sorted = sorted.entry(*action).or_default();
                let set = if varies { &mut sorted.varying } else { &mut sorted.settled };
                set.add(policy.clone()).map_err(AccessError::built_in)?;
            }
        }
    }
    Ok(sorted)
}

/// Returns true if a policy of this text may read the approvals. It names them or uses `context` in another way than
/// `context.name`, since a name can be a string with escapes. A false match costs only time.
fn varies(policy: &str) -> bool {
    policy.contains("approvals")
        || policy.split("context").skip(1).any(|behind| !behind.starts_with('.'))
}

/// Returns the names of all policies, each at most once.
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

/// Returns the position of a policy: Cedar names the policies of a text `policy0`, `policy1`, in their order.
fn position(id: &PolicyId) -> Option<usize> {
    let id: &str = id.as_ref();
    id.strip_prefix("policy")?.parse::<usize>().ok()?.checked_add(1)
}
