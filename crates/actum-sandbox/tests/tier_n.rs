//! Tier N, run for real.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use actum_sandbox::{Controllers, Ended, Helper, HostReport, SandboxPolicy, Tier};

fn main() {
    actum_sandbox::helper::enter();
    let host = HostReport {
        landlock: Some(7),
        seccomp: Ok(()),
        namespaces: Ok(()),
        loopback: Ok(()),
        overlay: Ok(()),
        namespace_pid_max: true,
        is_root: true,
        cgroup: Controllers::default(),
    };
    let policy = SandboxPolicy {
        exec: ["/usr", "/bin", "/lib", "/lib64"].map(Into::into).to_vec(),
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].map(Into::into).to_vec(),
        floor: Tier::N,
        ..SandboxPolicy::new("/usr")
    };
    let plan = policy.plan(&host).unwrap();
    let command: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let command = if command.first().is_some_and(|c| c.to_string_lossy().starts_with('/')) {
        command
    } else {
        ["/bin/sh", "-c", "id; ls / /dev; cat /proc/self/status | grep Cap; ps aux; exit 7"]
            .map(Into::into)
            .to_vec()
    };
    let outcome = plan.spawn(&Helper::this_program(), &command).unwrap().wait().unwrap();
    println!("{:?} {:?}", outcome.ended, outcome.violated);
    println!(
        "{}{}",
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    );
    assert!(matches!(outcome.ended, Some(Ended::Code(_))));
}
