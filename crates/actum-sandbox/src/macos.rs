//! macOS, where no command is run yet.
//!
//! Its means would be Seatbelt: `sandbox_init` with a profile that denies by default, as other
//! tools for agents have it. It is deprecated, and there is no other public interface. A profile
//! can take rights away again below a directory, so `deny_write` could be held; network and sockets
//! too. There is no PID namespace, so ending a whole tree of processes could only be polled, like
//! memory. There is no overlay, so a view would be a clone of the directory (`clonefile`).

use crate::host::HostReport;

/// Report of this system.
pub(crate) fn report() -> HostReport {
    HostReport::unsupported("macOS", "it would be made with Seatbelt (`sandbox_init`)")
}

#[cfg(target_os = "macos")]
impl HostReport {
    /// No tier, for now.
    pub fn probe(_: &crate::Helper) -> Self {
        report()
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::SandboxPolicy;

    /// AA-10
    #[test]
    fn on_macos_every_command_is_refused_with_the_reason() {
        let policy = SandboxPolicy { read: vec!["/Users".into()], ..SandboxPolicy::new("/Users") };
        let refused = policy.plan(&super::report()).unwrap_err();
        assert_eq!(refused.code(), "SANDBOX_UNAVAILABLE");
        assert!(refused.to_string().contains("could not make a sandbox on macOS"), "{refused}");
    }
}
