//! What a plan does, file by file, for people (EX-23).

use std::collections::BTreeMap;

use actum_core::path::Harmless;
use actum_core::plain_id::PlainId;

use super::clean_text::CleanText;

/// What a plan does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSummary {
    /// The plan.
    pub plan_id: PlainId,
    /// The task.
    pub task_id: PlainId,
    /// Its actions, in the order in which they are carried out.
    pub actions: Vec<PlannedAction>,
}

/// What an action does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedAction {
    /// Its id.
    pub action_id: CleanText,
    /// Its type: `FILE_MODIFY`, say.
    pub action_type: CleanText,
    /// The path, as the plan names it.
    pub target: CleanText,
    /// What is done there, in a few words.
    pub what: CleanText,
    /// How risky the plan says it is, where it does.
    pub risk_level: Option<CleanText>,
    /// The actions that have to be done before.
    pub depends_on: Vec<CleanText>,
}

/// The text of `IMPLEMENTATION_SUMMARY.md`.
pub fn implementation_summary(summary: &PlannedSummary) -> String {
    let mut files: BTreeMap<&str, Vec<(usize, &PlannedAction)>> = BTreeMap::new();
    for (number, action) in (1..).zip(&summary.actions) {
        files.entry(action.target.as_str()).or_default().push((number, action));
    }
    let count = |number: usize, one: &str| {
        if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
    };
    let mut text = format!(
        "# Plan {}\n\nTask {}: {} on {}. The numbers are the order in which they are carried out.\n",
        summary.plan_id,
        summary.task_id,
        count(summary.actions.len(), "action"),
        count(files.len(), "file"),
    );
    for (target, actions) in files {
        text.push_str(&format!("\n## {}\n\n", code(target)));
        for (number, action) in actions {
            let mut told = format!(
                "{number}. {} ({}): {}",
                code(action.action_id.as_str()),
                code(action.action_type.as_str()),
                code(action.what.as_str())
            );
            if let Some(risk) = &action.risk_level {
                told.push_str(&format!("; risk {}", code(risk.as_str())));
            }
            if !action.depends_on.is_empty() {
                let before: Vec<String> =
                    action.depends_on.iter().map(|id| code(id.as_str())).collect();
                told.push_str(&format!("; after {}", before.join(", ")));
            }
            text.push_str(&told);
            text.push('\n');
        }
    }
    text
}

/// Text from outside as code, in which Markdown obeys nothing: on one line, between more backticks
/// than stand in it side by side.
fn code(text: &str) -> String {
    let text = Harmless(text.as_bytes()).to_string();
    let (longest, _) = text.chars().fold((0, 0), |(longest, here): (usize, usize), c| {
        let here = if c == '`' { here + 1 } else { 0 };
        (longest.max(here), here)
    });
    let fence = "`".repeat(longest + 1);
    let needs_blank = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let blank = if needs_blank { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> CleanText {
        CleanText::new(text, &|_| Vec::new())
    }

    fn action(id: &str, target: &str, what: &str) -> PlannedAction {
        PlannedAction {
            action_id: clean(id),
            action_type: clean("FILE_MODIFY"),
            target: clean(target),
            what: clean(what),
            risk_level: None,
            depends_on: Vec::new(),
        }
    }

    /// EX-23
    #[test]
    fn a_summary_tells_what_is_done_to_each_file() {
        let mut last = action("a003", "b.txt", "text_replace");
        last.risk_level = Some(clean("LOW"));
        last.depends_on = vec![clean("a001"), clean("a`b")];
        let summary = PlannedSummary {
            plan_id: "plan-001".parse().unwrap(),
            task_id: "task-7".parse().unwrap(),
            actions: vec![
                action("a001", "b.txt", "line_insert"),
                action("a002", "a\n# b`.txt", "`"),
                last,
            ],
        };
        let expected = "\
# Plan plan-001

Task task-7: 3 actions on 2 files. The numbers are the order in which they are carried out.

## ``a<\\n># b`.txt``

2. `a002` (`FILE_MODIFY`): `` ` ``

## `b.txt`

1. `a001` (`FILE_MODIFY`): `line_insert`
3. `a003` (`FILE_MODIFY`): `text_replace`; risk `LOW`; after `a001`, ``a`b``
";
        assert_eq!(implementation_summary(&summary), expected);
    }
}
