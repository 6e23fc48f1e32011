//! Hints that help users resolve errors of the engine and the workspace.

mod edit;
pub(crate) mod input;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::task::RollbackRefused;
use actum::{
    CatalogError, CommandError, PlanState, PolicyError, PolicyProblem, QueueError, Unkept,
    WhyUnkept,
};
use actum_core::ShellWord;
use actum_core::path::Quoted;
use actum_edit::HunkError;
use actum_edit::nearest_match::NearestMatch;
use actum_gate::{GateDecision, GateName, Ground};
use actum_ledger::{KeyError, LedgerError, Refusal};
use actum_record::signer::KeyRole;
use actum_sandbox::{NoProgram, SandboxPolicy, SpawnError};
use actum_workspace::{Attempt, Difference, ErrorKind, NotAFile};

use crate::approval_key::{self, ApprovalState};
use crate::home::inherited;
use crate::operators_policy;

/// Returns hints for an engine error, which may contain a workspace error.
pub(crate) fn after_engine(error: &actum::Error) -> Vec<String> {
    let hint = match error {
        actum::Error::Workspace(error) => return after(&error.kind),
        actum::Error::Home(_) => ANOTHER_HOME,
        actum::Error::HomeInside { .. } => {
            "work in a different directory, or set `ACTUM_HOME` to keep ledgers and keys in a different one"
        }
        actum::Error::HomeAround { mark, .. } => {
            let mark = Quoted(mark.as_os_str().as_bytes());
            return vec![format!(
                "work in a different directory; if `{mark}` belongs to a project, rename it or its directory"
            )];
        }
        actum::Error::WorkspaceWithin { root } | actum::Error::RepositoryWithin { root } => {
            let root = ShellWord::path(root.0.as_bytes());
            return vec![format!("run `actum -C {root} …` to make the change there")];
        }
        actum::Error::BoundElsewhere { .. } => {
            return vec![
                "to use its own ledger, check `ACTUM_HOME`, `HOME` and `--tenant`; if that ledger is lost, restore a backup"
                    .to_owned(),
                "to move the workspace to the current ledger, run `actum bind`, which needs the approval key or a day of \
                 waiting"
                    .to_owned(),
            ];
        }
        actum::Error::ConfigurationElsewhere { recorded, home, .. } => {
            let file = home.join("configuration");
            let (recorded, file) = (recorded.as_os_str().as_bytes(), file.as_os_str().as_bytes());
            return vec![
                format!(
                    "if your configuration is in `{}`, set `XDG_CONFIG_HOME` and `HOME` as in your login session",
                    Quoted(recorded)
                ),
                format!(
                    "if it is not, remove `{}`; the next command then records the current location",
                    Quoted(file)
                ),
            ];
        }
        actum::Error::Key(KeyError::ShortPassphrase) => {
            "use several unrelated words, which are easy to remember and hard to guess"
        }
        actum::Error::Key(KeyError::Unattended { .. }) => "omit `--passphrase-file`",
        actum::Error::Key(KeyError::WrongPassphrase { .. }) => {
            "try again; a line break at the end of a passphrase file is ignored, but spaces are not"
        }
        actum::Error::Key(KeyError::NoKey { role: KeyRole::Lease, .. }) => {
            "run `actum key make lease`; once the ledger has a change, the key becomes valid after 24 hours, or immediately \
             if you enter the approval passphrase"
        }
        actum::Error::Key(_) | actum::Error::Sign(_) => "`actum key list` shows the keys",
        actum::Error::Ledger { source } => return of_ledger(source),
        actum::Error::RequestKeyTaken { run, .. } => {
            return vec![format!(
                "use a different request key; `actum show {run}` shows the run that used this one"
            )];
        }
        actum::Error::OnlyOthersRuns { way, run, .. } => {
            return vec![format!(
                "run `actum {} {run}` to choose that run explicitly; `actum log` lists the runs",
                way.as_str()
            )];
        }
        actum::Error::RecoveredFirst { way, .. } => {
            return vec![format!(
                "run `actum {}` again to continue with the run before it; `actum log` lists the runs",
                way.as_str()
            )];
        }
        actum::Error::WorkspaceIsACopy { .. } => {
            "check the files; to carry out the request in this copy, repeat it with a different request key"
        }
        actum::Error::Retained { .. } => {
            "pass `--below-retention` to forget them with the approval key; the operator's policy sets the limits in \
             `[retention]`"
        }
        actum::Error::Forgotten(_) => "`actum key list` shows the keys",
        actum::Error::OutcomeUnknown { .. } => {
            "check the files, then request the missing changes with a different request key"
        }
        actum::Error::NothingToChange => "the files already have the requested content",
        actum::Error::Policy(error) => return of_policy(error),
        actum::Error::Lease(_) => {
            "run `actum lease show FILE` to see what the lease allows, and `actum lease verify FILE` to check that it is \
             valid here"
        }
        actum::Error::Grant(_) => "`actum lease grant --help` lists the terms of a lease",
        actum::Error::Denied { gates } => return gates.iter().map(of_gate).collect(),
        actum::Error::ApprovalRequired { .. } => {
            "file tasks cannot be queued; use `actum apply` to queue the same change for approval"
        }
        actum::Error::Queued { plan, denied, .. } => {
            let denied = denied.as_ref().map(|(before, reason)| match reason {
                Some(reason) => format!(
                    "the previous version, plan {before}, was denied: {}",
                    Quoted(reason.as_bytes())
                ),
                None => format!("the previous version, plan {before}, was denied"),
            });
            let key = matches!(approval_key::approval_key(), Ok(ApprovalState::Missing)).then(|| {
                "there is no approval key: run `actum key make approval`; a key that is made now becomes valid after 24 \
                 hours".to_owned()
            });
            let ways = [
                format!("run `actum queue {plan}` to review the plan, and `actum approve {plan}` to approve and apply it"),
                "nothing changes until then; the approval applies the change, except that a task must be run again".to_owned(),
            ];
            return denied.into_iter().chain(ways).chain(key).collect();
        }
        actum::Error::Queue(error) => of_queue(error),
        actum::Error::Catalog(error) => return of_catalog(error),
        actum::Error::Command(error) => return of_command(error),
        actum::Error::NoAction => "run `actum action run` to carry out a plan envelope",
        actum::Error::Output(_) => {
            "make sure that `agent/agent_outputs` and its parents are real directories and that you can write there"
        }
        actum::Error::Rollback(
            RollbackRefused::Open { source, .. } | RollbackRefused::PutBack { source, .. },
        ) => {
            return after_engine(source);
        }
        actum::Error::Rollback(_) => {
            "see `rollback_manifest.json` in the directory of the task under `agent/agent_outputs/reports` for its state"
        }
        actum::Error::OutcomeNotRecorded { .. } => "run `actum log` to see what was done",
        actum::Error::Unverified { .. } => {
            "fix the problems that the check found and run the command again; pass `--drop` to see its changes"
        }
        actum::Error::Unsettled { .. } => {
            "the run itself has ended; fix the problem above, and the next run here will write the receipt"
        }
        actum::Error::Record { .. } => {
            "split the change into several runs; each can be undone separately"
        }
    };
    vec![hint.to_owned()]
}

/// Returns hints for a policy that cannot be used.
fn of_policy(PolicyError { path, problem, .. }: &PolicyError) -> Vec<String> {
    let way = if let PolicyProblem::TooOpen { .. } | PolicyProblem::DirectoryTooOpen { .. } =
        problem
    {
        format!("run `chmod go-w {}`", ShellWord::path(path.as_os_str().as_bytes()))
    } else if let PolicyProblem::OfAnother { .. } = problem {
        format!("make yourself the owner of `{}` with `chown`", Quoted(path.as_os_str().as_bytes()))
    } else {
        "correct the file".to_owned()
    };
    vec![format!("{way}; until then every change is rejected here")]
}

/// Returns hints for a command that could not be run, or whose changes could not be kept.
fn of_command(error: &CommandError) -> Vec<String> {
    let hint = match error {
        CommandError::NotFound { why: NoProgram::NotExecutable, .. } => {
            "make it executable with `chmod +x`, or start it with its interpreter"
        }
        CommandError::NotFound { name, .. } => return vec![of_program(name)],
        CommandError::Spawn(SpawnError::Command { .. }) => {
            "pass `--exec PATH` for the files outside `/usr` that the program needs, including the targets of symbolic links"
        }
        CommandError::Unsatisfiable(_) => {
            "run `actum doctor` to see what this host can enforce, and how to change that"
        }
        CommandError::Interrupted => return Vec::new(),
        CommandError::Unseen(_) => {
            return vec![
                "unset `HOME` and `XDG_DATA_HOME` if they point into the workspace, or rename the directory that looks like \
                 one of ledgers and keys"
                    .to_owned(),
            ];
        }
        CommandError::Unkept(unkept) => {
            let any =
                |is_it: fn(&WhyUnkept) -> bool| unkept.iter().any(|it: &Unkept| is_it(&it.why));
            match (
                any(|why| *why == WhyUnkept::ChangedMeanwhile),
                any(|why| matches!(why, WhyUnkept::Path(_))),
            ) {
                (true, _) => "run the command again, because the files it worked on have changed",
                (false, true) => "use git directly, without actum, to change files in `.git`",
                (false, false) => {
                    "only changes to files and directories can be kept; let the command create anything else in `$TMPDIR`, \
                     or in a directory that the operator's policy lists in `caches` under `[sandbox]`"
                }
            }
        }
        CommandError::Line(_)
        | CommandError::NoText(_)
        | CommandError::Spawn(_)
        | CommandError::Wait(_)
        | CommandError::Layer(_)
        | CommandError::Staged(_)
        | CommandError::NoRunner => return Vec::new(),
    };
    vec![hint.to_owned()]
}

/// Returns the hint for a program that was not found in the sandbox, including its path if the caller's `PATH` has it.
fn of_program(name: &str) -> String {
    let ours =
        inherited("PATH").and_then(|path| SandboxPolicy::new("/").in_path(Path::new(name), &path));
    match ours {
        Some(ours) => format!(
            "your `PATH` has {}; pass `--exec DIRECTORY` for what it needs, if the operator lists that directory under \
             `[sandbox] exec` in {}",
            Quoted(ours.as_os_str().as_bytes()),
            operators_policy::widening()
        ),
        None => "check the name; for a program outside `/usr`, pass `--exec DIRECTORY` if the operator lists the directory; \
                 to run a shell command, use `-- sh -c 'LINE'`"
            .to_owned(),
    }
}

/// Returns the hint for a change that a gate denied.
fn of_gate(GateDecision { gate, ground, .. }: &GateDecision) -> String {
    match gate {
        GateName::Credentials => format!(
            "remove the credential and have the program read it from a secret store; if it is not secret, add the digest \
             above to `allow` under `[credentials]` in {}, after `version = 1`",
            operators_policy::operators()
        ),
        GateName::Protected => {
            "edit protected paths without actum, or run `actum policy explain PATH` to see whether and how the operator can \
             exempt this path"
                .to_owned()
        }
        GateName::Scope if matches!(ground.first, Ground::ScopeDenied { .. }) => {
            "the rule denies it on purpose; run `actum policy check` to see the rules in force and where they come from"
                .to_owned()
        }
        GateName::Scope | GateName::Budget => {
            "run `actum policy suggest` for the narrowest rules that would allow the change, or `actum policy check` for \
             the rules in force"
                .to_owned()
        }
        GateName::Lease if matches!(ground.first, Ground::LeaseRequired { .. }) => {
            "get a lease from the operator (`actum lease grant`), and pass it with `--lease FILE` or `ACTUM_LEASE`".to_owned()
        }
        GateName::Lease => {
            "run `actum lease show FILE` to see what the lease allows; only the operator can grant a different one".to_owned()
        }
        GateName::Commands | GateName::Tier | GateName::Access | GateName::Approval => {
            "run `actum policy check` to see the rules in force and where they come from".to_owned()
        }
    }
}

/// Returns the hint for an error of the approval queue.
fn of_queue(error: &QueueError) -> &'static str {
    match error {
        QueueError::NoPlan { .. } => "`actum queue` lists the pending plans",
        QueueError::NoAlert { .. } => {
            "run `actum queue` to list the pending alerts with their numbers"
        }
        QueueError::State { state: PlanState::CarriedOut, .. }
        | QueueError::NoParts { state: PlanState::CarriedOut, .. }
        | QueueError::NotApproved { state: PlanState::CarriedOut, .. } => {
            "check in `actum log` whether a run carried out the plan; if none did, repeat the request"
        }
        QueueError::State { .. } | QueueError::NoParts { .. } | QueueError::NotApproved { .. } => {
            "repeat the request, and it will be decided again"
        }
        QueueError::Stale { .. } => {
            "repeat the request, so that the change is computed from the current files and queued again"
        }
        QueueError::Input { .. } => "repeat the request, and deny this plan",
        QueueError::Unproven { .. } => {
            "run `actum key list` to see which approval key is valid, and from when"
        }
        QueueError::Full | QueueError::FullOfOne => {
            "run `actum queue` to list the pending plans, then approve or deny some of them"
        }
    }
}

/// Returns hints for an error of the action catalog.
fn of_catalog(error: &CatalogError) -> Vec<String> {
    let hint = match error {
        CatalogError::Ledger(error) => return of_ledger(error),
        CatalogError::Unproven { index, .. }
        | CatalogError::Misplaced { index }
        | CatalogError::Snapshot { index, .. } => {
            return vec![
                format!("run `actum ledger show {index}` to see the entry, which no command of actum would append"),
                "to restore the previous catalog, set the state of any action again (`actum catalog activate NAME` or \
                 `actum catalog retire NAME`)"
                    .to_owned(),
            ];
        }
        CatalogError::Unknown { .. } => "`actum catalog list` lists the actions",
        CatalogError::State { action, .. } => {
            return vec![format!("run `actum catalog show {action}` to see its state")];
        }
        CatalogError::ChangedSinceShown => {
            "review the catalog again with `actum catalog list`, and find out who changed it"
        }
        CatalogError::OtherPackage { .. } => "review the package, and register it again",
        CatalogError::IsCore { .. } | CatalogError::OtherName { .. } => {
            "give the package a unique name, both in `action.json` and for its directory"
        }
        CatalogError::Unsound { .. } | CatalogError::Record(_) => {
            "run `actum catalog lint PACKAGE` to see what is wrong with the package"
        }
        CatalogError::Key(_) => {
            "run `actum key list` to see which approval key is valid, and from when"
        }
        CatalogError::BuiltIn { .. } => return Vec::new(),
    };
    vec![hint.to_owned()]
}

const ANOTHER_HOME: &str = "fix the problem above; a different `ACTUM_HOME` would have a separate ledger, without the runs \
                            of this one";

/// Returns hints for a ledger error.
pub(crate) fn of_ledger(error: &LedgerError) -> Vec<String> {
    let hint = match error {
        LedgerError::Damaged { .. } | LedgerError::NoLedger { .. } => {
            "run `actum ledger verify` to list all problems, then restore the ledger from an earlier copy"
        }
        LedgerError::Forgot { .. } => {
            "restore a copy of the ledger that was made after that run; if there is none, remove the directory \
             `.actum/recorded` to continue with the ledger as it is"
        }
        LedgerError::NewerSchema { .. } => {
            "use the version of actum that created the ledger, or a later one"
        }
        LedgerError::Home { .. } => ANOTHER_HOME,
        LedgerError::Key { .. } => "`actum key list` shows the keys",
        LedgerError::Locked { .. } => {
            "end the program that keeps the ledger open, such as a database browser or a suspended run of actum"
        }
        LedgerError::Gone { .. } => {
            "move the ledger back, or start this program again with the ledger that is at its path now; earlier entries are \
             in the ledger that was moved"
        }
        LedgerError::Refused { refusal: Refusal::LogFull { .. } } => {
            "set a higher `max_bytes` under `[ledger]` in the operator's policy, or continue in the ledger of a different \
             tenant with `actum --tenant NAME bind`"
        }
        LedgerError::Refused {
            refusal:
                Refusal::PlanStarted { .. }
                | Refusal::PlanAnswered { .. }
                | Refusal::PlanNotApproved { .. },
        } => {
            "run `actum queue PLAN` to see how the plan was answered or carried out in the meantime; if the change is still \
             needed, repeat the request"
        }
        LedgerError::Full { .. } => "free some space on the file system of `ACTUM_HOME`",
        LedgerError::ReadOnly { .. } | LedgerError::File { .. } | LedgerError::NoFile { .. } => {
            "make sure that you can write to `ACTUM_HOME`, or set it to a different directory"
        }
        LedgerError::Refused { .. }
        | LedgerError::OutcomeUnknown { .. }
        | LedgerError::Database { .. }
        | LedgerError::Checkpoint { .. }
        | LedgerError::NoWriter { .. }
        | LedgerError::Stopped => "run `actum ledger verify` to check the ledger",
    };
    vec![hint.to_owned()]
}

/// Returns hints for a workspace error. No hint suggests turning off a check.
pub(crate) fn after(error: &ErrorKind) -> Vec<String> {
    let hint = match error {
        ErrorKind::Hunk {
            source:
                HunkError::Malformed { .. }
                | HunkError::WrongCount { .. }
                | HunkError::Empty { .. }
                | HunkError::OutOfOrder { .. },
            ..
        } => "the change itself is malformed, so create it again".to_owned(),
        ErrorKind::Edit { source, .. } => edit::after(source).to_owned(),
        ErrorKind::Hunk { source: HunkError::Ambiguous { .. }, .. } => AMBIGUOUS.to_owned(),
        ErrorKind::Hunk { near: Some(NearestMatch::Elsewhere { lines }), .. } if lines.0.len() == 1 => {
            "pass `--allow-offset` to apply the hunk at the position where its lines were found".to_owned()
        }
        ErrorKind::Hunk { near: Some(NearestMatch::New { .. }), .. } => {
            "the change may already be applied; if it is not, read the file and create the change again".to_owned()
        }
        ErrorKind::Hunk { .. } => {
            OTHER_CONTENT.to_owned()
        }
        ErrorKind::Expected { found: Some(_), .. } => {
            "the file changed after it was read; read it again and create the change from the new content"
                .to_owned()
        }
        ErrorKind::Expected { found: None, .. } | ErrorKind::Missing { .. } => {
            "paths are relative to the workspace root, which `actum status` prints".to_owned()
        }
        ErrorKind::Exists { .. } => {
            "edit the existing file; to replace it, pass `--overwrite`, or provide the whole file with its \
             `expected_prev_sha256`; a directory must be removed first"
                .to_owned()
        }
        ErrorKind::NotAFile { found: NotAFile::Symlink, .. }
        | ErrorKind::Component { found: NotAFile::Symlink, .. } => {
            "use the real path of the file, because symbolic links are not followed".to_owned()
        }
        ErrorKind::Private { .. } => "remove the path from the change".to_owned(),
        ErrorKind::Scope { .. } => {
            "remove the path from the change, or ask the user who set the scope".to_owned()
        }
        ErrorKind::Budget { .. } => "split the change, or ask the user who set the budget".to_owned(),
        ErrorKind::TooLargeToSearch { .. } => AS_A_DIFF.to_owned(),
        ErrorKind::TooLarge { .. } => {
            "split the change into several runs; each can be undone separately".to_owned()
        }
        ErrorKind::NoSnapshot => {
            "apply the change with actum, or make sure that the client runs its hook before the change".to_owned()
        }
        ErrorKind::SnapshotTooLarge { .. } => {
            "change fewer or smaller files at a time, or apply the change with actum".to_owned()
        }
        ErrorKind::OtherFileSystem { .. } => {
            "create a workspace on that file system with `actum -C DIR init`".to_owned()
        }
        ErrorKind::HardLink { .. } => {
            "replace the file with a copy of itself to break the hard link".to_owned()
        }
        ErrorKind::Attributes { .. } => {
            "run as the owner of the file, or as a user who can set its attributes".to_owned()
        }
        ErrorKind::Conflict { .. } => "wait for the other program to finish, then try again".to_owned(),
        ErrorKind::Blocked { run, path } => format!(
            "the versions that actum saved are in `.actum/lost/{run}/`; once the file is as you want it, run `{}`",
            resolve_command(path.as_bytes())
        ),
        ErrorKind::NotBlocked { .. } => "`actum status` lists the blocked paths".to_owned(),
        ErrorKind::ChangedSince { attempt, run, conflicts } => {
            let (the_run, only_its) = match attempt {
                Attempt::Undo(target) => {
                    ("the run", format!("run `actum undo {target} --keep-edits` to undo only its own changes"))
                }
                Attempt::Redo(target) => {
                    ("the undo", format!("run `actum redo {target} --keep-edits` to redo only its own changes"))
                }
            };
            let only_elsewhere = conflicts.iter().all(|c| c.difference == Difference::Elsewhere);
            match conflicts.iter().find_map(|conflict| conflict.by) {
                Some(by) if only_elsewhere => format!(
                    "undo the later run first: `actum undo {by}`, or {only_its} and keep the later edits"
                ),
                Some(by) => format!("undo the later run first: `actum undo {by}`"),
                None if only_elsewhere => format!(
                    "`actum diff {run}` shows what {the_run} changed; {only_its} and keep the later edits"
                ),
                None => format!(
                    "`actum diff {run}` shows what {the_run} changed; restore the paths to that state, or reverse the \
                     change by hand"
                ),
            }
        }
        ErrorKind::NoRunToUndo { runs: 0 } => MAKES_A_RUN.to_owned(),
        ErrorKind::NoRunToRedo { runs: 0 } => {
            "`actum redo` restores changes that `actum undo` reversed".to_owned()
        }
        ErrorKind::NoRunToUndo { .. } => {
            "`actum redo` restores the change that was undone last; `actum log` lists the runs".to_owned()
        }
        ErrorKind::AsBefore { attempt: Attempt::Undo(_) } => {
            "to undo an earlier run, find its id with `actum log`, then run `actum undo RUN`"
                .to_owned()
        }
        ErrorKind::AsBefore { attempt: Attempt::Redo(_) } => {
            "to redo a different run, find its id with `actum log`, then run `actum redo RUN`"
                .to_owned()
        }
        ErrorKind::AlreadyUndone { attempt: Attempt::Undo(_), by } => {
            format!("run `actum undo {by}` to restore the change")
        }
        ErrorKind::AlreadyUndone { attempt: Attempt::Redo(_), .. } | ErrorKind::InEffect { .. } => {
            "`actum log` shows which runs are undone".to_owned()
        }
        ErrorKind::RunsReversed { from, to } => format!("`actum diff {to}..{from}`"),
        ErrorKind::NoRunToRedo { .. } => {
            "`actum log` lists the runs and shows which are undone".to_owned()
        }
        ErrorKind::UnknownRun { .. } | ErrorKind::NothingToUndo { .. } => {
            "`actum log` lists the runs".to_owned()
        }
        ErrorKind::LostImage { .. } | ErrorKind::DamagedHistory { .. } => {
            "other runs are not affected; `actum log` lists them".to_owned()
        }
        ErrorKind::Busy { .. } => {
            "try again when it has finished, or pass `--wait` if the command supports it".to_owned()
        }
        ErrorKind::NotAWorkspace => {
            "create a workspace with `actum init`, or name a directory in an existing one with `actum -C DIR …`".to_owned()
        }
        ErrorKind::Damaged { .. } => {
            "check the files; if they are correct, run `actum recover --set-aside-journal` to start a new journal; the old \
             one and the files that only it names are kept under `.actum/lost`"
                .to_owned()
        }
        ErrorKind::JournalMissing => {
            "restore the journal from a backup if possible; otherwise, check the files and run `actum recover \
             --set-aside-journal` to start a new one, although runs that were only in the lost journal cannot be undone"
                .to_owned()
        }
        ErrorKind::JournalSound => "run `actum status` to see what to do".to_owned(),
        ErrorKind::Poisoned => "run the command again".to_owned(),
        ErrorKind::Io { source, .. } if is_full(source) => {
            "free some space and try again; `actum gc` removes old history".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            "make the file system writable (`mount -o remount,rw`), then try again".to_owned()
        }
        ErrorKind::Io { source, .. } if too_many_open(source) => {
            "raise the limit of open files (`ulimit -n`), or split the change".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "run as a user who can write there, including in `.actum`".to_owned()
        }
        ErrorKind::ChangeSet { .. }
        | ErrorKind::Path { .. }
        | ErrorKind::NotAFile { .. }
        | ErrorKind::LinkTarget { .. }
        | ErrorKind::Component { .. }
        | ErrorKind::UnderAFile { .. }
        | ErrorKind::NewerFormat { .. }
        | ErrorKind::State { .. }
        | ErrorKind::Io { .. } => return Vec::new(),
    };
    vec![hint]
}

/// Hint for an invalid plan envelope.
pub(crate) const PLAN_SCHEMA: &str =
    "run `actum action schema plan` to print the schema of plan envelopes";
pub(crate) const MAKES_A_RUN: &str = "run `actum apply CHANGE` to make one";
const AS_A_DIFF: &str = "provide the change as a diff with line numbers";
const AMBIGUOUS: &str = "include more surrounding lines, so that only one place matches";
const OTHER_CONTENT: &str =
    "the change was made against other content; read the file and make it again";

/// Returns whether the error is `EMFILE` or `ENFILE` (errno(3)), for which the standard library has no stable name.
fn too_many_open(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns the `actum resolve` command for a path, quoted so that users can copy it from a message.
pub(crate) fn resolve_command(path: &[u8]) -> String {
    format!("actum resolve {}", ShellWord::operand(path))
}
