//! Checks that in `docs/conformance.md`, every requirement has its rule, code and tests.

use std::ops::RangeInclusive;

use super::Finding;
use super::test_index::{Test, tests};
use super::tree::Tree;

const TABLE: &str = "docs/conformance.md";

/// Requirements that must have a row. Additional rows are checked in the same way.
const REQUIRED: &[(&str, RangeInclusive<u32>)] = &[
    ("FO", 1..=10),
    ("FE", 1..=17),
    ("AA", 1..=13),
    ("EX", 1..=25),
    ("AEC", 1..=22),
    ("D", 1..=8),
];

/// Prefix of the rule of a requirement that is not implemented yet.
const NOT_BUILT: &str = "Not built:";

/// Table row: `| number | rule | code files | tests |`.
struct Row {
    line: usize,
    number: String,
    rule: String,
    /// Paths relative to the root of the repository.
    code: Vec<String>,
    tests: Vec<String>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = match std::fs::read_to_string(tree.root.join(TABLE)) {
        Ok(text) => text,
        Err(error) => return vec![Finding::new(TABLE, None, format!("cannot be read: {error}"))],
    };
    let (rows, mut findings) = rows(&text);
    for number in REQUIRED.iter().flat_map(|(prefix, numbers)| {
        numbers.clone().map(move |number| format!("{prefix}-{number}"))
    }) {
        match rows.iter().filter(|row| row.number == number).count() {
            0 => findings.push(Finding::new(TABLE, None, format!("{number} has no row"))),
            1 => {}
            count => findings.push(Finding::new(TABLE, None, format!("{number} has {count} rows"))),
        }
    }
    let tests = tests(tree);
    findings.extend(rows.iter().flat_map(|row| {
        row.problems(tree, &tests)
            .into_iter()
            .map(|problem| Finding::new(TABLE, row.line, format!("{} {problem}", row.number)))
    }));
    findings
}

impl Row {
    fn problems(&self, tree: &Tree, tests: &[Test]) -> Vec<String> {
        let mut problems = Vec::new();
        if self.rule.starts_with(NOT_BUILT) {
            if !self.code.is_empty() || !self.tests.is_empty() {
                problems.push("is not built, but names code or tests".to_owned());
            }
            return problems;
        }
        if self.rule.is_empty() {
            problems.push("does not say the rule".to_owned());
        }
        if self.code.is_empty() {
            problems.push("names no code file".to_owned());
        }
        for path in self.code.iter().filter(|path| !tree.root.join(path).is_file()) {
            problems.push(format!("names the code file `{path}`, which does not exist"));
        }
        if self.tests.is_empty() {
            problems.push(self.tests_to_name(tests));
        }
        for name in &self.tests {
            let mut called = tests.iter().filter(|test| test.name == *name).peekable();
            if called.peek().is_none() {
                problems.push(format!("names the test `{name}`, but no test of that name runs"));
            } else if !called.any(|test| test.names(&self.number)) {
                problems
                    .push(format!("names the test `{name}`, whose doc comment does not name it"));
            }
        }
        problems
    }

    fn tests_to_name(&self, tests: &[Test]) -> String {
        let naming: Vec<String> = tests
            .iter()
            .filter(|test| test.names(&self.number))
            .map(|test| format!("`{}`", test.name))
            .collect();
        match naming.is_empty() {
            true => "names no test, and no test names it".to_owned(),
            false => format!("names no test; these name it: {}", naming.join(", ")),
        }
    }
}

/// Returns the rows of the table, and findings about malformed rows.
fn rows(text: &str) -> (Vec<Row>, Vec<Finding>) {
    let (mut rows, mut findings) = (Vec::new(), Vec::new());
    for (line, content) in (1..).zip(text.lines()) {
        let Some(inside) = content.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|'))
        else {
            continue;
        };
        let cells: Vec<&str> = inside.split('|').map(str::trim).collect();
        let number = cells.first().copied().unwrap_or_default();
        if !is_number(number) {
            continue;
        }
        let &[number, rule, code, tests] = cells.as_slice() else {
            let problem = format!("{number} has {} cells, not 4", cells.len());
            findings.push(Finding::new(TABLE, line, problem));
            continue;
        };
        let (code, tests) = (in_backticks(code), in_backticks(tests));
        rows.push(Row { line, number: number.to_owned(), rule: rule.to_owned(), code, tests });
    }
    (rows, findings)
}

/// Whether a cell is a requirement number, such as `FO-1`: an area in capitals and a number.
fn is_number(cell: &str) -> bool {
    cell.split_once('-').is_some_and(|(prefix, number)| {
        !prefix.is_empty()
            && prefix.chars().all(|char| char.is_ascii_uppercase())
            && number.parse::<u32>().is_ok()
    })
}

fn in_backticks(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing;

    /// Returns the findings for this table in a tree with one code file and two tests, except those about requirement numbers
    /// without a row.
    fn found(table: &str) -> Vec<String> {
        let tests = "/// FO-1, FO-2\n#[test]\nfn it_holds() {}\n#[test]\nfn it_does_not_say() {}\n";
        let files = [("docs/conformance.md", table), ("src/a.rs", ""), ("tests/t.rs", tests)];
        let mut found = testing::findings(check, &files);
        found.retain(|finding| !finding.ends_with(" has no row"));
        found
    }

    #[test]
    fn complete_row_passes() {
        let table = "| number | rule | code | tests |\n| --- | --- | --- | --- |\n\
                     | FO-1 | A rule. | `src/a.rs` | `it_holds` |\n";
        assert_eq!(found(table), [""; 0]);
    }

    #[test]
    fn missing_or_wrong_cells_of_a_row_are_reported() {
        let table = "| FO-1 | | | |\n\
            | FO-3 | A rule. | | |\n\
            | FO-2 | A rule. | `src/a.rs`, `src/b.rs` | `it_holds`, `it_does_not_say`, `gone` |\n\
            | FO-4 | A rule. | `src/a.rs` |\n";
        assert_eq!(
            found(table),
            [
                "docs/conformance.md:4: FO-4 has 3 cells, not 4",
                "docs/conformance.md:1: FO-1 does not say the rule",
                "docs/conformance.md:1: FO-1 names no code file",
                "docs/conformance.md:1: FO-1 names no test; these name it: `it_holds`",
                "docs/conformance.md:2: FO-3 names no code file",
                "docs/conformance.md:2: FO-3 names no test, and no test names it",
                "docs/conformance.md:3: FO-2 names the code file `src/b.rs`, which does not exist",
                "docs/conformance.md:3: FO-2 names the test `it_does_not_say`, whose doc comment \
                 does not name it",
                "docs/conformance.md:3: FO-2 names the test `gone`, but no test of that name runs",
            ]
        );
    }

    #[test]
    fn missing_or_duplicate_row_is_reported() {
        let row = "| FO-1 | A rule. | `src/a.rs` | `it_holds` |\n";
        assert_eq!(found(&row.repeat(2)), ["docs/conformance.md: FO-1 has 2 rows"]);
        let numbers: Vec<String> = testing::findings(check, &[("docs/conformance.md", row)])
            .iter()
            .filter_map(|finding| {
                finding.strip_suffix(" has no row")?.split(' ').nth(1).map(str::to_owned)
            })
            .collect();
        assert_eq!((numbers.len(), &*numbers[0], &*numbers[93]), (94, "FO-2", "D-8"));
    }

    #[test]
    fn unbuilt_requirement_names_no_code_or_tests() {
        let row = "| FO-1 | Not built: later. | `src/a.rs` | |\n";
        assert!(
            found(row).iter().any(|it| it.ends_with("FO-1 is not built, but names code or tests"))
        );
        let row = "| FO-1 | Not built: later. | | |\n";
        assert_eq!(found(row), [""; 0]);
    }

    #[test]
    fn a_repository_without_the_table_is_not_tidy() {
        let found = testing::findings(check, &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/conformance.md: cannot be read: "), "{}", found[0]);
    }
}
