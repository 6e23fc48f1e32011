//! Proof that a client's hook works: the installed client is driven by a scripted model and edits files in the workspace.

mod process;
mod trial;

pub(super) use process::{ask, find};

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use actum::{Request, Which};
use actum_api::protect::ProtectionCheck;
use actum_core::path::Quoted;
use actum_core::{RelPath, RunId};
use actum_hook::Client;
use actum_hook::probe::{CALL_PREFIX, ScriptedModel, ToolResult};
use actum_record::ledger::Publisher;
use actum_workspace::View;
use actum_workspace::disk::Time;

use super::failure::ProtectFailure;
use super::{Configured, trust};
use crate::failure::Failure;
use crate::progress::Working;
use crate::records::Seen;
use crate::session::Session;
use crate::{actor, policy, records};

use trial::{Setting, Trial, Unprepared};

/// Maximum run time of a client during the trial.
const TRIAL_TIME: Duration = Duration::from_secs(60);
/// Maximum run time of a client that prints its version.
const VERSION_TIME: Duration = Duration::from_secs(20);
/// Number of the newest runs that are searched for those of the trial.
const RUNS: usize = 8;
/// Part of the message with which the `protected` gate refuses an edit.
const REFUSED: &str = "refused by the gate `protected`";
/// Part of the message with which a strict hook refuses a shell command.
const REFUSED_COMMAND: &str = "the hook is strict here";
/// Maximum length of the client output that is shown, in characters.
const SHOWN_CHARS_MAX: usize = 300;

/// Returns the name of a client's executable.
pub(super) fn program(client: Client) -> &'static str {
    Trial::new(client).program
}

/// Tests whether the hook works by running the client with a scripted model, and undoes its edits afterwards.
pub(crate) fn prove(
    client: Client,
    session: &Session,
    (root, user): (&Path, &Path),
    configured: &Configured,
) -> Result<Vec<ProtectionCheck>, Failure> {
    let trial = Trial::new(client);
    if let Some(file) = &configured.off_in {
        let file = Quoted(file.as_os_str().as_bytes());
        return Ok(vec![failed("hooks are on", format!("`disableAllHooks` is true in `{file}`"))]);
    }
    let Some(program) = find(trial.program) else {
        let detail = format!("`{}` was not found in PATH", trial.program);
        return Ok(vec![failed("the client can be started", detail)]);
    };
    let fails = |action: &str, source: std::io::Error| {
        let what = format!("cannot {action}: {source}");
        ProtectFailure::Client { client: client.name(), what }
    };
    let working = Working::begin(&session.screen, "testing the client");
    let mut checks = Vec::new();
    let version = process::run(new_command(&program).arg("--version"), VERSION_TIME)
        .map_err(|source| fails("start it", source))?;
    checks.push(check_version(&trial, &version.out));
    if client == Client::Codex && checks.iter().all(|check| check.passed) {
        checks.push(trust::check(&program, (root, user))?);
    }
    if checks.iter().any(|check| !check.passed) {
        return Ok(checks);
    }
    let probe = Probe::new(client, root)?;
    let mut script = (trial.script)(&probe, root);
    let command_at = configured.is_strict.then_some(script.len());
    // The shell command comes last, so that its refusal cannot affect the edits.
    script.extend(command_at.map(|_| (trial.shell)(&format!("touch {}", probe.touched))));
    let model = ScriptedModel::serve(trial.wire, script)
        .map_err(|source| fails("serve the model", source))?;
    let mut command = new_command(&program);
    command.current_dir(root).env("NO_COLOR", "1");
    for variable in ["NO_PROXY", "no_proxy"] {
        command.env(variable, "127.0.0.1"); // the scripted model must be reached without the user's proxy
    }
    let url = model.url();
    let setting = Setting { url: &url, root, user, allows_shell: configured.is_strict };
    let home = match (trial.prepare)(&mut command, &setting) {
        Ok(home) => home,
        Err(Unprepared::Account(detail)) => {
            checks.push(failed("the client can be tested without your account", detail));
            return Ok(checks);
        }
        Err(Unprepared::Failed(failure)) => return Err(failure.into()),
    };
    let ended =
        process::run(&mut command, TRIAL_TIME).map_err(|source| fails("start it", source))?;
    drop(home);
    let client_output = match (ended.in_time, ended.err.trim().is_empty()) {
        (false, _) => format!("{}; the client did not exit within a minute", ended.err.trim()),
        (true, false) => ended.err,
        (true, true) => ended.out,
    };
    let results = model.results();
    drop(model);
    let strict = command_at.map(|at| probe.check_command(root, results.get(at), &client_output));
    checks.extend(probe.judge(session, root, (&trial, &results), &client_output)?);
    checks.extend(strict);
    drop(working);
    Ok(checks)
}

fn failed(what: &str, detail: String) -> ProtectionCheck {
    ProtectionCheck { what: what.to_owned(), passed: false, detail }
}

#[expect(clippy::disallowed_methods, reason = "the user names the client that is started")]
pub(super) fn new_command(program: &Path) -> Command {
    Command::new(program)
}

/// Files that the client edits during the trial, and the state of the workspace before it.
struct Probe {
    client: Client,
    protected: String,
    file: String,
    /// File that the shell command would create.
    touched: String,
    /// Newest runs of the workspace before the trial.
    before: BTreeSet<RunId>,
    /// Start time of the newest turn before the trial.
    turn_before: Option<Time>,
}

impl Probe {
    /// Chooses the names of the trial's files, and records the current runs and turns. Fails if such a file already exists.
    fn new(client: Client, root: &Path) -> Result<Self, Failure> {
        let process = std::process::id();
        let protected = format!(".env.actum-probe-{process}");
        let file = format!("actum-probe-{process}.txt");
        let touched = format!("actum-probe-{process}.touched");
        for name in [&protected, &file, &touched] {
            if root.join(name).symlink_metadata().is_ok() {
                let what = format!("`{name}` already exists in the workspace; remove it");
                return Err(ProtectFailure::Client { client: client.name(), what }.into());
            }
        }
        let view = View::open(root)?;
        let before = view.newest(RUNS)?.into_iter().map(|(run, _)| run.run).collect();
        let turn_before = view.turns()?.iter().map(|turn| turn.since).max();
        Ok(Self { client, protected, file, touched, before, turn_before })
    }

    /// Checks the tool results and the workspace after the trial, and undoes the edits.
    fn judge(
        &self,
        session: &Session,
        root: &Path,
        (trial, results): (&Trial, &[Option<ToolResult>]),
        client_output: &str,
    ) -> Result<Vec<ProtectionCheck>, Failure> {
        let answer = |index: usize| results.get(index).cloned().flatten();
        let text = |result: &Option<ToolResult>| text_of(result.as_ref(), client_output);
        let protected = answer(0);
        let is_there = root.join(&self.protected).symlink_metadata().is_ok();
        let is_refused = protected
            .as_ref()
            .is_some_and(|it| it.is_error != Some(false) && it.text.contains(REFUSED));
        let mut checks = vec![ProtectionCheck {
            what: "an edit of a protected file is refused, and the model sees the reason"
                .to_owned(),
            passed: is_refused && !is_there,
            detail: text(&protected),
        }];
        let runs = self.runs(session, root, trial);
        let undone = self.undo(session, root, runs.as_deref().unwrap_or_default());
        let runs = runs?;
        let edited = answer(2).or_else(|| answer(1));
        checks.push(ProtectionCheck {
            what: "each edit is a run".to_owned(),
            passed: runs.len() == 2,
            detail: match runs.len() {
                2 => runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                count => format!("{count} runs for 2 edits; {}", text(&edited)),
            },
        });
        checks.push(self.check_turn(root)?);
        checks.push(undone);
        Ok(checks)
    }

    /// Checks that the strict hook refused the shell command, so that its file was not created.
    fn check_command(
        &self,
        root: &Path,
        result: Option<&Option<ToolResult>>,
        client_output: &str,
    ) -> ProtectionCheck {
        let result = result.and_then(Option::as_ref);
        let is_refused = result.is_some_and(|it| it.text.contains(REFUSED_COMMAND));
        ProtectionCheck {
            what: "a shell command is refused".to_owned(),
            passed: is_refused && root.join(&self.touched).symlink_metadata().is_err(),
            detail: text_of(result, client_output),
        }
    }

    /// Checks that the client called the hook at the prompt and at the end of the turn.
    fn check_turn(&self, root: &Path) -> Result<ProtectionCheck, Failure> {
        let turns = View::open(root)?.turns()?;
        let new = turns.iter().find(|turn| Some(turn.since) > self.turn_before);
        let detail = match new {
            None => "the hook was not called at the prompt",
            Some(turn) if turn.is_open => "the hook was not called at the end of the turn",
            Some(_) => "the hook was called at the prompt and at the end of the turn",
        };
        Ok(ProtectionCheck {
            what: "changes made by commands are reported".to_owned(),
            passed: new.is_some_and(|turn| !turn.is_open),
            detail: detail.to_owned(),
        })
    }

    /// Returns the runs of this trial that changed its file, the newest first.
    fn runs(&self, session: &Session, root: &Path, trial: &Trial) -> Result<Vec<RunId>, Failure> {
        let newest = View::open(root)?.newest(RUNS)?;
        let path = RelPath::new(self.file.as_bytes()).ok();
        let is_of_probe = |report: &actum_workspace::RunReport| {
            report.changes.iter().any(|shown| Some(&shown.change.path) == path.as_ref())
        };
        let is_new = |run: &RunId| !self.before.contains(run);
        let runs = newest
            .into_iter()
            .filter(|(run, report)| is_new(&run.run) && report.as_ref().is_ok_and(is_of_probe));
        let seen = Seen::look(session);
        let mut found = Vec::new();
        for (run, _) in runs {
            // Count only adopted runs. Other programs may also change files with actum, without calling the hook.
            let is_adopted = seen.recorded_facts(run.run)?.record.is_some_and(|record| {
                record.published_by == Publisher::Client
                    && record.request.is_some_and(|key| {
                        !trial.keeps_call_id || key.as_str().contains(CALL_PREFIX)
                    })
            });
            found.extend(is_adopted.then_some(run.run));
        }
        Ok(found)
    }

    /// Undoes the edits of the trial, and removes files that remain.
    #[expect(clippy::disallowed_methods, reason = "the removed files belong to this trial")]
    fn undo(&self, session: &Session, root: &Path, runs: &[RunId]) -> ProtectionCheck {
        let undone = runs.iter().try_for_each(|run| {
            let (checked, records) = records::open_for(root, &session.tenant)?;
            let mut engine = checked.existing_engine(records)?.under_files(policy::files()?, root);
            let actor = actor::from_agent(Some(self.client.name().to_owned()));
            let request = Request::undo(Which::Run(*run)).asked_by(actor);
            engine.run(Request { wait: true, ..request })?;
            Ok::<_, Failure>(())
        });
        let is_gone = root.join(&self.file).symlink_metadata().is_err();
        for left in [&self.protected, &self.file, &self.touched] {
            drop(std::fs::remove_file(root.join(left)));
        }
        let detail = match &undone {
            Ok(()) if runs.is_empty() => "no run to undo".to_owned(),
            Ok(()) if is_gone => "the file was removed again".to_owned(),
            Ok(()) => "the file still exists after the undo".to_owned(),
            Err(failure) => failure.message(),
        };
        let what = "the edits are undone".to_owned();
        ProtectionCheck { what, passed: undone.is_ok() && is_gone && !runs.is_empty(), detail }
    }
}

/// Returns the shortened text of a tool result. If the client made no such call, returns the end of its output instead.
fn text_of(result: Option<&ToolResult>, client_output: &str) -> String {
    match result {
        Some(result) => shorten(&result.text),
        None => {
            format!(
                "the client did not make this call; its output was: {}",
                shorten_front(client_output)
            )
        }
    }
}

/// Checks that the client is at least as new as the first version that is known to work.
fn check_version(trial: &Trial, version_output: &str) -> ProtectionCheck {
    let [major, minor, patch] = trial.version_min;
    let found = version(version_output);
    ProtectionCheck {
        what: format!("the client is version {major}.{minor}.{patch} or newer"),
        passed: found.is_some_and(|found| found >= trial.version_min),
        detail: match shorten(version_output.trim()) {
            version_output if version_output.is_empty() => {
                "the client did not report a version".to_owned()
            }
            version_output => version_output,
        },
    }
}

/// Parses the first `MAJOR.MINOR.PATCH` version that appears as a word of the output.
fn version(version_output: &str) -> Option<[u64; 3]> {
    version_output.split_whitespace().find_map(|word| {
        let mut numbers = word.split('.').map(|part| part.parse().ok());
        let version = [numbers.next()??, numbers.next()??, numbers.next()??];
        numbers.next().is_none().then_some(version)
    })
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns the end of a text, because clients report the reason for a failure last.
fn shorten_front(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().rev().nth(SHOWN_CHARS_MAX) {
        Some((start, _)) => format!("… {}", line.get(start..).unwrap_or_default().trim_start()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 27
    #[test]
    fn client_versions_are_compared_numerically() {
        assert_eq!(version("2.1.330 (Claude Code)\n"), Some([2, 1, 330]));
        assert_eq!(version("codex-cli 0.169.0\n"), Some([0, 169, 0]));
        let passes = |client: Client, version_output: &str| {
            check_version(&Trial::new(client), version_output).passed
        };
        assert!(passes(Client::Claude, "2.1.295") && !passes(Client::Claude, "2.1.94"));
        assert!(passes(Client::Codex, "codex-cli 0.170.1") && !passes(Client::Codex, "0.99.0"));
        assert!(passes(Client::Gemini, "0.61.0") && !passes(Client::Gemini, "nightly"));
        assert!(passes(Client::OpenCode, "1.18.33") && !passes(Client::OpenCode, "1.2.0"));
        assert!(passes(Client::Qwen, "0.24.4") && !passes(Client::Qwen, ""));
        assert_eq!(version("0.61.0-nightly.1"), None);
        assert_eq!(version("latest"), None);
        assert_eq!(version(""), None);
    }
}
