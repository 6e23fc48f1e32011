//! Converts the multi-line messages of DuckDB to a single line.

/// Converts a message of DuckDB to a single line. DuckDB prints an excerpt of the query, such as `LINE 2: ...`, and a
/// caret below the message. The excerpt is replaced by a line and a column number, both starting at 1. The column is
/// omitted if the beginning of the line is missing in the excerpt.
pub(crate) fn on_one_line(message: &str) -> String {
    let mut text: Vec<String> = Vec::new();
    let mut lines = message.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let excerpt = line.strip_prefix("LINE ").and_then(|rest| rest.split_once(": "));
        let Some((number, shown)) = excerpt.filter(|(number, _)| number.parse::<u32>().is_ok())
        else {
            text.push(line.trim().to_owned());
            continue;
        };
        let before = "LINE : ".len() + number.len();
        let caret = lines.next_if(|line| line.trim_start().starts_with('^'));
        let column = caret.and_then(|caret| caret.find('^')?.checked_sub(before));
        text.push(match column.filter(|_| !shown.starts_with("...")) {
            Some(column) => format!("(line {number}, column {})", column + 1),
            None => format!("(line {number})"),
        });
    }
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-11: an error in a query is reported with its line and column.
    #[test]
    fn query_error_is_reported_with_line_and_column() {
        for (message, shown) in [
            (
                "Parser Error: syntax error at or near \"SELEC\"\n\nLINE 1: SELEC 1\n        ^^^^^",
                "Parser Error: syntax error at or near \"SELEC\" (line 1, column 1)",
            ),
            (
                "Binder Error: no column\nCandidates: \"a\"\n\nLINE 12:   SELECT b\n                  ^",
                "Binder Error: no column Candidates: \"a\" (line 12, column 10)",
            ),
            ("Parser Error: x\n\nLINE 3: ... FROM t\n            ^", "Parser Error: x (line 3)"),
            ("LINE up: here", "LINE up: here"),
            ("LINE 1: no caret", "(line 1)"),
            ("", ""),
        ] {
            assert_eq!(on_one_line(message), shown);
        }
    }
}
