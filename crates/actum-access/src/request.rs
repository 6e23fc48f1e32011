//! Access request, and its form in Cedar.

use std::collections::{BTreeSet, HashMap, HashSet};

use actum_core::RelPath;
use actum_gate::ground::{Counted, RequestProblem};
use cedar_policy::{Context, Entities, Entity, EntityId, EntityUid, Request, RestrictedExpression};

use crate::names::{AccessAction, Types};

/// Most paths of a request.
pub const REQUEST_PATHS_MAX: usize = 100_000;

/// Highest risk tier.
const TIER_MAX: u8 = 4;

/// Access request: one change of any size, with its requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRequest {
    /// Name of the account.
    pub user: String,
    /// Number of the account.
    pub uid: u32,
    /// Agent that acts in the user's name.
    pub agent: Option<String>,
    /// Requested action.
    pub action: AccessAction,
    /// Root of the workspace.
    pub workspace: String,
    /// Roots of the workspaces and repositories around it, outermost first; it is `in` each of them.
    pub enclosing: Vec<String>,
    /// Tenant whose ledger records it.
    pub tenant: String,
    /// Computed risk tier, 0 to 4.
    pub tier: u8,
    /// Number of approvals of exactly this change.
    pub approvals: u32,
    /// Entry point of the request.
    pub door: String,
    /// Number of changed files.
    pub files: u64,
    /// Number of added and removed lines, together.
    pub lines: u64,
    /// Number of deleted files.
    pub deletes: u64,
    /// Changed paths, as seen from each of these roots; both paths of a renamed file.
    pub paths: BTreeSet<RelPath>,
    /// Kind of the change.
    pub kind: ChangeKind,
}

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// New state.
    New,
    /// State before an earlier run.
    Undo,
}

/// Request in Cedar's form, without the approvals.
pub(crate) struct Asked {
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
    pub(crate) entities: Entities,
    context: Vec<(String, RestrictedExpression)>,
}

impl Asked {
    pub(crate) fn new(request: &AccessRequest, types: &Types) -> Result<Self, RequestProblem> {
        let AccessRequest { tier, files, lines, deletes, paths, .. } = request;
        if *tier > TIER_MAX {
            return Err(RequestProblem::Tier(*tier));
        }
        if paths.len() > REQUEST_PATHS_MAX {
            return Err(RequestProblem::Paths { count: paths.len(), max: REQUEST_PATHS_MAX });
        }
        let (principal, user) = user(request, types)?;
        let (resource, workspaces) = workspaces(request, types)?;
        let entities = workspaces.into_iter().chain([user]);
        let entities = Entities::from_entities(entities, Some(&types.schema));
        let undo = match request.kind {
            ChangeKind::New => false,
            ChangeKind::Undo => true,
        };
        let context = [
            ("tier", RestrictedExpression::new_long(i64::from(*tier))),
            ("door", string(&request.door)),
            ("files", count(Counted::Files, *files)?),
            ("lines", count(Counted::Lines, *lines)?),
            ("deletes", count(Counted::Deletes, *deletes)?),
            ("paths", set(paths.iter().map(RelPath::as_bytes))),
            ("directories", set(directories(paths))),
            ("undo", RestrictedExpression::new_bool(undo)),
        ];
        Ok(Self {
            principal,
            action: types.action(request.action),
            resource,
            entities: entities.map_err(undescribed)?,
            context: context.map(|(name, value)| (name.to_owned(), value)).into(),
        })
    }

    /// Returns the request with this number of approvals.
    pub(crate) fn with_approvals(
        &self,
        approvals: u32,
        types: &Types,
    ) -> Result<Request, RequestProblem> {
        let approvals = RestrictedExpression::new_long(i64::from(approvals));
        let context = self.context.iter().cloned().chain([("approvals".to_owned(), approvals)]);
        let context = Context::from_pairs(context).map_err(undescribed)?;
        let (principal, action, resource) =
            (self.principal.clone(), self.action.clone(), self.resource.clone());
        Request::new(principal, action, resource, context, Some(&types.schema)).map_err(undescribed)
    }
}

fn user(request: &AccessRequest, types: &Types) -> Result<(EntityUid, Entity), RequestProblem> {
    let uid = RestrictedExpression::new_long(i64::from(request.uid));
    let agent = request.agent.as_deref().map(|agent| ("agent".to_owned(), string(agent)));
    let attributes = agent.into_iter().chain([("uid".to_owned(), uid)]).collect();
    let id = EntityUid::from_type_name_and_id(types.user.clone(), EntityId::new(&request.user));
    Ok((id.clone(), entity(id, attributes)?))
}

/// Returns the workspace, with those around it.
fn workspaces(
    request: &AccessRequest,
    types: &Types,
) -> Result<(EntityUid, Vec<Entity>), RequestProblem> {
    let id = |root: &String| {
        EntityUid::from_type_name_and_id(types.workspace.clone(), EntityId::new(root))
    };
    let new = |root: &String, around: HashSet<EntityUid>| {
        let attributes = HashMap::from([("tenant".to_owned(), string(&request.tenant))]);
        Entity::new(id(root), attributes, around).map_err(undescribed)
    };
    let around = request.enclosing.iter().filter(|root| **root != request.workspace);
    let ids: HashSet<EntityUid> = around.clone().map(id).collect();
    let outer = around.collect::<BTreeSet<_>>().into_iter().map(|root| new(root, HashSet::new()));
    let inner = new(&request.workspace, ids);
    Ok((id(&request.workspace), outer.chain([inner]).collect::<Result<_, _>>()?))
}

fn entity(
    id: EntityUid,
    attributes: HashMap<String, RestrictedExpression>,
) -> Result<Entity, RequestProblem> {
    Entity::new(id, attributes, HashSet::new()).map_err(undescribed)
}

fn string(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

fn count(what: Counted, count: u64) -> Result<RestrictedExpression, RequestProblem> {
    let number = i64::try_from(count).map_err(|_| RequestProblem::Count { what, count })?;
    Ok(RestrictedExpression::new_long(number))
}

fn set<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> RestrictedExpression {
    let paths = paths.into_iter().map(|path| RestrictedExpression::new_string(path_text(path)));
    RestrictedExpression::new_set(paths)
}

fn directories(paths: &BTreeSet<RelPath>) -> BTreeSet<&[u8]> {
    let above = |path: &'_ RelPath| -> Vec<usize> {
        let bytes = path.as_bytes().iter().enumerate();
        bytes.filter(|&(_, byte)| *byte == b'/').map(|(at, _)| at).collect()
    };
    let directories = paths
        .iter()
        .flat_map(|path| above(path).into_iter().filter_map(|at| path.as_bytes().get(..at)));
    directories.collect()
}

/// Returns a path in the form of policies. No path begins with a slash, so a path that is not UTF-8 gets a name that
/// no other path has.
fn path_text(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(path) => path.to_owned(),
        Err(_) => {
            let digits = path.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
            let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
            "/hex/".chars().chain(digits).collect()
        }
    }
}

/// Returns the problem of a request that does not match the schema, a defect of actum.
fn undescribed<E>(_: E) -> RequestProblem {
    RequestProblem::Schema
}
