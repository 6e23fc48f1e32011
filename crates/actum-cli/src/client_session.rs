//! Session of the client that started this process.

use std::fs;

use nix::unistd::getppid;

/// Returns a name that identifies the client's session. It consists of the boot id and of the id and start time of the client
/// process, so it stays the same if the client restarts this server.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel provides this information only in `/proc`"
)]
pub(crate) fn name() -> String {
    let parent = getppid();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    let started = started(&stat).unwrap_or_default();
    format!("{}/{parent}/{started}", boot.trim())
}

/// Returns the start time of a process, in clock ticks since boot. This is field 22 of `/proc/PID/stat` (proc_pid_stat(5)).
fn started(stat: &str) -> Option<&str> {
    // Field 2 is the process name in parentheses, which may itself contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 27
    #[test]
    fn process_start_time_is_found_after_any_process_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 10";
        assert_eq!(started(stat), Some("4711"));
        assert_eq!(started(""), None);
        assert_eq!(name(), name());
        assert!(!name().ends_with('/'), "{}", name());
    }
}
