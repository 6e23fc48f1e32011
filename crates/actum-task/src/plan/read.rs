//! Parser for task plans.

use std::num::NonZeroU32;
use std::time::Duration;

use actum_core::json::{Content, Value};
use actum_core::place::{Excerpt, Place};
use actum_core::{RelPath, RiskTier, count};
use actum_document::reader::{flag, text, whole, word};
use actum_document::{Fault, Form, Problem};
use actum_edit::change_set::Hunk;
use actum_edit::edit::json_patch::JsonText;

use super::super::condition::{Condition, Unbound};
use super::super::diagnostics::Mistakes;
use super::super::graph::{Graph, GraphError, GraphProblem, Node};
use super::super::limits::PLAN_BYTES_MAX;
use super::super::name::ActionId;
use super::super::reader::{self, Faults, Fields, Taken, digest, parsed, path};
use super::schema::TASK_PLAN;
use super::{
    Action, ActionPlaces, Change, ConstraintOverrides, ExecutionOrder, Instructions, NamedTarget,
    Pipeline, SchemaChange, SqlQuery, StructureEdit, TaskPlan, Work,
};

pub(super) fn plan(bytes: &[u8]) -> Result<(TaskPlan, ActionPlaces), Mistakes> {
    reader::read(bytes, PLAN_BYTES_MAX, |text, value| {
        let (plan, starts) = whole_plan(text, value)?;
        Ok((plan, places(bytes, &starts)))
    })
}

/// Parses the bytes as JSON. Returns `None` if they exceed the size limit or are not JSON.
fn document(bytes: &[u8]) -> Option<Value<'_>> {
    reader::check_size(bytes, PLAN_BYTES_MAX).ok().and_then(|()| Value::read(bytes).ok())
}

/// Returns the JSON values of the actions in a plan, which may be invalid as actions.
fn unread_actions<'v>(document: &'v Value<'v>) -> &'v [Value<'v>] {
    match reader::member_of(document, "action_plan").map(|list| &list.content) {
        Some(Content::Array(actions)) => actions,
        Some(_) | None => &[],
    }
}

fn as_text<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    if let Content::String(text) = &value.content { Some(text) } else { None }
}

/// Finds problems with the order of the actions. Returns an empty list if any action id or dependency is invalid.
pub(super) fn order_problems(bytes: &[u8]) -> Vec<(GraphProblem, Option<Place>)> {
    let Some(document) = document(bytes) else { return Vec::new() };
    let actions = unread_actions(&document);
    let Some(named) = actions.iter().map(id_and_dependencies).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let nodes: Vec<_> = named.iter().map(|(id, depends_on)| Node { id, depends_on }).collect();
    let Err(GraphError { problems }) = Graph::new(&nodes) else { return Vec::new() };
    let starts: Vec<_> = actions.iter().map(|action| action.span.start).collect();
    let places = places(bytes, &starts).0;
    problems
        .into_iter()
        .map(|it| {
            let place = places.get(it.action()).copied();
            (it, place)
        })
        .collect()
}

fn id_and_dependencies(action: &Value<'_>) -> Option<(ActionId, Vec<ActionId>)> {
    let id = as_text(reader::member_of(action, "action_id")?)?.parse().ok()?;
    let depends_on = match reader::member_of(action, "depends_on").map(|list| &list.content) {
        None => Vec::new(),
        Some(Content::Array(ids)) => {
            ids.iter().map(|id| as_text(id)?.parse().ok()).collect::<Option<_>>()?
        }
        Some(_) => return None,
    };
    Some((id, depends_on))
}

/// Lists the target paths of the actions in a plan, and skips the parts of the plan that are invalid.
pub(super) fn named(bytes: &[u8]) -> Vec<NamedTarget> {
    let Some(document) = document(bytes) else { return Vec::new() };
    let text = |object, name| reader::member_of(object, name).and_then(as_text);
    let mut targets = Vec::new();
    for (index, action) in unread_actions(&document).iter().enumerate() {
        let operation = reader::member_of(action, "operation");
        let details = operation.and_then(|operation| reader::member_of(operation, "details"));
        let within = [operation, details].into_iter().flatten();
        let paths = text(action, "target").into_iter();
        for path in paths.chain(within.filter_map(|object| text(object, "new_path"))) {
            let id = text(action, "action_id").unwrap_or_default().to_owned();
            targets.push(NamedTarget { action: index, id, path: RelPath::new(path).ok() });
        }
    }
    targets
}

/// Converts byte offsets, which must be in ascending order, to lines and columns.
fn places(document: &[u8], starts: &[usize]) -> ActionPlaces {
    let (mut line, mut line_start, mut seen) = (1u64, 0, 0);
    let places = starts.iter().map(|&start| {
        let between = document.get(seen..start).unwrap_or_default();
        line = line.saturating_add(count(memchr::memchr_iter(b'\n', between).count()));
        if let Some(newline) = memchr::memrchr(b'\n', between) {
            line_start = seen + newline + 1;
        }
        seen = start;
        Place { line, column: count(start - line_start) + 1 }
    });
    ActionPlaces(places.collect())
}

fn whole_plan(text: &str, value: &Value<'_>) -> Taken<(TaskPlan, Vec<usize>)> {
    let mut fields = reader::object(&TASK_PLAN, Form::Object(&TASK_PLAN), value)?;
    let id = fields.required("plan_id", parsed);
    let description = fields.optional("description", actum_document::reader::text);
    let actions = fields.required("action_plan", |form, value| {
        reader::tagged_list(form, value, |element, kind, fields| {
            Ok((action(text, kind, fields)?, element.span.start))
        })
    });
    let instructions = fields.optional("execution_instructions", instructions);
    let made = (|| {
        let (actions, starts) = actions?.into_iter().unzip();
        let instructions = instructions.unwrap_or_default();
        Some((TaskPlan { id: id?, description, actions, instructions }, starts))
    })();
    fields.finish(made)
}

fn instructions(form: Form, value: &Value<'_>) -> Taken<Instructions> {
    let Form::Object(shape) = form else { return Err(Faults::default()) };
    let mut fields = reader::object(shape, form, value)?;
    let order = fields.optional("execution_order", |form, value| {
        word(form, value, |word| {
            let orders = [ExecutionOrder::Sequential, ExecutionOrder::Parallel];
            orders.into_iter().find(|order| order.as_str() == word)
        })
    });
    let constraints = constraints(&mut fields);
    let rules = fields.optional("validation_rules", |form, value| {
        reader::tagged_list(form, value, |_, kind, fields| Condition::read(kind, fields))
    });
    let (order, validation_rules) = (order.unwrap_or_default(), rules.unwrap_or_default());
    fields.finish(Some(Instructions { order, constraints, validation_rules }))
}

/// Reads the soft constraints of a plan or a config.
pub(crate) fn constraints(fields: &mut Fields<'_>) -> ConstraintOverrides {
    ConstraintOverrides {
        stop_on_error: fields.optional("stop_on_error", flag),
        rollback_on_failure: fields.optional("rollback_on_failure", flag),
        preserve_permissions: fields.optional("preserve_permissions", flag),
        verify_hashes: fields.optional("verify_hashes", flag),
    }
}

fn action(text: &str, kind: &str, mut fields: Fields<'_>) -> Taken<Action> {
    let id = fields.required("action_id", parsed);
    let description = fields.optional("description", actum_document::reader::text);
    let target = fields.required("target", path);
    let operation = |form, value: &Value<'_>| operation(text, form, value);
    let done = if kind == "FILE_DELETE" {
        fields.optional("operation", operation).or(Some((Done::Delete, None)))
    } else {
        fields.required("operation", operation)
    };
    let depends_on = fields.optional("depends_on", ids);
    let reversible = fields.optional("reversible", flag);
    let declared_tier = fields.optional("risk_level", |form, value| word(form, value, tier));
    let [preconditions, postconditions] =
        ["preconditions", "postconditions"].map(|name| fields.optional(name, conditions));
    let timeout = fields.optional("timeout_seconds", whole::<u64>);
    let made = (|| {
        let (target, (done, expected)): (RelPath, _) = (target?, done?);
        let work = done.work(kind);
        let after = match &work {
            Work::Rename { new_path } => new_path,
            Work::Create { .. }
            | Work::Modify(_)
            | Work::Delete
            | Work::UpdateSchema(_)
            | Work::ExecuteSql(_)
            | Work::RunPipeline(_) => &target,
        };
        let bound = |conditions: Option<Vec<Unbound>>, target: &RelPath| {
            let conditions = conditions.unwrap_or_default().into_iter();
            conditions.map(|condition| condition.about(target)).collect()
        };
        Some(Action {
            id: id?,
            description,
            preconditions: bound(preconditions, &target),
            postconditions: bound(postconditions, after),
            target,
            work,
            expected,
            depends_on: depends_on.unwrap_or_default(),
            reversible: reversible.unwrap_or(true),
            declared_tier,
            timeout: timeout.map(Duration::from_secs),
        })
    })();
    fields.finish(made)
}

fn conditions(form: Form, value: &Value<'_>) -> Taken<Vec<Unbound>> {
    reader::tagged_list(form, value, |_, kind, fields| Unbound::read(kind, fields))
}

fn ids(form: Form, value: &Value<'_>) -> Result<Vec<ActionId>, Fault> {
    let texts = actum_document::reader::texts(form, value)?;
    let refused = |text: &str| {
        let Form::Texts { of, .. } = form else { return actum_document::reader::not(form, value) };
        let found = Excerpt::new(text.as_bytes());
        Fault::at(value.span.start, Problem::Characters { expected: of, found })
    };
    texts.iter().map(|text| text.parse().map_err(|_| refused(text))).collect()
}

fn tier(word: &str) -> Option<RiskTier> {
    super::TIERS.into_iter().find(|(level, _)| *level == word).map(|(_, tier)| tier)
}

/// Operation that was parsed before the type of its action is known.
enum Done {
    Create { content: String, executable: bool },
    Content(String),
    Change(Change),
    Structure(StructureEdit),
    Delete,
    Rename(RelPath),
    Sql(SqlQuery),
    Pipeline(Pipeline),
}

impl Done {
    /// Combines the operation with the type of its action. The schema of each action type has already rejected the operations that
    /// do not belong to it.
    fn work(self, kind: &str) -> Work {
        match (self, kind) {
            (Self::Create { content, executable }, _) => Work::Create { content, executable },
            (Self::Content(content), "SCHEMA_UPDATE") => {
                Work::UpdateSchema(SchemaChange::Content(content))
            }
            (Self::Content(content), _) => Work::Modify(Change::Content(content)),
            (Self::Change(change), _) => Work::Modify(change),
            (Self::Structure(edit), "SCHEMA_UPDATE") => {
                Work::UpdateSchema(SchemaChange::Structure(edit))
            }
            (Self::Structure(edit), _) => Work::Modify(Change::Structure(edit)),
            (Self::Delete, _) => Work::Delete,
            (Self::Rename(new_path), _) => Work::Rename { new_path },
            (Self::Sql(query), _) => Work::ExecuteSql(query),
            (Self::Pipeline(pipeline), _) => Work::RunPipeline(pipeline),
        }
    }
}

fn operation(
    source: &str,
    form: Form,
    value: &Value<'_>,
) -> Taken<(Done, Option<actum_core::Digest>)> {
    let (kind, mut fields) = reader::tagged(form, value)?;
    let json = |form, value: &Value<'_>| reader::json(source, form, value);
    let done = match kind {
        "create" => {
            let content = fields.required("content", text);
            let executable = fields.optional("executable", flag).unwrap_or_default();
            content.map(|content| Done::Create { content, executable })
        }
        "content" => fields.required("content", text).map(Done::Content),
        "hunks" => {
            let hunks = fields.required("hunks", |form, value| reader::objects(form, value, hunk));
            hunks.map(|hunks| Done::Change(Change::Hunks(hunks)))
        }
        "text_replace" => replace_text(&mut fields),
        "line_insert" => {
            let line = fields.required("line_number", whole::<u32>);
            let content = fields.required("content", text);
            line.zip(content)
                .map(|(line, content)| Done::Change(Change::InsertLines { line, content }))
        }
        "line_delete" => delete_lines(&mut fields),
        "json_add_property" => {
            let (path, key) = (fields.required("path", parsed), fields.required("key", text));
            let value = fields.required("value", json);
            path.zip(key).zip(value).map(|((path, key), value)| {
                Done::Structure(StructureEdit::JsonAddProperty { path, key, value })
            })
        }
        "json_remove_property" => {
            let (path, key) = (fields.required("path", parsed), fields.required("key", text));
            path.zip(key)
                .map(|(path, key)| Done::Structure(StructureEdit::JsonRemoveProperty { path, key }))
        }
        "json_update_value" => {
            let path = fields.required("path", parsed);
            let value: Option<JsonText> = fields.required("value", json);
            path.zip(value).map(|(path, value)| {
                Done::Structure(StructureEdit::JsonUpdateValue { path, value })
            })
        }
        "yaml_update" => {
            let path = fields.required("path", parsed);
            let document = fields.optional("document", whole::<u32>).and_then(NonZeroU32::new);
            let value: Option<JsonText> = fields.required("value", json);
            path.zip(value).map(|(path, value)| {
                Done::Structure(StructureEdit::YamlUpdate { path, document, value })
            })
        }
        "yaml_remove" => {
            let path = fields.required("path", parsed);
            let document = fields.optional("document", whole::<u32>).and_then(NonZeroU32::new);
            path.map(|path| Done::Structure(StructureEdit::YamlRemove { path, document }))
        }
        "rename" => fields.required("new_path", path).map(Done::Rename),
        "sql_execute" => sql(&mut fields, json),
        "pipeline_run" => {
            let name = fields.required("pipeline", text);
            let parameters = fields.optional("parameters", json);
            name.map(|name| Done::Pipeline(Pipeline { name, parameters }))
        }
        _ => Some(Done::Delete),
    };
    let expected = fields.optional("expected_prev_sha256", digest);
    fields.finish(done.map(|done| (done, expected)))
}

fn replace_text(fields: &mut Fields<'_>) -> Option<Done> {
    let pattern = fields.required("pattern", text);
    let replacement = fields.required("replacement", text);
    let count = fields.optional("count", whole::<u32>).unwrap_or(1);
    let (pattern, replacement) = pattern.zip(replacement)?;
    Some(Done::Change(Change::ReplaceText { pattern, replacement, count }))
}

fn delete_lines(fields: &mut Fields<'_>) -> Option<Done> {
    let start = fields.required("start_line", whole::<u32>);
    let end = fields.required("end_line", whole::<u32>);
    let (start, end) = start.zip(end)?;
    if end < start {
        fields.refuse("end_line", Problem::Backwards { first: start, last: end });
    }
    Some(Done::Change(Change::DeleteLines { start, end }))
}

fn sql(
    fields: &mut Fields<'_>,
    json: impl FnOnce(Form, &Value<'_>) -> Taken<JsonText>,
) -> Option<Done> {
    let query_file = fields.required("query_file", path);
    let parameters = fields.optional("parameters", json);
    let connection = fields.required("connection", |form, value| word(form, value, |_| Some(())));
    let expect_results = fields.optional("expect_results", flag).unwrap_or_default();
    let save_results_to = fields.optional("save_results_to", path);
    connection?;
    let query_file = query_file?;
    Some(Done::Sql(SqlQuery { query_file, parameters, expect_results, save_results_to }))
}

fn hunk(mut fields: Fields<'_>) -> Taken<Hunk> {
    let [old_start, old_lines, new_start, new_lines] =
        ["old_start", "old_lines", "new_start", "new_lines"]
            .map(|name| fields.required(name, whole::<u32>));
    let lines = fields.required("lines", text);
    let made = (|| {
        Some(Hunk {
            old_start: old_start?,
            old_lines: old_lines?,
            new_start: new_start?,
            new_lines: new_lines?,
            lines: lines?,
        })
    })();
    fields.finish(made)
}
