//! Digest of the operations of a change. Equal operations have equal digests, regardless of their input format.

use actum_core::{Digest, Hasher, RelPath, count};

use super::{EmptyParents, ModeChange, Operation};
use crate::edit::json_patch::PatchOperation;
use crate::edit::{
    BinaryChange, BinaryEdit, Chunk, JsonPatch, JsonValueEdit, LineDelete, LineInsert, Occurrences,
    Replacement, YamlRemove, YamlUpdate,
};
use crate::hunk::Side;
use crate::{Edit, LineHunk};

impl Operation {
    /// Returns the digest of a list of operations, which depends on their order.
    pub fn digest(operations: &[Self]) -> Digest {
        let mut feed = Feed(Hasher::tagged("actum/operations/v1"));
        feed.number(count(operations.len()));
        operations.iter().for_each(|operation| feed.operation(operation));
        feed.0.finish()
    }
}

/// Hashes values in an unambiguous encoding, so that different lists of values never produce the same bytes. Names and byte
/// strings are prefixed with their length, lists are prefixed with their count, and numbers take eight bytes.
struct Feed(Hasher);

impl Feed {
    fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Patch { path, hunks, expected } => {
                self.named("patch", path);
                self.expected(*expected);
                self.number(count(hunks.len()));
                hunks.iter().for_each(|hunk| self.hunk(hunk));
            }
            Operation::Edit { path, edit, expected } => {
                self.named("edit", path);
                self.expected(*expected);
                self.edit(edit);
            }
            Operation::Write { path, content, expected } => {
                self.named("write", path);
                self.expected(*expected);
                self.0.part(content);
            }
            Operation::Create { path, content, mode } => {
                self.named("create", path);
                self.0.part(content);
                match mode {
                    None => self.name("no mode"),
                    Some(mode) => self.mode(*mode),
                }
            }
            // The digest of the content identifies it, so the capture that stores the content is not hashed.
            Operation::Take { path, capture: _, sha256, size, mode, expected } => {
                self.named("take", path);
                self.0.part(sha256.as_bytes());
                self.number(*size);
                self.expected(*expected);
                match mode {
                    None => self.name("no mode"),
                    Some(mode) => self.mode(*mode),
                }
            }
            Operation::Delete { path, expected, parents } => {
                self.named("delete", path);
                self.expected(*expected);
                self.parents(*parents);
            }
            Operation::Rename { from, to, parents } => {
                self.named("rename", from);
                self.0.part(to.as_bytes());
                self.parents(*parents);
            }
            Operation::Copy { from, to } => {
                self.named("copy", from);
                self.0.part(to.as_bytes());
            }
            Operation::Chmod { path, mode } => {
                self.named("chmod", path);
                self.mode(*mode);
            }
            Operation::ChmodDirectory { path, mode, expected } => {
                self.named("chmod directory", path);
                self.mode(ModeChange::Exact(*mode));
                self.mode(ModeChange::Exact(*expected));
            }
            Operation::MakeDirectory { path, mode } => {
                self.named("make directory", path);
                match mode {
                    None => self.name("no mode"),
                    Some(mode) => self.mode(ModeChange::Exact(*mode)),
                }
            }
            Operation::RemoveDirectory { path } => self.named("remove directory", path),
            Operation::Link { path, target, expected } => {
                self.named("link", path);
                self.0.part(target);
                self.expected(*expected);
            }
        }
    }

    fn hunk(&mut self, hunk: &LineHunk) {
        let LineHunk { old_start, old_lines, new_start, new_lines, body, at_end } = hunk;
        for number in [old_start, old_lines, new_start, new_lines] {
            self.number(u64::from(*number));
        }
        self.0.part(body);
        self.number(u64::from(*at_end));
    }

    fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Replace(Replacement { old, new, occurrences }) => {
                self.name("replace");
                self.0.part(old);
                self.0.part(new);
                self.name(match occurrences {
                    Occurrences::One => "one",
                    Occurrences::All => "all",
                });
            }
            Edit::Chunks(chunks) => {
                self.name("chunks");
                self.number(count(chunks.len()));
                chunks.iter().for_each(|chunk| self.chunk(chunk));
            }
            Edit::Binary(BinaryEdit { before, after, change }) => {
                self.name("binary");
                self.name(&before.to_string());
                self.name(&after.to_string());
                let (name, bytes) = match change {
                    BinaryChange::Literal(bytes) => ("literal", bytes),
                    BinaryChange::Delta(bytes) => ("delta", bytes),
                };
                self.name(name);
                self.0.part(bytes);
            }
            Edit::Json(JsonPatch { operations }) => {
                self.name("json patch");
                self.number(count(operations.len()));
                operations.iter().for_each(|operation| self.patch_operation(operation));
            }
            Edit::LineInsert(LineInsert { line_number, content }) => {
                self.name("line insert");
                self.number(u64::from(*line_number));
                self.0.part(content);
            }
            Edit::LineDelete(LineDelete { start_line, end_line }) => {
                self.name("line delete");
                self.number(u64::from(*start_line));
                self.number(u64::from(*end_line));
            }
            Edit::JsonValue(edit) => self.json_value(edit),
            Edit::Yaml(YamlUpdate { path, document, value }) => {
                match document {
                    None => self.name("yaml update"),
                    Some(document) => {
                        self.name("yaml update in document");
                        self.number(u64::from(document.get()));
                    }
                }
                self.name(path.as_str());
                self.name(value.as_str());
            }
            Edit::YamlRemove(YamlRemove { path, document }) => {
                match document {
                    None => self.name("yaml remove"),
                    Some(document) => {
                        self.name("yaml remove in document");
                        self.number(u64::from(document.get()));
                    }
                }
                self.name(path.as_str());
            }
        }
    }

    fn json_value(&mut self, edit: &JsonValueEdit) {
        self.name(match edit {
            JsonValueEdit::AddProperty { .. } => "json add property",
            JsonValueEdit::RemoveProperty { .. } => "json remove property",
            JsonValueEdit::UpdateValue { .. } => "json update value",
        });
        self.name(edit.path().as_str());
        match edit {
            JsonValueEdit::AddProperty { key, value, .. } => {
                self.name(key);
                self.name(value.as_str());
            }
            JsonValueEdit::RemoveProperty { key, .. } => self.name(key),
            JsonValueEdit::UpdateValue { value, .. } => self.name(value.as_str()),
        }
    }

    fn chunk(&mut self, Chunk { anchors, lines, at_end }: &Chunk) {
        self.number(count(anchors.len()));
        anchors.iter().for_each(|anchor| self.0.part(anchor));
        self.number(count(lines.len()));
        for line in lines {
            self.name(match line.side {
                Side::Context => "context",
                Side::Old => "old",
                Side::New => "new",
            });
            self.0.part(&line.bytes);
        }
        self.number(u64::from(*at_end));
    }

    fn patch_operation(&mut self, operation: &PatchOperation) {
        let (name, path) = match operation {
            PatchOperation::Add { path, .. } => ("add", path),
            PatchOperation::Remove { path } => ("remove", path),
            PatchOperation::Replace { path, .. } => ("replace", path),
            PatchOperation::Move { path, .. } => ("move", path),
            PatchOperation::Copy { path, .. } => ("copy", path),
            PatchOperation::Test { path, .. } => ("test", path),
        };
        self.name(name);
        self.name(&path.to_string());
        match operation {
            PatchOperation::Add { value, .. }
            | PatchOperation::Replace { value, .. }
            | PatchOperation::Test { value, .. } => self.name(value.as_str()),
            PatchOperation::Move { from, .. } | PatchOperation::Copy { from, .. } => {
                self.name(&from.to_string());
            }
            PatchOperation::Remove { .. } => {}
        }
    }

    fn named(&mut self, name: &str, path: &RelPath) {
        self.name(name);
        self.0.part(path.as_bytes());
    }

    fn name(&mut self, name: &str) {
        self.0.part(name.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn expected(&mut self, expected: Option<Digest>) {
        match expected {
            None => self.name("anything"),
            Some(digest) => self.0.part(digest.as_bytes()),
        }
    }

    fn mode(&mut self, mode: ModeChange) {
        let (name, number) = match mode {
            ModeChange::Exact(mode) => ("exact", mode.bits()),
            ModeChange::Executable(executable) => ("executable", u32::from(executable)),
        };
        self.name(name);
        self.number(u64::from(number));
    }

    fn parents(&mut self, parents: EmptyParents) {
        self.name(match parents {
            EmptyParents::Keep => "keep",
            EmptyParents::Remove => "remove",
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;

    use super::*;
    use crate::edit::JsonPath;
    use crate::edit::json_patch::{JsonText, Pointer};
    use actum_core::{FileMode, RunId};

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    fn hunk(body: &[u8], at_end: bool) -> LineHunk {
        let body = body.to_vec();
        LineHunk { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, body, at_end }
    }

    /// AEC-7: requests have the same digest only if their operations are equal.
    #[test]
    fn different_operations_have_different_digests() {
        let patch = |hunks| Operation::Patch { path: path("a"), hunks, expected: None };
        let edit = |edit| Operation::Edit { path: path("a"), edit, expected: None };
        let replace = |occurrences| {
            edit(Edit::Replace(Replacement { old: b"a".into(), new: b"b".into(), occurrences }))
        };
        let pointer = || Pointer::new("/a").unwrap();
        let json = |operation| edit(Edit::Json(JsonPatch { operations: vec![operation] }));
        let value = || JsonText::new("1").unwrap();
        let at = || JsonPath::new("$.a").unwrap();
        let added = |key: &str| JsonValueEdit::AddProperty {
            path: at(),
            key: key.to_owned(),
            value: value(),
        };
        let delete = |parents, expected| Operation::Delete { path: path("a"), expected, parents };
        let chmod = |mode| Operation::Chmod { path: path("a"), mode };
        let make = |mode| Operation::MakeDirectory { path: path("a"), mode };
        let create = |mode| Operation::Create { path: path("a"), content: b"c".into(), mode };
        let take = |content: &[u8], expected| Operation::Take {
            path: path("a"),
            capture: RunId::from_random(1),
            sha256: Digest::of(content),
            size: 1,
            mode: None,
            expected,
        };
        let different = [
            vec![],
            vec![patch(vec![])],
            vec![patch(vec![hunk(b"-a\n+b\n", false)])],
            vec![patch(vec![hunk(b"-a\n+b\n", true)])],
            vec![patch(vec![hunk(b"-a\n", false), hunk(b"+b\n", false)])],
            vec![replace(Occurrences::One)],
            vec![replace(Occurrences::All)],
            vec![replace(Occurrences::All), replace(Occurrences::All)],
            vec![json(PatchOperation::Remove { path: pointer() })],
            vec![json(PatchOperation::Add { path: pointer(), value: value() })],
            vec![json(PatchOperation::Test { path: pointer(), value: value() })],
            vec![json(PatchOperation::Copy { path: pointer(), from: pointer() })],
            vec![edit(Edit::LineInsert(LineInsert { line_number: 1, content: b"a".into() }))],
            vec![edit(Edit::LineInsert(LineInsert { line_number: 2, content: b"a".into() }))],
            vec![edit(Edit::LineDelete(LineDelete { start_line: 1, end_line: 2 }))],
            vec![edit(Edit::LineDelete(LineDelete { start_line: 2, end_line: 2 }))],
            vec![edit(Edit::JsonValue(added("a")))],
            vec![edit(Edit::JsonValue(added("b")))],
            vec![edit(Edit::JsonValue(JsonValueEdit::RemoveProperty {
                path: at(),
                key: "a".into(),
            }))],
            vec![edit(Edit::JsonValue(JsonValueEdit::UpdateValue { path: at(), value: value() }))],
            vec![edit(Edit::Yaml(YamlUpdate { path: at(), document: None, value: value() }))],
            vec![edit(Edit::Yaml(YamlUpdate {
                path: at(),
                document: NonZeroU32::new(1),
                value: value(),
            }))],
            vec![delete(EmptyParents::Keep, None)],
            vec![delete(EmptyParents::Remove, None)],
            vec![delete(EmptyParents::Keep, Some(Digest::of(b"")))],
            vec![chmod(ModeChange::Executable(true))],
            vec![chmod(ModeChange::Exact(FileMode::new(1)))],
            vec![make(None)],
            vec![make(Some(FileMode::PRIVATE_DIRECTORY))],
            vec![Operation::RemoveDirectory { path: path("a") }],
            vec![create(None)],
            vec![create(Some(ModeChange::Executable(false)))],
            vec![Operation::Write { path: path("a"), content: b"c".into(), expected: None }],
            vec![take(b"c", None)],
            vec![take(b"d", None)],
            vec![take(b"c", Some(Digest::of(b"")))],
            vec![Operation::Copy { from: path("a"), to: path("b") }],
            vec![Operation::Copy { from: path("b"), to: path("a") }],
        ];
        let mut seen = BTreeMap::new();
        for operations in &different {
            let other = seen.insert(Operation::digest(operations), operations);
            assert_eq!(other, None, "{operations:?}");
            assert_eq!(Operation::digest(operations), Operation::digest(&operations.clone()));
        }
    }
}
