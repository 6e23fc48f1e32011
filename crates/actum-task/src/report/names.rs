//! Names of the files that a task writes, and which of them plans must not change (EX-13, EX-4).

use std::cmp::Ordering;
use std::fmt;

use actum_core::path::NAME_BYTES_MAX;
use actum_core::plain_id::{ID_CHARS_MAX, PlainId};
use actum_core::{Digest, RelPath, Timestamp};

/// Path of the directory that contains the report directories, relative to the workspace root.
pub const REPORTS_DIRECTORY: &str = "agent/agent_outputs/reports";
/// Path of the directory that contains the archived plans, relative to the workspace root.
pub const ARCHIVE_DIRECTORY: &str = "agent/agent_outputs/archive";

/// File name of the execution report.
pub const EXECUTION_REPORT_FILE: &str = "execution_report.json";
/// File name of the change log.
pub const CHANGE_LOG_FILE: &str = "change_log.json";
/// File name of the rollback manifest.
pub const ROLLBACK_MANIFEST_FILE: &str = "rollback_manifest.json";
/// File name of the error report.
pub const ERROR_REPORT_FILE: &str = "error_report.json";
/// File name of the prompt for an executor.
pub const PROMPT_FILE: &str = "executor_prompt.txt";
/// File name of the human-readable summary of the plan.
pub const SUMMARY_FILE: &str = "IMPLEMENTATION_SUMMARY.md";
/// File name of the config with which the plan was executed.
pub const CONFIG_FILE: &str = "system_config.yaml";
/// File name of the plan.
pub const PLAN_FILE: &str = "task_plan.json";
/// File name of the script that rolls back the run.
pub const ROLLBACK_SCRIPT_FILE: &str = "rollback.sh";
/// Prefix of temporary file names. The rollback script copies a backup to such a name before it moves the copy into place.
pub const TEMPORARY_PREFIX: &str = ".restore-";
/// Prefix of the names to which the rollback script moves a file until its replacement is in place.
const DISPLACED_PREFIX: &str = ".displaced-";
/// Name of the directory that contains the backups of a run.
pub const BACKUPS_DIRECTORY: &str = "backups";

/// Names of the files in a report directory, with the most useful ones first.
///
/// The error report exists only after an error. The rollback manifest and the script exist only if the run reached a checkpoint.
pub const REPORT_FILES: [&str; 9] = [
    EXECUTION_REPORT_FILE,
    CHANGE_LOG_FILE,
    ROLLBACK_MANIFEST_FILE,
    ERROR_REPORT_FILE,
    PROMPT_FILE,
    SUMMARY_FILE,
    CONFIG_FILE,
    PLAN_FILE,
    ROLLBACK_SCRIPT_FILE,
];

/// Name of a report directory, such as `20260203_150322_plan-001`. The time is in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReportName(String);

impl ReportName {
    /// Returns the report name for a task. `attempt` is 1 and increases each time the name is already taken.
    ///
    /// Attempts after the first one add a suffix such as `+2`. Names stay unique because task ids cannot contain `+`.
    pub fn new(time: Timestamp, task: &PlainId, attempt: u32) -> Self {
        Self(numbered(format!("{}_{task}", stamp(time)), attempt))
    }

    /// Parses the name of a directory. Returns `None` if it is not a report name.
    pub fn read(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (stamp, task) = name.split_at_checked(STAMP.len())?;
        let is_stamp = stamp.bytes().zip(STAMP.bytes()).all(|(byte, pattern)| match pattern {
            b'_' => byte == b'_',
            _ => byte.is_ascii_digit(),
        });
        let (task, attempt) = task.split_once('+').unwrap_or((task, "2"));
        let is_attempt =
            attempt.parse::<u32>().is_ok_and(|number| number > 1 && number.to_string() == attempt);
        (is_stamp && is_attempt && PlainId::is_one(task)).then(|| Self(name.to_owned()))
    }

    /// Returns the id of the task.
    pub fn task(&self) -> &str {
        let task = self.0.get(STAMP.len()..).unwrap_or_default();
        task.split_once('+').map_or(task, |(task, _)| task)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of the report directory, relative to the workspace root.
    pub fn directory(&self) -> String {
        format!("{REPORTS_DIRECTORY}/{self}")
    }

    /// Returns the path of a file in the report directory, relative to the workspace root.
    pub fn file(&self, name: &str) -> String {
        format!("{REPORTS_DIRECTORY}/{self}/{name}")
    }

    /// Returns the path of the backup of a file, relative to the workspace root.
    pub fn backup(&self, path: &RelPath) -> String {
        format!("{REPORTS_DIRECTORY}/{self}/{BACKUPS_DIRECTORY}/{}", backup_name(path))
    }

    /// Returns the path to which the rollback script moves a file temporarily, relative to the workspace root.
    pub fn displaced(&self, path: &RelPath) -> String {
        self.file(&displaced_name(path))
    }
}

impl Ord for ReportName {
    /// Orders names by time, then by task, then by attempt.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |name: &Self| {
            let (_, attempt) = name.0.split_once('+').unwrap_or(("", "1"));
            let stamp = name.0.get(..STAMP.len()).unwrap_or_default().to_owned();
            (stamp, name.task().to_owned(), attempt.parse::<u32>().unwrap_or(u32::MAX))
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for ReportName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ReportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the directory to which the previous plan is archived, relative to the workspace root (EX-6). `attempt` has the same
/// meaning as in [`ReportName::new`].
pub fn archive_directory(time: Timestamp, attempt: u32) -> String {
    let name = numbered(format!("{}_plan_active", stamp(time)), attempt);
    format!("{ARCHIVE_DIRECTORY}/{name}")
}

fn numbered(name: String, attempt: u32) -> String {
    if attempt > 1 { format!("{name}+{attempt}") } else { name }
}

/// Formats a time as `YYYYMMDD_HHMMSS` in UTC.
fn stamp(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.chars().take("YYYY-MM-DDTHH:MM:SS".len());
    let digit = |c: char| match c {
        'T' => Some('_'),
        c => c.is_ascii_digit().then_some(c),
    };
    seconds.filter_map(digit).collect()
}

/// Pattern of the time at the start of a report name.
const STAMP: &str = "YYYYMMDD_HHMMSS_";

/// Suffix of the names of backups.
const BACKUP_END: &str = ".bak";
/// Separator between the truncated path and its digest in the name of a backup. The names of backups with short paths do not
/// contain it.
const CUT: char = '~';

/// Returns the name of the backup of the file at `path`.
///
/// The name encodes the entire path. Letters, digits, `.`, `_` and `-` stay the same, and any other byte becomes `%` and two
/// hexadecimal digits. If the name would be longer than file systems allow, it is truncated, and `~` and the SHA-256 of the path
/// are added. Different paths always get different names.
pub fn backup_name(path: &RelPath) -> String {
    let each = path.as_bytes().iter().map(|&byte| {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    });
    let each: Vec<String> = each.collect();
    let room = NAME_BYTES_MAX - BACKUP_END.len();
    if each.iter().map(String::len).sum::<usize>() <= room {
        return each.concat() + BACKUP_END;
    }
    let digest = Digest::of(path.as_bytes()).to_string();
    let room = room - CUT.len_utf8() - digest.len();
    let mut name = String::new();
    for encoded in each {
        if name.len() + encoded.len() > room {
            break;
        }
        name.push_str(&encoded);
    }
    format!("{name}{CUT}{digest}{BACKUP_END}")
}

/// Returns the name to which the rollback script moves a file temporarily. The name depends only on the path, so that the next
/// script or `actum rollback` finds a file that a killed script left behind.
pub fn displaced_name(path: &RelPath) -> String {
    format!("{DISPLACED_PREFIX}{}", Digest::of(path.as_bytes()))
}

/// Returns the path whose backup has the given name.
///
/// Returns `None` if it is not the name of a backup, or if the path was too long to be encoded. In that case, the rollback manifest
/// contains the path.
pub fn path_of_backup(name: &str) -> Option<RelPath> {
    let mut rest = name.strip_suffix(BACKUP_END)?.as_bytes();
    let mut path = Vec::new();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'%' => {
                let (code, behind) = rest.split_first_chunk::<2>()?;
                let [byte] = actum_core::digest::from_hex::<1>(code)?;
                path.push(byte);
                rest = behind;
            }
            byte => path.push(byte),
        }
    }
    // Reject any name that is not the canonical name for the path.
    RelPath::new(path).ok().filter(|path| backup_name(path) == name)
}

/// Returns whether plans must not change the path because a rollback depends on it (EX-4). This applies to the rollback manifest,
/// the rollback script and the backups in a report directory. Letter case is ignored.
pub fn is_protected_report(path: &RelPath) -> bool {
    let mut components = path.components();
    let is_report = REPORTS_DIRECTORY.split('/').all(|part| {
        components.next().is_some_and(|component| component.eq_ignore_ascii_case(part.as_bytes()))
    });
    let within = components.nth(1);
    is_report
        && within.is_some_and(|name| {
            [ROLLBACK_MANIFEST_FILE, ROLLBACK_SCRIPT_FILE, BACKUPS_DIRECTORY]
                .iter()
                .any(|protected| name.eq_ignore_ascii_case(protected.as_bytes()))
        })
}

// Even with the longest id, a report name with a time and an attempt number is not too long for a file name.
const _: () = assert!(STAMP.len() + ID_CHARS_MAX + "+4294967295".len() <= NAME_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(bytes: &[u8]) -> RelPath {
        RelPath::new(bytes).unwrap()
    }

    /// EX-13
    #[test]
    fn report_directory_name_contains_time_and_task() {
        let time = "2026-02-03T15:03:22.999999Z".parse().unwrap();
        let task: PlainId = "plan-001".parse().unwrap();
        let name = ReportName::new(time, &task, 1);
        assert_eq!(
            name.file(EXECUTION_REPORT_FILE),
            "agent/agent_outputs/reports/20260203_150322_plan-001/execution_report.json"
        );
        assert_eq!(ReportName::new(time, &task, 2).as_str(), "20260203_150322_plan-001+2");
        for attempt in [1, 2, 17] {
            let name = ReportName::new(time, &task, attempt);
            assert_eq!(ReportName::read(name.as_str().as_bytes()).as_ref(), Some(&name));
            assert_eq!(name.task(), "plan-001");
        }
        let names = [1, 2, 9, 10, 11].map(|attempt| ReportName::new(time, &task, attempt));
        assert!(names.is_sorted(), "attempts must be sorted numerically");
        for other in [
            "",
            "20260203_150322_",
            "20260203_15032_aa",
            "20260203_150322_a+1",
            "20260203_150322_a+02",
            "x",
        ] {
            assert_eq!(ReportName::read(other.as_bytes()), None, "{other}");
        }
        assert_eq!(
            archive_directory(time, 1),
            "agent/agent_outputs/archive/20260203_150322_plan_active"
        );
        assert_eq!(
            archive_directory(time, 3),
            "agent/agent_outputs/archive/20260203_150322_plan_active+3"
        );
    }

    /// EX-13
    #[test]
    fn backup_name_encodes_the_full_path() {
        assert_eq!(backup_name(&path(b"src/a b.rs")), "src%2Fa%20b.rs.bak");
        assert_eq!(backup_name(&path(b"-a\n%\xff")), "-a%0A%25%FF.bak");
        let longest = "n".repeat(251);
        assert_eq!(backup_name(&path(longest.as_bytes())), format!("{longest}.bak"));
        let over = "n".repeat(252);
        let name = backup_name(&path(over.as_bytes()));
        assert_eq!(name, format!("{}~{}.bak", "n".repeat(186), Digest::of(over.as_bytes())));
        assert_eq!(path_of_backup(&name), None);
        for name in
            ["a", ".bak", "a/b.bak", "%2f.bak", "%61.bak", "a%2.bak", "a%2fb.bak", "a~b.bak"]
        {
            assert_eq!(path_of_backup(name), None, "{name}");
        }
    }

    /// EX-4
    #[test]
    fn only_rollback_files_of_a_report_are_protected() {
        let inside = |rest: &str| path(format!("agent/agent_outputs/reports/{rest}").as_bytes());
        for rest in [
            "20260203_150322_a/rollback_manifest.json",
            "x/Rollback_Manifest.JSON",
            "x/rollback.sh",
            "x/backups",
            "x/backups/a.bak",
            "x/BACKUPS/a/b",
        ] {
            assert!(is_protected_report(&inside(rest)), "{rest}");
        }
        for rest in
            ["x", "x/execution_report.json", "x/y/backups/a", "rollback_manifest.json", "backups"]
        {
            assert!(!is_protected_report(&inside(rest)), "{rest}");
        }
        assert!(!is_protected_report(&path(b"backups/a")));
        assert!(!is_protected_report(&path(b"agent/temp/reports/x/backups/a")));
    }

    fn any_path() -> impl Strategy<Value = RelPath> {
        let component = prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..9),
            "[a%~./-]{1,3}(n{120})?(n{126})?".prop_map(String::into_bytes),
        ];
        let joined = proptest::collection::vec(component, 1..4).prop_map(|parts| parts.join(&b'/'));
        joined.prop_filter_map("a path", |bytes| RelPath::new(bytes).ok())
    }

    proptest! {
        /// EX-13
        #[test]
        fn path_is_recovered_from_the_backup_name(a in any_path(), b in any_path()) {
            let (name, other) = (backup_name(&a), backup_name(&b));
            prop_assert!(name.len() <= NAME_BYTES_MAX && !name.contains('/'));
            prop_assert_eq!(a == b, name == other);
            let parsed = path_of_backup(&name);
            prop_assert!(parsed == Some(a) || (parsed.is_none() && name.contains('~')));
        }
    }
}
