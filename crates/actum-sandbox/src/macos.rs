//! Host report for macOS, where sandboxing is not implemented yet.
//!
//! An implementation would use Seatbelt: `sandbox_init` with a profile that denies by default, as in
//! other tools for agents. That function is deprecated, but macOS has no other public interface. A
//! profile can deny access below an allowed directory, so it could enforce `deny_write`, and it can
//! restrict network and sockets. macOS has no PID namespaces, so killing a process tree would need
//! polling, as would memory limits. It has no overlays, so a view would be a clone (`clonefile`).

use crate::host::HostReport;

/// Returns the report for macOS, which offers no tier.
pub(crate) fn report() -> HostReport {
    HostReport::unsupported("macOS", "a sandbox would use Seatbelt (`sandbox_init`)")
}

#[cfg(target_os = "macos")]
impl HostReport {
    /// Returns a report without any tier, because macOS is not supported yet.
    pub fn probe(_: &crate::Helper) -> Self {
        report()
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::SandboxPolicy;

    /// AA-10
    #[test]
    fn on_macos_every_command_is_rejected_with_the_reason() {
        let policy = SandboxPolicy { read: vec!["/Users".into()], ..SandboxPolicy::new("/Users") };
        let refused = policy.plan(&super::report()).unwrap_err();
        assert_eq!(refused.code(), "SANDBOX_UNAVAILABLE");
        assert!(refused.to_string().contains("could not create a sandbox on macOS"), "{refused}");
    }
}
