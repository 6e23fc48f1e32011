//! Parses JSON arrays that contain edits and whole files in any order. The fields of an element determine its kind.

use actum_core::json::Value;

use super::document::{Document, Refusal, recognise};
use super::steps::Steps;
use super::{Format, edits, files};

/// Parses each element as an edit or a whole file, depending on its fields. If the fields of an element do not identify
/// either, it is parsed in `format`.
pub(super) fn read(
    elements: &[Value<'_>],
    format: Format,
    document: &Document<'_>,
    steps: &mut Steps,
) -> Result<(), Refusal> {
    for element in elements {
        let refused = |problem| Refusal::at(element.span.start, problem);
        match recognise::element(element).map_err(refused)?.unwrap_or(format) {
            Format::Files => files::file(element, document.root, steps)?,
            Format::Edits
            | Format::ChangeSet
            | Format::JsonPatch
            | Format::GitDiff
            | Format::SearchReplace
            | Format::CodexPatch => edits::edit(element, document.root, steps)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::edit::{Edit, Occurrences, Replacement};
    use crate::format::{Format, Reading, parse};
    use crate::{EmptyParents, Operation};
    use actum_core::RelPath;
    use proptest::prelude::*;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    fn edit(name: &str) -> Operation {
        let edit = Replacement { old: "x".into(), new: "y".into(), occurrences: Occurrences::One };
        Operation::Edit { path: path(name), edit: Edit::Replace(edit), expected: None }
    }

    fn read(json: &str) -> Result<Vec<Operation>, String> {
        parse(json.as_bytes(), &Reading::default()).map_err(|error| error.to_string())
    }

    fn elements() -> ([String; 3], [Operation; 3]) {
        let edited = r#"{"path":"a","old_string":"x","new_string":"y"}"#;
        let made = r#"{"path":"b","content":"x"}"#;
        let deleted = r#"{"path":"c","content":null}"#;
        let operations = [
            edit("a"),
            Operation::Create { path: path("b"), content: "x".into(), mode: None },
            Operation::Delete { path: path("c"), expected: None, parents: EmptyParents::Remove },
        ];
        ([edited, made, deleted].map(str::to_owned), operations)
    }

    /// FO-10, Issue 27
    #[test]
    fn edits_and_whole_files_mix_in_one_list_in_any_order() {
        let (elements, operations) = elements();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let list = format!("[{}]", order.map(|index| elements[index].clone()).join(","));
            let expected = order.map(|index| operations[index].clone());
            for json in
                [list.clone(), format!("{{\"edits\":{list}}}"), format!("{{\"files\":{list}}}")]
            {
                assert_eq!(read(&json).unwrap(), expected, "{json}");
            }
            for format in [Format::Edits, Format::Files] {
                let reading = Reading { format: Some(format), ..Reading::default() };
                assert_eq!(parse(list.as_bytes(), &reading).unwrap(), expected, "{list}");
            }
        }
    }

    /// Issue 27
    #[test]
    fn later_element_can_edit_a_file_created_earlier_in_the_list() {
        let operations =
            read(r#"[{"path":"a","content":"x"},{"path":"a","old_string":"x","new_string":"y"}]"#);
        let create = Operation::Create { path: path("a"), content: "x".into(), mode: None };
        assert_eq!(operations.unwrap(), [create, edit("a")]);
    }

    /// D-4, Issue 27
    #[test]
    fn ambiguous_list_is_rejected_at_the_offending_element() {
        for (json, message) in [
            (
                r#"[{"path":"a","old_string":"x","new_string":"y"},{"path":"a","content":""}]"#,
                "line 1, column 57: `a` is changed earlier in the input, and its whole content would discard that \
                 change; remove one of them",
            ),
            (
                r#"[{"path":"b","content":""},{"path":"a","old_string":"x","content":""}]"#,
                "line 1, column 28: the JSON mixes formats: `old_string` belongs to edits, `content` belongs to \
                 whole files; put edits and whole files in one array, and pass other formats as separate inputs",
            ),
            (
                r#"{"edits":[{"path":"a","old_string":"x","new_string":"y"}],"files":[]}"#,
                "line 1, column 1: the JSON mixes formats: `edits` belongs to edits, `files` belongs to whole files; \
                 put edits and whole files in one array, and pass other formats as separate inputs",
            ),
            (
                r#"[{"path":"b","content":""},{"path":"a","json_patch":[]}]"#,
                "line 1, column 1: the JSON mixes formats: `content` belongs to whole files, `json_patch` belongs \
                 to a JSON Patch; put edits and whole files in one array, and pass other formats as separate inputs",
            ),
            (
                r#"[{"path":"b","content":""},{"path":"a","old_string":"x"}]"#,
                "line 1, column 28: missing field `new_string`; fields of an edit: `path`, \
                 `old_string`, `new_string`, `replace_all`, `expected_prev_sha256`",
            ),
        ] {
            assert_eq!(read(json).unwrap_err(), message, "{json}");
        }
    }

    /// Issue 27
    #[test]
    fn several_documents_form_one_change() {
        let (elements, operations) = elements();
        for between in ["", "\n", "\r\n", " \n\n\t"] {
            let json = elements.join(between);
            assert_eq!(read(&json).unwrap(), operations, "{json}");
            assert_eq!(read(&format!("\n{json}\n")).unwrap(), operations, "{json}");
        }
        let patch = r#"{"patches":[{"path":"d","hunks":[{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,
            "lines":"-a\n+b\n"}]}]}"#;
        let lists = format!("[{}]{{\"files\":[{}]}}{patch}", elements[0], elements[1..].join(","));
        let read_lists = read(&lists).unwrap();
        assert_eq!(read_lists[..3], operations);
        assert!(
            matches!(&read_lists[3..], [Operation::Patch { path, .. }] if *path == self::path("d"))
        );
    }

    /// D-4, Issue 27
    #[test]
    fn error_in_one_of_several_documents_reports_its_line() {
        let edit = r#"{"path":"a","old_string":"x","new_string":"y"}"#;
        let whole = r#"{"path":"a","content":""}"#;
        let hunks = r#"{"patches":[{"path":"a","hunks":[{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,"lines":"-a\n+b\n"}]}]}"#;
        let digest = format!(
            r#"{{"path":"a","old_string":"x","new_string":"y","expected_prev_sha256":"{}"}}"#,
            "0".repeat(64)
        );
        for (second, message) in [
            (
                "{\"path\":\"a\",}",
                "line 3, column 13: invalid JSON: trailing comma before this bracket",
            ),
            ("{\"path\":", "line 3, column 9: invalid JSON: unexpected end of the text"),
            ("[]", "line 3, column 1: the array is empty, so there is nothing to change"),
            (
                whole,
                "line 3, column 9: `a` is changed earlier in the input, and its whole content would discard that change; remove one of them",
            ),
            (
                hunks,
                "line 3, column 21: `a` is changed earlier in the input, so the line numbers of its hunks are ambiguous; pass the hunks as a separate input",
            ),
            (
                &digest,
                "line 3, column 70: `a` is changed earlier in the input, so `expected_prev_sha256` is ambiguous; give it with the first edit of the file",
            ),
            (
                "true",
                "line 3, column 1: invalid JSON: unexpected `t…` after the end of the JSON value",
            ),
            (
                "// {}",
                "line 3, column 1: invalid JSON: unexpected `/` after the end of the JSON value",
            ),
        ] {
            assert_eq!(read(&format!("{edit}\n\n{second}\n")).unwrap_err(), message, "{second}");
        }
        assert_eq!(
            read(&format!("{whole}\n{whole}")).unwrap_err(),
            "line 2, column 9: the file `a` appears more than once"
        );
        let reading = Reading { format: Some(Format::Edits), ..Reading::default() };
        let mixed = parse(format!("{edit}\n{hunks}").as_bytes(), &reading).unwrap_err().to_string();
        assert!(mixed.starts_with("line 2, column 2: unknown field `patches`"), "{mixed}");
    }

    /// Issue 27
    #[test]
    fn value_limit_applies_to_all_documents_together() {
        let element = |n: usize| format!("{{\"path\":\"{n}\",\"content\":null}}");
        let few: String = (0..1_000).map(element).collect();
        assert_eq!(read(&few).unwrap().len(), 1_000);
        let many = format!("{few}[{}0]", "0,".repeat(actum_core::json::VALUES_MAX));
        let error = read(&many).unwrap_err();
        assert!(error.ends_with("the text has more than 2000000 values"), "{error}");
        let long = "{\"path\":\"a\",\"content\":null}".repeat(actum_core::json::VALUES_MAX / 2 + 1);
        let error = read(&long).unwrap_err();
        assert!(error.ends_with("the text has more than 2000000 values"), "{error}");
    }

    proptest! {
        /// Issue 27
        #[test]
        fn concatenated_documents_are_equivalent_to_their_list(
            parts in prop::collection::vec((any::<bool>(), "[a-c]", "[{}\\[\\]\"\\\\x\n]{1,4}"), 1..8),
            between in "[ \n\r\t]{0,2}",
        ) {
            let elements: Vec<String> = parts.iter().map(|(is_edit, path, text)| match is_edit {
                true => serde_json::json!({"path": path, "old_str": text, "new_str": ""}),
                false => serde_json::json!({"filename": path, "content": text}),
            }.to_string()).collect();
            let list = read(&format!("[{}]", elements.join(",")));
            let documents = read(&elements.join(&between));
            match (list, documents) {
                (Ok(list), Ok(documents)) => prop_assert_eq!(list, documents),
                (list, documents) => prop_assert!(list.is_err() && documents.is_err()),
            }
        }
    }
}
