//! Serializes a task plan as JSON. The text is assembled piece by piece, because JSON values from the plan must keep their
//! spelling.

use std::fmt::Write as _;

use actum_core::{Digest, RelPath};
use actum_edit::change_set::Hunk;
use actum_edit::edit::json_patch::JsonText;

use super::{Action, Change, Instructions, SchemaChange, StructureEdit, TIERS, TaskPlan, Work};
use crate::condition::{Check, Condition};

/// JSON text that is being assembled.
struct Writer {
    text: String,
}

pub(super) fn plan(plan: &TaskPlan) -> String {
    let mut writer = Writer { text: String::from("{") };
    writer.text_field("plan_id", plan.id.as_str());
    writer.optional_text("description", plan.description.as_deref());
    writer.list("action_plan", &plan.actions, |writer, action| writer.action(action));
    writer.instructions(&plan.instructions);
    writer.text.push_str("\n}\n");
    writer.text
}

impl Writer {
    /// Starts an object member, and adds a comma unless it is the first member.
    fn name(&mut self, name: &str) {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.string(name);
        self.text.push(':');
    }

    fn string(&mut self, text: &str) {
        // Serializing a string as JSON never fails.
        self.text.push_str(&serde_json::to_string(text).unwrap_or_default());
    }

    fn text_field(&mut self, name: &str, text: &str) {
        self.name(name);
        self.string(text);
    }

    fn optional_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text_field(name, text);
        }
    }

    /// Adds a member with a path.
    ///
    /// INVARIANT: a path that was read from a plan is valid UTF-8.
    fn path(&mut self, name: &str, path: &RelPath) {
        self.text_field(name, &String::from_utf8_lossy(path.as_bytes()));
    }

    fn digest(&mut self, name: &str, digest: Option<Digest>) {
        self.optional_text(name, digest.map(|digest| digest.to_string()).as_deref());
    }

    fn json(&mut self, name: &str, value: &JsonText) {
        self.name(name);
        self.text.push_str(value.as_str());
    }

    fn number(&mut self, name: &str, number: impl Into<u64>) {
        self.name(name);
        // Writing to a `String` never fails.
        write!(self.text, "{}", number.into()).unwrap_or_default();
    }

    fn flag(&mut self, name: &str, flag: bool) {
        self.name(name);
        self.text.push_str(if flag { "true" } else { "false" });
    }

    fn list<T>(&mut self, name: &str, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.name(name);
        self.text.push('[');
        for (index, element) in list.iter().enumerate() {
            self.text.push_str(if index == 0 { "\n" } else { ",\n" });
            each(self, element);
        }
        self.text.push(']');
    }

    fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.text.push('{');
        members(self);
        self.text.push('}');
    }

    fn instructions(&mut self, instructions: &Instructions) {
        let Instructions { order, constraints, validation_rules } = instructions;
        self.name("execution_instructions");
        self.object(|writer| {
            writer.text_field("execution_order", order.as_str());
            for (name, flag) in [
                ("stop_on_error", constraints.stop_on_error),
                ("rollback_on_failure", constraints.rollback_on_failure),
                ("preserve_permissions", constraints.preserve_permissions),
                ("verify_hashes", constraints.verify_hashes),
            ] {
                if let Some(flag) = flag {
                    writer.flag(name, flag);
                }
            }
            writer.conditions("validation_rules", validation_rules);
        });
    }

    fn conditions(&mut self, name: &str, conditions: &[Condition]) {
        if conditions.is_empty() {
            return;
        }
        self.list(name, conditions, |writer, Condition { path, check }| {
            writer.object(|writer| {
                writer.text_field("type", check.as_str());
                writer.path("path", path);
                match check {
                    Check::Exists | Check::Absent => {}
                    Check::Sha256(digest) => writer.digest("sha256", Some(*digest)),
                    Check::Contains(text) | Check::Lacks(text) => writer.text_field("text", text),
                }
            });
        });
    }

    fn action(&mut self, action: &Action) {
        self.object(|writer| {
            writer.text_field("action_id", action.id.as_str());
            writer.text_field("action_type", action.action_type().as_str());
            writer.optional_text("description", action.description.as_deref());
            writer.path("target", &action.target);
            writer.name("operation");
            writer.object(|writer| {
                writer.work(&action.work);
                writer.digest("expected_prev_sha256", action.expected);
            });
            if !action.depends_on.is_empty() {
                writer.list("depends_on", &action.depends_on, |writer, id| {
                    writer.string(id.as_str());
                });
            }
            writer.flag("reversible", action.reversible);
            let level = TIERS.into_iter().find(|(_, tier)| Some(*tier) == action.declared_tier);
            writer.optional_text("risk_level", level.map(|(level, _)| level));
            writer.conditions("preconditions", &action.preconditions);
            writer.conditions("postconditions", &action.postconditions);
            if let Some(timeout) = action.timeout {
                writer.number("timeout_seconds", timeout.as_secs());
            }
        });
    }

    fn work(&mut self, work: &Work) {
        match work {
            Work::Create { content, executable } => {
                self.text_field("type", "create");
                self.text_field("content", content);
                if *executable {
                    self.flag("executable", true);
                }
            }
            Work::Modify(change) => self.change(change),
            Work::Delete => self.text_field("type", "delete"),
            Work::Rename { new_path } => {
                self.text_field("type", "rename");
                self.path("new_path", new_path);
            }
            Work::UpdateSchema(SchemaChange::Content(content)) => self.content(content),
            Work::UpdateSchema(SchemaChange::Structure(edit)) => self.structure(edit),
            Work::ExecuteSql(query) => {
                self.text_field("type", "sql_execute");
                self.path("query_file", &query.query_file);
                if let Some(parameters) = &query.parameters {
                    self.json("parameters", parameters);
                }
                self.text_field("connection", "duckdb");
                self.flag("expect_results", query.expect_results);
                if let Some(path) = &query.save_results_to {
                    self.path("save_results_to", path);
                }
            }
            Work::RunPipeline(pipeline) => {
                self.text_field("type", "pipeline_run");
                self.text_field("pipeline", &pipeline.name);
                if let Some(parameters) = &pipeline.parameters {
                    self.json("parameters", parameters);
                }
            }
        }
    }

    fn content(&mut self, content: &str) {
        self.text_field("type", "content");
        self.text_field("content", content);
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Content(content) => self.content(content),
            Change::Hunks(hunks) => {
                self.text_field("type", "hunks");
                self.list("hunks", hunks, |writer, hunk| {
                    let Hunk { old_start, old_lines, new_start, new_lines, lines } = hunk;
                    writer.object(|writer| {
                        writer.number("old_start", *old_start);
                        writer.number("old_lines", *old_lines);
                        writer.number("new_start", *new_start);
                        writer.number("new_lines", *new_lines);
                        writer.text_field("lines", lines);
                    });
                });
            }
            Change::ReplaceText { pattern, replacement, count } => {
                self.text_field("type", "text_replace");
                self.text_field("pattern", pattern);
                self.text_field("replacement", replacement);
                self.number("count", *count);
            }
            Change::InsertLines { line, content } => {
                self.text_field("type", "line_insert");
                self.number("line_number", *line);
                self.text_field("content", content);
            }
            Change::DeleteLines { start, end } => {
                self.text_field("type", "line_delete");
                self.number("start_line", *start);
                self.number("end_line", *end);
            }
            Change::Structure(edit) => self.structure(edit),
        }
    }

    fn structure(&mut self, edit: &StructureEdit) {
        let (word, path, key, value) = match edit {
            StructureEdit::JsonAddProperty { path, key, value } => {
                ("json_add_property", path, Some(key), Some(value))
            }
            StructureEdit::JsonRemoveProperty { path, key } => {
                ("json_remove_property", path, Some(key), None)
            }
            StructureEdit::JsonUpdateValue { path, value } => {
                ("json_update_value", path, None, Some(value))
            }
            StructureEdit::YamlUpdate { path, value, .. } => {
                ("yaml_update", path, None, Some(value))
            }
            StructureEdit::YamlRemove { path, .. } => ("yaml_remove", path, None, None),
        };
        self.text_field("type", word);
        self.text_field("path", path.as_str());
        if let StructureEdit::YamlUpdate { document: Some(document), .. }
        | StructureEdit::YamlRemove { document: Some(document), .. } = edit
        {
            self.number("document", document.get());
        }
        self.optional_text("key", key.map(String::as_str));
        if let Some(value) = value {
            self.json("value", value);
        }
    }
}
