//! Counts the results in the reports of test programs.

use std::fmt;
use std::io::{self, BufRead, Write};

/// Sum of the summary lines of several test programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Copies every line of `report` to `out` as it arrives, and adds the summaries it contains.
    pub(crate) fn count(
        &mut self,
        mut report: impl BufRead,
        mut out: impl Write,
    ) -> io::Result<()> {
        let mut line = Vec::new();
        while report.read_until(b'\n', &mut line)? > 0 {
            out.write_all(&line)?;
            self.add(&String::from_utf8_lossy(&line));
            line.clear();
        }
        out.flush()
    }

    /// Adds the counts of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`, and ignores any other
    /// line.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        for count in counts.split(';') {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.skipped += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_totalled_and_every_line_is_passed_through() {
        let report = "running 3 tests\n\
            test a ... ok\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            not one: test result: ok. 9 passed; 9 failed; 9 ignored\n\
            test result: FAILED. 40 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out\n\
            no newline at the end";
        let mut tally = Tally::default();
        let mut out = Vec::new();
        tally.count(report.as_bytes(), &mut out).unwrap();
        assert_eq!(tally, Tally { passed: 42, failed: 3, skipped: 1 });
        assert_eq!(tally.to_string(), "42 passed, 3 failed, 1 skipped");
        assert_eq!(String::from_utf8(out).unwrap(), report);
    }
}
