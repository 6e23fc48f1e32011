//! `actum doctor`: checks the workspace and the system on which it depends.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::task::{library_hint, library_in_force};
use actum_api::doctor::{Doctor, Health};
use actum_core::path::Quoted;
use actum_gate::policy::TaskEnvelopes;
use actum_hook::Client;
use actum_sandbox::{Helper, HostReport};
use actum_sql::{Library, LibraryError, Origin, TestedLibrary, version_of};
use actum_workspace::examination::{Finding, Verdict, examine};

use super::Session;
use super::ledger::entries_of;
use super::protect::{self, Configured};
use crate::approval_key::{self, ApprovalState};
use crate::count::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::output::Document;
use crate::records::{self, Examination};
use crate::style::{self, Painted};
use crate::{home, operators_policy, policy, root};

/// Check the workspace, its file system, the ledger, the policies and the sandbox
///
/// Tests the operations that changes need, on temporary files of its own. The exit code is 4 if something needs
/// attention.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut findings = if root::is_made(session.root()) {
        examine(session.root())
    } else {
        vec![Finding {
            what: "workspace",
            verdict: Verdict::Good,
            detail: "none here; run `actum init` to create one".to_owned(),
        }]
    };
    findings.push(record(session.root(), &session.tenant));
    findings.push(operator());
    findings.extend(lease_key());
    findings.extend(policies(session.root()));
    let host = HostReport::probe(&Helper::this_program());
    findings.push(sandbox(&host));
    findings.extend(Client::ALL.into_iter().filter_map(|client| hook(client, session.root())));
    findings.push(sql(session.root(), &host));
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Good);
    let findings = findings.into_iter().map(shown).collect();
    session.screen.show(&Doctor { version: env!("CARGO_PKG_VERSION").to_owned(), findings })?;
    Ok(match worst {
        Verdict::Good => Exit::Success,
        Verdict::Limited | Verdict::Bad => Exit::NeedsAttention,
    })
}

/// Reports whether runs in this workspace can be recorded and signed.
fn record(root: &Path, tenant: &Tenant) -> Finding {
    let (verdict, detail) = match records::examine(root, tenant) {
        Ok(Examination::None) => {
            (Verdict::Good, "none yet; the first run creates it together with its keys".to_owned())
        }
        Ok(Examination::Sound { entries }) => (
            Verdict::Good,
            format!("it is readable and its keys can sign; {}", entries_of(entries)),
        ),
        Ok(Examination::Open { runs }) => {
            let runs = count(runs, "run");
            let detail =
                format!("{runs} here without a receipt; the next run or `actum recover` writes it");
            (Verdict::Limited, detail)
        }
        Ok(Examination::Elsewhere { origin }) => {
            let origin = Quoted(origin.as_bytes());
            let detail = format!(
                "every change is rejected: this workspace belongs to the ledger `{origin}`, which is not in use; if that \
                 ledger is lost, restore it from a backup, or move the workspace with `actum bind`"
            );
            (Verdict::Bad, detail)
        }
        Ok(Examination::Unrecorded { runs }) => {
            let runs = count(runs, "run");
            let detail = format!(
                "{runs} of this workspace were made by another installation and are not recorded; see `actum explain \
                 RUN_UNRECORDED`"
            );
            (Verdict::Bad, detail)
        }
        Err(failure) => (Verdict::Bad, format!("every change is rejected: {failure}")),
    };
    Finding { what: "ledger", verdict, detail }
}

/// Reports the state of the approval key.
fn operator() -> Finding {
    let (verdict, detail) = match approval_key::approval_key() {
        Ok(ApprovalState::Missing) => (
            Verdict::Good,
            "missing, so no plan can be approved; run `actum key make approval` before the first change, because a later key \
             becomes valid only after 24 hours"
                .to_owned(),
        ),
        Ok(ApprovalState::Proven) => {
            (Verdict::Good, "it is protected by a passphrase and valid".to_owned())
        }
        Ok(ApprovalState::Unproven) => (
            Verdict::Limited,
            "accepted without proof after 24 hours, so its approvals are marked `unproven`".to_owned(),
        ),
        Ok(ApprovalState::WithoutPassphrase) => (
            Verdict::Limited,
            "it has no passphrase, so it cannot approve; run `actum key rotate approval` to replace it"
                .to_owned(),
        ),
        Ok(ApprovalState::Waiting) => (
            Verdict::Limited,
            "a new key without proof is pending; if you did not create it, run `actum key deny approval`"
                .to_owned(),
        ),
        Err(unread) => (Verdict::Bad, Failure::from(unread).to_string()),
    };
    Finding { what: "approval key", verdict, detail }
}

/// Reports the state of the lease key, if there is one.
fn lease_key() -> Option<Finding> {
    let (verdict, detail) = match approval_key::lease_key() {
        Ok(ApprovalState::Missing) => return None,
        Ok(ApprovalState::Proven) => {
            (Verdict::Good, "it is protected by a passphrase and valid".to_owned())
        }
        Ok(ApprovalState::Unproven) => (
            Verdict::Limited,
            "accepted without proof after 24 hours, so its grants are marked `unproven`".to_owned(),
        ),
        Ok(ApprovalState::WithoutPassphrase) => (
            Verdict::Limited,
            "it has no passphrase, so it cannot grant leases; run `actum key rotate lease` to replace it"
                .to_owned(),
        ),
        Ok(ApprovalState::Waiting) => (
            Verdict::Limited,
            "a new key without proof is pending; if you did not create it, run `actum key deny lease`"
                .to_owned(),
        ),
        Err(unread) => (Verdict::Bad, Failure::from(unread).to_string()),
    };
    Some(Finding { what: "lease key", verdict, detail })
}

/// Reports whether the policies can be used, and whether task envelopes must be signed.
fn policies(root: &Path) -> Vec<Finding> {
    let (verdict, detail) = match policy::in_force(root).map(|it| it.task_envelopes) {
        Ok(TaskEnvelopes::Signed) => (
            Verdict::Good,
            "only envelopes that the approval key signed are accepted (`[tasks] signed = true`)"
                .to_owned(),
        ),
        Ok(TaskEnvelopes::Any) => {
            let operators = operators_policy::operators();
            let detail = format!(
                "unsigned envelopes, which any of your programs can write, are accepted; to reject them, set \
                 `[tasks] signed = true` in {operators}"
            );
            (Verdict::Good, detail)
        }
        Err(failure) => {
            let detail = format!("every change is rejected: {failure}");
            return vec![Finding { what: "policy", verdict: Verdict::Bad, detail }];
        }
    };
    vec![
        Finding {
            what: "policy",
            verdict: Verdict::Good,
            detail: "all policy files can be used".to_owned(),
        },
        Finding { what: "task envelopes", verdict, detail },
    ]
}

/// Reports the hook in the settings of a client, if there is one. This does not prove that the client calls the hook;
/// only a trial can do that.
fn hook(client: Client, root: &Path) -> Option<Finding> {
    let user = home::user_home()?;
    let name = client.name();
    let (verdict, detail) = match protect::state_of(client, (root, &user)) {
        Ok(Configured { is_somewhere: false, is_in_part: false, .. }) => return None,
        Ok(Configured { off_in: Some(file), .. }) => {
            let file = Quoted(file.as_os_str().as_bytes());
            (
                Verdict::Limited,
                format!("`{name}` does not call hooks because `{file}` disables them"),
            )
        }
        Ok(Configured { is_somewhere: true, is_strict, .. }) => {
            let strict = if is_strict { " (strict)" } else { "" };
            let proof = format!("run `actum protect {name} --check` to prove it");
            (Verdict::Good, format!("`{name}` is set up to call it{strict}; {proof}"))
        }
        Ok(Configured { is_somewhere: false, .. }) => {
            let mend = format!("run `actum protect {name}` to complete them");
            (
                Verdict::Limited,
                format!("the settings of `{name}` call it only at some events; {mend}"),
            )
        }
        Err(failure) => (Verdict::Limited, format!("the settings of `{name}`: {failure}")),
    };
    Some(Finding { what: "hook", verdict, detail })
}

/// Reports how strictly this host can confine commands. Missing enforcement is a problem only if a setting is known
/// that would improve it.
fn sandbox(host: &HostReport) -> Finding {
    let (verdict, detail) = match (&host.tier_n, &host.tier_l, &host.remedy) {
        (Ok(()), _, _) => {
            let missing =
                [&host.overlay, &host.loopback].into_iter().filter_map(|it| it.as_ref().err());
            let missing: String = missing.map(|missing| format!("; {missing}")).collect();
            let what = "tier N: a command sees only what its policy declares";
            (Verdict::Good, format!("{what}{missing}"))
        }
        (Err(missing), Ok(()), None) => (Verdict::Good, format!("tier L only: {missing}")),
        (Err(missing), Ok(()), Some(remedy)) => {
            (Verdict::Limited, format!("tier L only: {missing}; {remedy}"))
        }
        (Err(n), Err(l), remedy) => {
            let remedy = remedy.iter().map(|remedy| format!("; {remedy}")).collect::<String>();
            let detail = format!("no command can be run: tier N: {n}; tier L: {l}{remedy}");
            (Verdict::Limited, detail)
        }
    };
    Finding { what: "sandbox", verdict, detail }
}

/// Reports the library that SQL steps load. A pinned library is loaded in the sandbox to determine its version.
fn sql(root: &Path, host: &HostReport) -> Finding {
    // A policy that cannot be read pins no library, and has its own finding.
    let settings = policy::in_force(root).map(|it| it.sql).unwrap_or_default();
    let library = home::path().ok().map(|home| library_in_force(&home, &settings));
    let checked = library.map(|found| found.and_then(|library| library.check().map(|()| library)));
    let (verdict, detail) = match checked {
        Some(Ok(library)) => match sql_version(&library, host) {
            Ok(version) => {
                let path = Quoted(library.path().as_os_str().as_bytes()).to_string();
                let why = match library.origin() {
                    Origin::Tested => "as tested",
                    Origin::Pinned => "as pinned by the policy",
                };
                let sha256 = library.sha256();
                (Verdict::Good, format!("DuckDB {version} at `{path}`, sha256 {sha256}, {why}"))
            }
            Err(why) => (Verdict::Bad, format!("task plans with SQL fail: {why}")),
        },
        Some(Err(LibraryError::Missing { .. })) | None if settings.library.is_none() => {
            let detail = "no DuckDB, so task plans with SQL are refused; run `actum sql install` to install it";
            (Verdict::Good, detail.to_owned())
        }
        Some(Err(error)) => {
            let hint = library_hint(&error, &settings);
            (Verdict::Bad, format!("task plans with SQL fail: {error}; {hint}"))
        }
        None => {
            (Verdict::Bad, "there is no home directory in which results can be stored".to_owned())
        }
    };
    Finding { what: "sql", verdict, detail }
}

/// Returns the version of a library. That of the tested library is known, and a pinned library is asked for its
/// version.
fn sql_version(library: &Library, host: &HostReport) -> Result<String, String> {
    let tested = TestedLibrary::for_this_processor();
    if let (Origin::Tested, Some(tested)) = (library.origin(), tested) {
        return Ok(format!("v{}", tested.version));
    }
    if let Err(missing) = &host.tier_n {
        return Err(format!("this host cannot confine it in namespaces: {missing}"));
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let asked = version_of((&Helper::this_program(), host, &program), library);
    asked.map_err(|error| error.to_string())
}

/// Converts a finding to its form in JSON documents.
fn shown(Finding { what, verdict, detail }: Finding) -> actum_api::doctor::Finding {
    let verdict = match verdict {
        Verdict::Good => Health::Ok,
        Verdict::Limited => Health::Limited,
        Verdict::Bad => Health::Bad,
    };
    actum_api::doctor::Finding { what: what.to_owned(), verdict, detail }
}

fn style_of(verdict: &Health) -> anstyle::Style {
    match verdict {
        Health::Ok => style::ADDED,
        Health::Limited | Health::Other(_) => style::CHANGED,
        Health::Bad => style::REMOVED,
    }
}

impl Document for Doctor {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for actum_api::doctor::Finding { what, verdict, detail } in &self.findings {
            let padded = format!("{verdict:7}");
            writeln!(out, "{}  {what:20}  {detail}", Painted(style_of(verdict), padded))?;
        }
        writeln!(out, "actum {}", self.version)
    }
}
