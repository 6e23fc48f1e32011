//! The proof: the person's own client, driven by a model made of a script, edits in the workspace.

#![expect(
    clippy::disallowed_methods,
    reason = "the person names the client that is started, and where its programs are"
)]

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use actum::{Request, Which};
use actum_api::protect::ProtectionCheck;
use actum_core::path::Quoted;
use actum_core::{RelPath, RunId};
use actum_hook::Client;
use actum_hook::probe::{CALL_PREFIX, Call, ScriptedModel, ToolResult};
use actum_record::ledger::Publisher;
use actum_workspace::View;
use serde_json::json;

use super::Configured;
use super::failure::ProtectFailure;
use crate::failure::Failure;
use crate::progress::Working;
use crate::records::Seen;
use crate::session::Session;
use crate::{actor, policy, records};

/// First version of Claude Code that keeps a tool from running when a hook cannot be started (`onFailure`).
const CLAUDE_VERSION_MIN: [u64; 3] = [2, 1, 295];
/// How long the client may take, in steps.
const STEPS: u32 = 1_200;
const STEP: Duration = Duration::from_millis(50);
/// Characters that are shown of what a client says.
const SHOWN_CHARS_MAX: usize = 300;

/// Whether there is a trial for a client.
pub(crate) fn is_there(client: Client) -> bool {
    client == Client::Claude
}

/// Tries the client, and undoes what it did. For a client without a trial there is nothing to say.
pub(crate) fn prove(
    client: Client,
    session: &Session,
    root: &Path,
    configured: &Configured,
) -> Result<Vec<ProtectionCheck>, Failure> {
    if !is_there(client) {
        return Ok(Vec::new());
    }
    if let Some(file) = &configured.off_in {
        let what = "hooks are on".to_owned();
        let file = Quoted(file.as_os_str().as_bytes());
        let detail = format!("`disableAllHooks` is true in `{file}`");
        return Ok(vec![ProtectionCheck { what, passed: false, detail }]);
    }
    let Some(program) = find("claude") else {
        let (what, detail) = ("the client can be started", "there is no `claude` in PATH");
        let (what, detail) = (what.to_owned(), detail.to_owned());
        return Ok(vec![ProtectionCheck { what, passed: false, detail }]);
    };
    let mut checks = vec![check_version(client, &program)?];
    if checks.iter().any(|check| !check.passed) {
        return Ok(checks);
    }
    let working = Working::begin("trying the client");
    let probe = Probe::new(root)?;
    let script = vec![
        write(&root.join(&probe.protected), "PROBE=1\n"),
        write(&root.join(&probe.file), "one\n"),
        Call {
            tool: "Edit",
            input: json!({ "file_path": root.join(&probe.file), "old_string": "one", "new_string": "two" }),
        },
    ];
    let fails = |action: &str, source: std::io::Error| {
        let what = format!("cannot {action}: {source}");
        ProtectFailure::Client { client: client.name(), what }
    };
    let model = ScriptedModel::serve(script).map_err(|source| fails("serve the model", source))?;
    let settings = json!({ "env": { "ANTHROPIC_BASE_URL": model.url() } }).to_string();
    let child = Command::new(&program)
        .args(["-p", "actum tries its hook", "--no-session-persistence"])
        .args(["--permission-mode", "acceptEdits", "--settings", &settings])
        .current_dir(root)
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "sk-actum-probe")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| fails("start it", source))?;
    let said = wait(child);
    let results = model.results();
    drop(model);
    checks.extend(probe.judge(session, root, &results, &said)?);
    drop(working);
    Ok(checks)
}

fn write(path: &Path, content: &str) -> Call {
    Call { tool: "Write", input: json!({ "file_path": path, "content": content }) }
}

/// Files of the trial.
struct Probe {
    protected: String,
    file: String,
}

impl Probe {
    /// Names that nothing in the workspace has.
    fn new(root: &Path) -> Result<Self, ProtectFailure> {
        let process = std::process::id();
        let (protected, file) =
            (format!(".env.actum-probe-{process}"), format!("actum-probe-{process}.txt"));
        for name in [&protected, &file] {
            if root.join(name).symlink_metadata().is_ok() {
                let what = format!("`{name}` is in the workspace; remove it");
                return Err(ProtectFailure::Client { client: "claude", what });
            }
        }
        Ok(Self { protected, file })
    }

    /// Compares what the tools answered and what is in the workspace, and undoes the edits.
    fn judge(
        &self,
        session: &Session,
        root: &Path,
        results: &[Option<ToolResult>],
        said: &str,
    ) -> Result<Vec<ProtectionCheck>, Failure> {
        let answer = |index: usize| results.get(index).cloned().flatten();
        let text = |result: &Option<ToolResult>| match result {
            Some(result) => shorten(&result.text),
            None => format!("the client made no such call; it said: {}", shorten(said)),
        };
        let protected = answer(0);
        let is_there = root.join(&self.protected).symlink_metadata().is_ok();
        let is_refused =
            protected.as_ref().is_some_and(|it| it.is_error && it.text.contains("actum: "));
        let mut checks = vec![ProtectionCheck {
            what: "a protected file is refused, and the model reads why".to_owned(),
            passed: is_refused && !is_there,
            detail: text(&protected),
        }];
        let runs = self.runs(session, root)?;
        let edited = answer(2).or_else(|| answer(1));
        checks.push(ProtectionCheck {
            what: "each edit is a run".to_owned(),
            passed: runs.len() == 2,
            detail: match runs.len() {
                2 => runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                count => format!("{count} runs of 2 edits; {}", text(&edited)),
            },
        });
        checks.push(self.undo(session, root, &runs));
        Ok(checks)
    }

    /// The runs that changed the file of the trial, newest first.
    fn runs(&self, session: &Session, root: &Path) -> Result<Vec<RunId>, Failure> {
        let newest = View::open(root)?.newest(8)?;
        let path = RelPath::new(self.file.as_bytes()).ok();
        let is_of_probe = |report: &actum_workspace::RunReport| {
            report.changes.iter().any(|shown| Some(&shown.change.path) == path.as_ref())
        };
        let runs = newest.into_iter().filter(|(_, report)| report.as_ref().is_ok_and(is_of_probe));
        let seen = Seen::look(session);
        let mut found = Vec::new();
        for (run, _) in runs {
            // A program that only makes changes with actum is no client that calls the hook.
            let is_adopted = seen.told(run.run)?.record.is_some_and(|record| {
                record.published_by == Publisher::Client
                    && record.request.is_some_and(|key| key.as_str().contains(CALL_PREFIX))
            });
            found.extend(is_adopted.then_some(run.run));
        }
        Ok(found)
    }

    /// Undoes the edits; what is left of them otherwise is removed.
    fn undo(&self, session: &Session, root: &Path, runs: &[RunId]) -> ProtectionCheck {
        let undone = runs.iter().try_for_each(|run| {
            let (checked, records) = records::open_for(root, &session.tenant)?;
            let mut engine = checked.existing_engine(records)?.under_files(policy::files()?, root);
            let actor = actor::of(Some(Client::Claude.name().to_owned()));
            let request = Request::undo(Which::Run(*run)).asked_by(actor);
            engine.run(Request { wait: true, ..request })?;
            Ok::<_, Failure>(())
        });
        let is_gone = root.join(&self.file).symlink_metadata().is_err();
        for left in [&self.protected, &self.file] {
            // What no run made is only a file of this trial.
            drop(std::fs::remove_file(root.join(left)));
        }
        let detail = match &undone {
            Ok(()) if is_gone => "the file is gone again".to_owned(),
            Ok(()) => "the file was still there".to_owned(),
            Err(failure) => failure.message(),
        };
        let what = "the edits are undone".to_owned();
        ProtectionCheck { what, passed: undone.is_ok() && is_gone && !runs.is_empty(), detail }
    }
}

/// Checks that the client is new enough to be closed where a hook fails.
fn check_version(client: Client, program: &Path) -> Result<ProtectionCheck, ProtectFailure> {
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = asked.map_err(|source| {
        let what = format!("cannot start it: {source}");
        ProtectFailure::Client { client: client.name(), what }
    })?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = version(&told);
    let [major, minor, patch] = CLAUDE_VERSION_MIN;
    Ok(ProtectionCheck {
        what: format!("the client is of version {major}.{minor}.{patch} or newer"),
        passed: found.is_some_and(|found| found >= CLAUDE_VERSION_MIN),
        detail: shorten(told.trim()),
    })
}

/// The version in the first word of a text.
fn version(told: &str) -> Option<[u64; 3]> {
    let mut numbers = told.split_whitespace().next()?.split('.').map(|part| part.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The program of this name in PATH.
fn find(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|it| it.is_file())
}

/// Waits until the client has ended, or ends it; returns what it said on standard error.
fn wait(mut child: Child) -> String {
    let mut stderr = child.stderr.take();
    let reader = thread::spawn(move || {
        let mut said = String::new();
        if let Some(stderr) = &mut stderr {
            drop(stderr.take(64 << 10).read_to_string(&mut said)); // it is only shown
        }
        said
    });
    for _ in 0..STEPS {
        match child.try_wait() {
            Ok(None) => thread::sleep(STEP),
            Ok(Some(_)) | Err(_) => return reader.join().unwrap_or_default(),
        }
    }
    drop(child.kill());
    drop(child.wait());
    "it did not end within a minute".to_owned()
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 27
    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert_eq!(version("2.1.330 (Claude Code)\n"), Some([2, 1, 330]));
        assert!(version("2.1.295").unwrap() >= CLAUDE_VERSION_MIN);
        assert!(version("2.1.94").unwrap() < CLAUDE_VERSION_MIN);
        assert_eq!(version("latest"), None);
        assert_eq!(version(""), None);
    }
}
