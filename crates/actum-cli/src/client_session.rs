//! Session of the client that started this process.

use std::fs;

use nix::unistd::getppid;

/// Returns the name of the session: the process of the client, whose name is unique until the next boot. A server that
/// the client restarts belongs to the same session.
#[expect(clippy::disallowed_methods, reason = "the kernel says it there, and nowhere else")]
pub(crate) fn name() -> String {
    let parent = getppid();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    let started = started(&stat).unwrap_or_default();
    format!("{}/{parent}/{started}", boot.trim())
}

/// Returns the start time of a process, in clock ticks since the boot: field 22 of its state (proc_pid_stat(5)).
fn started(stat: &str) -> Option<&str> {
    // The process name, field 2, can hold any bytes.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 27
    #[test]
    fn the_start_of_a_process_is_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 10";
        assert_eq!(started(stat), Some("4711"));
        assert_eq!(started(""), None);
        assert_eq!(name(), name());
        assert!(!name().ends_with('/'), "{}", name());
    }
}
