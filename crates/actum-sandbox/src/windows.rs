//! Windows support. There is no sandbox for Windows yet, so no command is run there.
//!
//! A sandbox could use an AppContainer without file and network capabilities, in a job object. Closing the last handle
//! of a job object kills its entire process tree, and its limits of memory, CPU time and process count are hard.
//! Declared paths would have to be granted in their access control lists and revoked again, even after a crash. Windows
//! has no overlay file system, so a view would have to be a copy.

use crate::host::HostReport;

/// Returns a report that no sandbox is available on Windows.
pub(crate) fn report() -> HostReport {
    HostReport::unsupported("Windows", "a sandbox would use an AppContainer in a job object")
}

#[cfg(target_os = "windows")]
impl HostReport {
    /// Returns a report without any available tier.
    pub fn probe(_: &crate::Helper) -> Self {
        report()
    }
}

#[cfg(test)]
mod tests {
    /// AA-10: on Windows, every command is refused with the reason that there is no sandbox.
    #[test]
    fn on_windows_every_command_is_rejected_with_the_reason() {
        let report = super::report();
        let message = report.tier_n.unwrap_err().to_string();
        assert!(message.contains("could not create a sandbox on Windows"), "{message}");
        assert!(report.tier_l.is_err() && report.overlay.is_err() && report.loopback.is_err());
    }
}
