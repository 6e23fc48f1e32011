//! Prompt that instructs an executor to carry out a plan (EX-23).

use super::names::{CONFIG_FILE, PLAN_FILE, SUMMARY_FILE};

/// Returns the text of `executor_prompt.txt`. `path` must convert the name of a file in the report directory to the path that the
/// prompt refers to.
pub fn executor_prompt(path: impl Fn(&str) -> String) -> String {
    let (summary, config, plan) = (path(SUMMARY_FILE), path(CONFIG_FILE), path(PLAN_FILE));
    format!(
        "\
You are the Agent Executor. A plan has been made and agreed to; your part is to carry it out as it
stands.

---

## Input Context

Three files say what there is to do. Nothing else does:

1. {summary}
2. {config}
3. {plan}

Where they leave a question open, leave it open: report it, and change nothing for it.

---

## Execution Rules

1. Take the steps of {PLAN_FILE} in the order that its dependencies give.
2. Stay within what {CONFIG_FILE} allows.
3. Change the files that a step names in the way that it says, and no other file.
4. Where a step cannot be done, because something is missing or does not match, leave it out with all
   that depends on it, and write down why.
5. Write one line of log for each step.

---

## Model Configuration

- Model: Claude Sonnet 4.5
- Temperature: 0.0 (deterministic execution)
- Max Tokens: 4096
- Cost-aware: Minimize token usage
- Execution mode: Quick, minimal reasoning

---

## Output Format

For each step of {PLAN_FILE}:

- Step ID / Description
- Status: executed / skipped / failed
- Notes (if skipped or failed)

Then what came of it, in a few lines:

- Files modified
- Files created
- Files deleted
- Any conflicts detected

---

## Constraints

- The plan is not yours to improve: no new design, no second analysis, no guess.
- Spend as few tokens as the work takes.
- A person reads the log to check the work, so keep it short and plain.

The same plan and the same files must lead you to the same result each time.
"
    )
}

/// Returns whether [`executor_prompt`] generated the text, with any paths.
pub fn is_executor_prompt(text: &str) -> bool {
    let path = |mark: &str| text.lines().find_map(|line| line.strip_prefix(mark));
    let (Some(summary), Some(config), Some(plan)) = (path("1. "), path("2. "), path("3. ")) else {
        return false;
    };
    let same = executor_prompt(|file| match file {
        SUMMARY_FILE => summary.to_owned(),
        CONFIG_FILE => config.to_owned(),
        _plan => plan.to_owned(),
    });
    same == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReportName;

    /// EX-23
    #[test]
    fn prompt_has_the_required_headings_settings_and_words() {
        let time = "2026-02-03T15:03:22.000000Z".parse().unwrap();
        let report = ReportName::new(time, &"plan-001".parse().unwrap(), 1);
        let prompt = executor_prompt(|file| report.file(file));
        let lines: Vec<&str> = prompt.lines().collect();
        let headings: Vec<&str> =
            lines.iter().copied().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(
            headings,
            [
                "## Input Context",
                "## Execution Rules",
                "## Model Configuration",
                "## Output Format",
                "## Constraints"
            ]
        );
        assert_eq!(lines.iter().filter(|line| **line == "---").count(), 5);
        let directory = "agent/agent_outputs/reports/20260203_150322_plan-001";
        for required in [
            &format!("1. {directory}/IMPLEMENTATION_SUMMARY.md"),
            &format!("2. {directory}/system_config.yaml"),
            &format!("3. {directory}/task_plan.json"),
            "- Model: Claude Sonnet 4.5",
            "- Temperature: 0.0 (deterministic execution)",
            "- Max Tokens: 4096",
            "- Cost-aware: Minimize token usage",
            "- Execution mode: Quick, minimal reasoning",
            "- Step ID / Description",
            "- Status: executed / skipped / failed",
            "- Notes (if skipped or failed)",
            "- Files modified",
            "- Files created",
            "- Files deleted",
            "- Any conflicts detected",
        ] {
            assert!(lines.contains(&required), "{required}");
        }
        assert!(prompt.starts_with("You are the Agent Executor."));
        assert!(is_executor_prompt(&prompt));
        for other in ["", "You are the Agent Executor.\n", &format!("{prompt}mine\n")] {
            assert!(!is_executor_prompt(other), "{other}");
        }
    }
}
