//! Windows, where no command is run yet.
//!
//! Its means would be an AppContainer without capabilities for files and network, in a job object.
//! That ends the whole tree with its last handle, and holds memory, processor time and the number
//! of processes hard. Access to declared paths would have to be granted in their access lists, and
//! revoked again, also after a crash. There is no overlay, so a view would be a copy.

use crate::host::HostReport;

/// Report of this system.
pub(crate) fn report() -> HostReport {
    HostReport::unsupported("Windows", "it would be made with an AppContainer in a job object")
}

#[cfg(target_os = "windows")]
impl HostReport {
    /// No tier, for now.
    pub fn probe(_: &crate::Helper) -> Self {
        report()
    }
}

#[cfg(test)]
mod tests {
    /// AA-10
    #[test]
    fn on_windows_every_command_is_refused_with_the_reason() {
        let report = super::report();
        let told = report.tier_n.unwrap_err().to_string();
        assert!(told.contains("could not make a sandbox on Windows"), "{told}");
        assert!(report.tier_l.is_err() && report.overlay.is_err() && report.loopback.is_err());
    }
}
