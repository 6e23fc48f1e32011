//! Parses a section of a plain unified diff, which has `---` and `+++` lines but no `diff --git` line (POSIX diff(1),
//! "Diff -u Output Format").

use super::hunks;
use super::lines::Lines;
use super::names::{Name, PLAIN_PREFIXES, common_prefixes};
use super::problem::DiffProblem;
use super::section::{self, Before, Change, Content, Edit, GitMode, Section};
use crate::format::ParseError;

/// Checks whether the current line starts a section.
pub(super) fn starts(lines: &Lines<'_>) -> bool {
    lines.current().is_some_and(|line| line.starts_with(b"--- "))
        && lines.following().is_some_and(|line| line.starts_with(b"+++ "))
}

/// Parses the section that starts at the current line, and moves `lines` to the line after it.
pub(super) fn section<'a>(lines: &mut Lines<'a>) -> Result<Section<'a>, ParseError> {
    let place = lines.place();
    let mut name = |keyword| match lines.after(keyword)? {
        Some(text) => {
            lines.advance();
            Name::before_tab(text)
        }
        None => Err(ParseError::diff(place, DiffProblem::NoSection)),
    };
    let ((old, old_stamp), (new, new_stamp)) = (name("--- ")?, name("+++ ")?);
    let hunks = hunks::read(lines)?;
    if hunks.is_empty() {
        let problem = DiffProblem::NoHunks { found: lines.found() };
        return Err(ParseError::diff(lines.place(), problem));
    }
    let (fills, empties) = match &*hunks {
        [hunk] => (hunk.creates(), hunk.deletes()),
        [..] => (false, false),
    };
    let creates = old.is_dev_null() || (is_epoch(old_stamp) && fills);
    let deletes = new.is_dev_null() || (is_epoch(new_stamp) && empties);
    let path = match (old.is_dev_null(), new.is_dev_null()) {
        (true, true) => return Err(ParseError::diff(place, DiffProblem::NoName)),
        (true, false) => new.path("b/", lines.root)?,
        (false, true) => old.path("a/", lines.root)?,
        (false, false) => match common_prefixes(&old, &new, PLAIN_PREFIXES) {
            Some((prefix, _)) => old.path(prefix, lines.root)?,
            None => {
                let problem = DiffProblem::NamesDiffer { old: old.excerpt(), new: new.excerpt() };
                return Err(ParseError::diff(place, problem));
            }
        },
    };
    let change = if creates {
        let content = section::created(place, &path, &hunks)?;
        Change::Create { path, content, mode: GitMode::File }
    } else if deletes {
        let expected = section::deleted(place, &path, &hunks)?;
        Change::Delete { path, expected, is_link: false }
    } else {
        let (before, content) = (Before::Unknown, Content::Lines(hunks));
        Change::Modify { path, edit: Edit { before, content, executable: None } }
    };
    Ok(Section { line: place.line, change })
}

/// Checks whether a timestamp is the Unix epoch, which `diff -N` writes for a missing file. It can be in any time zone, such as
/// `1970-01-01 01:00:00.000000000 +0100`.
fn is_epoch(stamp: &[u8]) -> bool {
    let parse = || {
        let mut words = std::str::from_utf8(stamp).ok()?.split(' ');
        let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
        let day_minutes = match date {
            "1969-12-31" => -24 * 60,
            "1970-01-01" => 0,
            _ => return None,
        };
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let clock = clock.strip_suffix(":00")?;
        if !fraction.bytes().all(|digit| digit == b'0') {
            return None;
        }
        let (sign, zone) = match zone.strip_prefix('-') {
            Some(zone) => (-1, zone),
            None => (1, zone.strip_prefix('+')?),
        };
        Some(day_minutes + minutes(clock)? == sign * minutes(zone)?)
    };
    parse().unwrap_or(false)
}

/// Converts a time of the form `HH:MM` or `HHMM` to minutes.
fn minutes(clock: &str) -> Option<i32> {
    let (hours, minutes) = match clock.split_once(':') {
        Some(parts) => parts,
        None => clock.split_at_checked(2)?,
    };
    let two_digits = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| two_digits(text));
    Some(i32::from(number(hours)?) * 60 + i32::from(number(minutes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FO-10
    #[test]
    fn epoch_timestamp_is_recognised_in_any_time_zone() {
        for stamp in [
            "1970-01-01 00:00:00.000000000 +0000",
            "1970-01-01 00:00:00 +0000",
            "1970-01-01 05:30:00.000000000 +05:30",
            "1969-12-31 16:00:00.000000000 -0800",
            "1970-01-01 00:00:00 -0000",
        ] {
            assert!(is_epoch(stamp.as_bytes()), "{stamp}");
        }
    }

    /// FO-10
    #[test]
    fn other_timestamps_are_not_recognised_as_the_epoch() {
        for stamp in [
            "",
            "1970-01-01 00:00:00",
            "1970-01-01 00:00:01.000000000 +0000",
            "1970-01-01 00:00:00.000000001 +0000",
            "1970-01-01 00:00:00.000000000 +0100",
            "1969-12-31 16:00:00.000000000 +0800",
            "1970-01-02 00:00:00.000000000 +0000",
            "1970-01-01 +0:+0:00 +0000",
            "1970-01-01 00:00:00 0000",
            "1970-01-01 é:00 +0000",
            "(revision 1)",
        ] {
            assert!(!is_epoch(stamp.as_bytes()), "{stamp}");
        }
    }
}
