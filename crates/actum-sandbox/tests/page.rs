//! The tables in `docs/sandbox.md` match the code. `UPDATE_DOCS=1` regenerates them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

use actum_sandbox::{
    Controllers, Enforcement, HostReport, Limit, Limits, Missing, Resource, SandboxPolicy,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md");
const MARK: &str = "<!-- limits -->\n\n";
const HEAD: &str = "| name | what | default | tier N | tier L |\n| --- | --- | --- | --- | --- |\n";

/// Returns the report of a host that has every feature except a control group.
fn host(is_root: bool) -> HostReport {
    HostReport {
        kept_in: None,
        landlock: Some(7),
        tier_n: Ok(()),
        tier_l: Ok(()),
        loopback: Ok(()),
        overlay: Ok(()),
        remedy: None,
        namespace_pid_max: true,
        is_root,
        cgroup: Controllers::default(),
    }
}

fn without_namespaces(host: HostReport) -> HostReport {
    let missing = || Missing::of_host("create namespaces".to_owned(), "not here".to_owned());
    HostReport { tier_n: Err(missing()), loopback: Err(missing()), overlay: Err(missing()), ..host }
}

/// Returns the strongest enforcement that can be demanded for a limit on this host.
fn held(resource: Resource, host: &HostReport) -> Enforcement {
    let demanding = |require| {
        let limit = Limits::default().of(resource);
        let limits = Limits::default().with(resource, limit.max, require);
        let policy = SandboxPolicy { limits, ..SandboxPolicy::new("/work") };
        let policy = SandboxPolicy { read: vec!["/work".into()], ..policy };
        policy.plan(host).map(|plan| plan.in_force.limits[&resource])
    };
    demanding(Enforcement::Hard).or_else(|_| demanding(Enforcement::Polled)).unwrap()
}

fn amount(resource: Resource, Limit { max, .. }: Limit) -> String {
    match resource.unit() {
        "ms" => format!("{} min", max / 60_000),
        "bytes" if max >= 1 << 30 => format!("{} GiB", max >> 30),
        "bytes" => format!("{} MiB", max >> 20),
        _ => max.to_string(),
    }
}

/// FE-12
#[test]
fn sandbox_page_lists_the_enforcement_of_each_limit() {
    let row = |resource: Resource| {
        let in_n = [held(resource, &host(false)), held(resource, &host(true))];
        let lower = |is_root| held(resource, &without_namespaces(host(is_root)));
        assert_eq!(in_n[0], in_n[1], "{resource}");
        assert_eq!(lower(false), lower(true), "{resource}");
        format!(
            "| `{resource}` | {} | {} | {} | {} |\n",
            resource.description(),
            amount(resource, Limits::default().of(resource)),
            in_n[0],
            lower(false)
        )
    };
    let table: String = Resource::ALL.into_iter().map(row).collect();
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(MARK).unwrap();
    let after = rest.split_once("\n\n").unwrap().1;
    let expected = format!("{before}{MARK}{HEAD}{table}\n{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
    }
    assert!(std::fs::read_to_string(PAGE).unwrap() == expected, "UPDATE_DOCS=1 writes it anew");
}
