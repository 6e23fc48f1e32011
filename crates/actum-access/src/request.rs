//! Access request, and its conversion to a Cedar request.

use std::collections::{BTreeSet, HashMap, HashSet};

use actum_core::RelPath;
use actum_gate::ground::{Counted, RequestProblem};
use cedar_policy::{Context, Entities, Entity, EntityId, EntityUid, Request, RestrictedExpression};

use crate::names::{AccessAction, Types};

/// Maximum number of changed paths in a request.
pub const REQUEST_PATHS_MAX: usize = 100_000;

/// Number of the highest risk tier.
const TIER_MAX: u8 = 4;

/// Facts about a single change and its requester, which access policies decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRequest {
    /// Name of the user account that requests the change.
    pub user: String,
    /// Numeric id of the user account.
    pub uid: u32,
    /// Agent that acts on behalf of the user, if any.
    pub agent: Option<String>,
    /// Action that the requester wants to perform.
    pub action: AccessAction,
    /// Root directory of the workspace.
    pub workspace: String,
    /// Roots of the enclosing workspaces and repositories, outermost first. In policies, the workspace is `in` each of
    /// them.
    pub enclosing: Vec<String>,
    /// Tenant whose ledger records the change.
    pub tenant: String,
    /// Computed risk tier of the change, from 0 to 4.
    pub tier: u8,
    /// Number of approvals given for exactly this change.
    pub approvals: u32,
    /// Entry point through which the request was made.
    pub entry_point: String,
    /// Number of files that the change affects.
    pub files: u64,
    /// Sum of the added and removed lines.
    pub lines: u64,
    /// Number of files that the change deletes.
    pub deletes: u64,
    /// Changed paths, relative to the workspace and to each enclosing root. A renamed file contributes both paths.
    pub paths: BTreeSet<RelPath>,
    /// Whether the change creates a new state or undoes an earlier run.
    pub kind: ChangeKind,
}

/// Direction of a change: forward to a new state, or back to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The change creates a new state.
    New,
    /// The change restores the state from before an earlier run.
    Undo,
}

/// Cedar form of an access request, without the number of approvals.
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
            ("door", string(&request.entry_point)),
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

    /// Returns the complete Cedar request with the given number of approvals.
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

/// Returns the Cedar entity of the workspace together with those of all enclosing roots.
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

/// Returns the text that represents a path in policies. A path that is not UTF-8 becomes `/hex/` and its bytes in hex.
/// No real path is the same, because relative paths never begin with a slash.
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

/// Returns the problem for a request that does not match the schema, which is a bug in actum.
fn undescribed<E>(_: E) -> RequestProblem {
    RequestProblem::Schema
}
