//! Hints for users about errors of the engine.

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

/// Returns hints about an engine error that is not a workspace error.
pub(crate) fn after_engine(error: &actum::Error) -> Vec<String> {
    let hint = match error {
        actum::Error::Workspace(error) => return after(&error.kind),
        actum::Error::Home(_) => ANOTHER_HOME,
        actum::Error::HomeInside { .. } => {
            "work in another directory, or keep ledgers and keys in another one, which `ACTUM_HOME` names"
        }
        actum::Error::HomeAround { mark, .. } => {
            let mark = Quoted(mark.as_os_str().as_bytes());
            return vec![format!(
                "work in another directory; if `{mark}` is a file of a project, rename it or its directory"
            )];
        }
        actum::Error::WorkspaceWithin { root } | actum::Error::RepositoryWithin { root } => {
            let root = ShellWord::path(root.0.as_bytes());
            return vec![format!("`actum -C {root} …` makes the change there")];
        }
        actum::Error::BoundElsewhere { .. } => {
            return vec![
                "to use its own ledger, check `ACTUM_HOME`, `HOME` and `--tenant`; restore a lost ledger from a backup"
                    .to_owned(),
                "`actum bind` moves the workspace to the ledger in use here, with the approval key or after a day"
                    .to_owned(),
            ];
        }
        actum::Error::ConfigurationElsewhere { recorded, home, .. } => {
            let file = home.join("configuration");
            let (recorded, file) = (recorded.as_os_str().as_bytes(), file.as_os_str().as_bytes());
            return vec![
                format!(
                    "if your configuration is in `{}`, set `XDG_CONFIG_HOME` and `HOME` as in your login",
                    Quoted(recorded)
                ),
                format!(
                    "if it is not, remove `{}`: the next command remembers the place in use then",
                    Quoted(file)
                ),
            ];
        }
        actum::Error::Key(KeyError::ShortPassphrase) => {
            "several words that have nothing to do with each other are easy to keep and hard to guess"
        }
        actum::Error::Key(KeyError::Unattended { .. }) => "leave `--passphrase-file` out",
        actum::Error::Key(KeyError::WrongPassphrase { .. }) => {
            "try again; a line break at the end of a passphrase file does not count, spaces do"
        }
        actum::Error::Key(KeyError::NoKey { role: KeyRole::Lease, .. }) => {
            "`actum key make lease` makes it; after the first change it counts at once with the passphrase of the approval key, and \
             otherwise after 24 hours"
        }
        actum::Error::Key(_) | actum::Error::Sign(_) => "`actum key list` shows the keys",
        actum::Error::Ledger { source } => return of_ledger(source),
        actum::Error::RequestKeyTaken { run, .. } => {
            return vec![format!(
                "give another key; `actum show {run}` tells what this one stands for"
            )];
        }
        actum::Error::OnlyOthersRuns { way, run, .. } => {
            return vec![format!(
                "`actum {} {run}` takes that one back; `actum log` lists the runs",
                way.as_str()
            )];
        }
        actum::Error::RecoveredFirst { way, .. } => {
            return vec![format!(
                "`actum {}` again goes on with the run before it; `actum log` lists the runs",
                way.as_str()
            )];
        }
        actum::Error::WorkspaceIsACopy { .. } => {
            "look at the files; if the request should be done here, ask under another key"
        }
        actum::Error::Retained { .. } => {
            "`--below-retention` forgets them with the approval key; `[retention]` in the operator's policy sets \
             what is kept"
        }
        actum::Error::Forgotten(_) => "`actum key list` shows the keys",
        actum::Error::OutcomeUnknown { .. } => {
            "look at the files; then ask under another key for what is still missing"
        }
        actum::Error::NothingToChange => "the files are as the change would make them",
        actum::Error::Policy(error) => return of_policy(error),
        actum::Error::Lease(_) => {
            "`actum lease show FILE` prints what a lease allows, and `actum lease verify FILE` whether it counts here"
        }
        actum::Error::Grant(_) => "`actum lease grant --help` lists the terms of a lease",
        actum::Error::Denied { gates } => return gates.iter().map(of_gate).collect(),
        actum::Error::ApprovalRequired { .. } => {
            "a file task is not queued; `actum apply` queues the same change for approval"
        }
        actum::Error::Queued { plan, denied, .. } => {
            let denied = denied.as_ref().map(|(before, reason)| match reason {
                Some(reason) => format!(
                    "the version before, plan {before}, was denied: {}",
                    Quoted(reason.as_bytes())
                ),
                None => format!("the version before, plan {before}, was denied"),
            });
            let key = matches!(approval_key::approval_key(), Ok(ApprovalState::Missing)).then(|| {
                "the approval key is missing: `actum key make approval` makes it; made this late, it counts after 24 hours".to_owned()
            });
            let ways = [
                format!("`actum queue {plan}` shows it, `actum approve {plan}` approves and applies it"),
                "nothing changes until then; a plan of a task is applied by the same request, once it is approved"
                    .to_owned(),
            ];
            return denied.into_iter().chain(ways).chain(key).collect();
        }
        actum::Error::Queue(error) => of_queue(error),
        actum::Error::Catalog(error) => return of_catalog(error),
        actum::Error::Command(error) => return of_command(error),
        actum::Error::NoAction => "a plan envelope is carried out with `actum action run`",
        actum::Error::Output(_) => {
            "no part of `agent/agent_outputs` may be a file or a symbolic link, and you need to be allowed to write there"
        }
        actum::Error::Rollback(
            RollbackRefused::Open { source, .. } | RollbackRefused::PutBack { source, .. },
        ) => {
            return after_engine(source);
        }
        actum::Error::Rollback(_) => {
            "`agent/agent_outputs/reports` has a directory for each task; its `rollback_manifest.json` says how it stands"
        }
        actum::Error::Untold { .. } => "`actum log` lists what was done",
        actum::Error::Unverified { .. } => {
            "mend what the check finds, and run the command again; `--drop` shows what it changes"
        }
        actum::Error::Unsettled { .. } => {
            "the run itself is over; see to what is named, and the next run here writes the receipt"
        }
        actum::Error::Record { .. } => {
            "split the change into several runs; each can be undone by itself"
        }
    };
    vec![hint.to_owned()]
}

/// Returns hints about a policy.
fn of_policy(PolicyError { path, problem, .. }: &PolicyError) -> Vec<String> {
    let way =
        if let PolicyProblem::TooOpen { .. } | PolicyProblem::DirectoryTooOpen { .. } = problem {
            format!("run `chmod go-w {}`", ShellWord::path(path.as_os_str().as_bytes()))
        } else if let PolicyProblem::OfAnother { .. } = problem {
            format!("have `{}` given to you with `chown`", Quoted(path.as_os_str().as_bytes()))
        } else {
            "correct the file".to_owned()
        };
    vec![format!("{way}; until then every change is rejected here")]
}

/// Returns hints about a command.
fn of_command(error: &CommandError) -> Vec<String> {
    let hint = match error {
        CommandError::NotFound { why: NoProgram::NotExecutable, .. } => {
            "`chmod +x` makes it executable; or start it with its interpreter"
        }
        CommandError::NotFound { name, .. } => return vec![of_program(name)],
        CommandError::Spawn(SpawnError::Command { .. }) => {
            "what a program outside of `/usr` needs is allowed with `--exec PATH`, also where a link leads to it"
        }
        CommandError::Unsatisfiable(_) => {
            "`actum doctor` says what this host can hold, and what would change that"
        }
        CommandError::Interrupted => return Vec::new(),
        CommandError::Unseen(_) => {
            return vec![
                "unset `HOME` and `XDG_DATA_HOME` if they lead into the workspace, or rename what looks like a \
                 directory of ledgers and keys"
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
                (true, _) => "run the command again: it worked on what is not there any more",
                (false, true) => "what git keeps in `.git` is changed by git itself, without actum",
                (false, false) => {
                    "runs change files and directories; what else the command needs it can have in `$TMPDIR`, or \
                     in a directory that the operator's policy names in `caches` under `[sandbox]`"
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

/// Returns the location of a program that the sandbox does not see.
fn of_program(name: &str) -> String {
    let ours =
        inherited("PATH").and_then(|path| SandboxPolicy::new("/").in_path(Path::new(name), &path));
    match ours {
        Some(ours) => format!(
            "your `PATH` has {}; what it needs is allowed with `--exec DIRECTORY` if the operator lists that under \
             `[sandbox] exec` in {}",
            Quoted(ours.as_os_str().as_bytes()),
            operators_policy::widening()
        ),
        None => "check the name; a program outside of `/usr` needs `--exec DIRECTORY`, if the operator lists it; a shell runs a line: \
                 `-- sh -c 'LINE'`"
            .to_owned(),
    }
}

/// Returns the hint about a refusal of a gate.
fn of_gate(GateDecision { gate, ground, .. }: &GateDecision) -> String {
    match gate {
        GateName::Credentials => format!(
            "take it out, and let what needs it read it from where secrets are kept; where everybody may know it, \
             add the digest that is named to `allow` under `[credentials]` in {}, after `version = 1`",
            operators_policy::operators()
        ),
        GateName::Protected => {
            "edit protected paths without actum; `actum policy explain PATH` says whether the operator can except exactly \
             this path, and how"
                .to_owned()
        }
        GateName::Scope if matches!(ground.first, Ground::ScopeDenied { .. }) => {
            "the rule denies it on purpose; `actum policy check` shows what is in force, and where it is \
             from"
                .to_owned()
        }
        GateName::Scope | GateName::Budget => {
            "`actum policy suggest` prints the narrowest rules that would let it pass, and `actum policy check` \
             shows what is in force"
                .to_owned()
        }
        GateName::Lease if matches!(ground.first, Ground::LeaseRequired { .. }) => {
            "get a lease from the operator (`actum lease grant`), and give it with `--lease FILE` or `ACTUM_LEASE`".to_owned()
        }
        GateName::Lease => {
            "`actum lease show FILE` prints what the lease allows; only the operator can grant another one".to_owned()
        }
        GateName::Commands | GateName::Tier | GateName::Access | GateName::Approval => {
            "`actum policy check` shows what is in force, and where it is from".to_owned()
        }
    }
}

/// Returns the hint about a plan in the queue.
fn of_queue(error: &QueueError) -> &'static str {
    match error {
        QueueError::NoPlan { .. } => "`actum queue` lists the pending plans",
        QueueError::NoAlert { .. } => {
            "`actum queue` lists the pending alerts, each with its number"
        }
        QueueError::State { state: PlanState::CarriedOut, .. }
        | QueueError::NoParts { state: PlanState::CarriedOut, .. }
        | QueueError::NotApproved { state: PlanState::CarriedOut, .. } => {
            "`actum log` shows whether a run carried it out; if none did, make the request again"
        }
        QueueError::State { .. } | QueueError::NoParts { .. } | QueueError::NotApproved { .. } => {
            "make the request again; it is decided anew"
        }
        QueueError::Stale { .. } => {
            "make the request again: the change is computed from the current files and queued again"
        }
        QueueError::Input { .. } => "make the request again, and deny this plan",
        QueueError::Unproven { .. } => {
            "`actum key list` tells which approval key counts, and from when"
        }
        QueueError::Full | QueueError::FullOfOne => {
            "`actum queue` lists them; approve or deny some"
        }
    }
}

/// Returns hints about the catalog of actions.
fn of_catalog(error: &CatalogError) -> Vec<String> {
    let hint = match error {
        CatalogError::Ledger(error) => return of_ledger(error),
        CatalogError::Unproven { index, .. }
        | CatalogError::Misplaced { index }
        | CatalogError::Snapshot { index, .. } => {
            return vec![
                format!("`actum ledger show {index}` shows the entry; no command of actum appends such a one"),
                "setting the state of any action again (`actum catalog activate NAME`, `actum catalog retire NAME`) restores the \
                 catalog from before"
                    .to_owned(),
            ];
        }
        CatalogError::Unknown { .. } => "`actum catalog list` lists the actions",
        CatalogError::State { action, .. } => {
            return vec![format!("`actum catalog show {action}` tells where it stands")];
        }
        CatalogError::ChangedSinceShown => {
            "look at the catalog again (`actum catalog list`), and find out who changed it"
        }
        CatalogError::OtherPackage { .. } => "look at the package, and register it anew",
        CatalogError::IsCore { .. } | CatalogError::OtherName { .. } => {
            "give the package a name of its own, in `action.json` and as its directory"
        }
        CatalogError::Unsound { .. } | CatalogError::Record(_) => {
            "`actum catalog lint PACKAGE` tells what is wrong with a package"
        }
        CatalogError::Key(_) => "`actum key list` tells which approval key counts, and from when",
        CatalogError::BuiltIn { .. } => return Vec::new(),
    };
    vec![hint.to_owned()]
}

const ANOTHER_HOME: &str = "fix what is named; another `ACTUM_HOME` would have a ledger of its own, which does not \
                            know the runs of this one";

/// Returns hints about a ledger.
pub(crate) fn of_ledger(error: &LedgerError) -> Vec<String> {
    let hint = match error {
        LedgerError::Damaged { .. } | LedgerError::NoLedger { .. } => {
            "`actum ledger verify` tells all that is wrong; a copy of the ledger from before brings it \
             back"
        }
        LedgerError::Forgot { .. } => {
            "a copy of the ledger from after that run brings it back; where there is none, remove \
             the directory `.actum/recorded` to go on with the ledger as it is"
        }
        LedgerError::NewerSchema { .. } => "use the version of actum that made it, or a later one",
        LedgerError::Home { .. } => ANOTHER_HOME,
        LedgerError::Key { .. } => "`actum key list` shows the keys",
        LedgerError::Locked { .. } => {
            "end the program that has the ledger open, such as a database browser, or a run that was \
             stopped in the middle"
        }
        LedgerError::Gone { .. } => {
            "put the ledger back where it was, or start anew with the one that is there now; what this \
             program wrote before is where the ledger went"
        }
        LedgerError::Refused { refusal: Refusal::LogFull { .. } } => {
            "set a higher `max_bytes` under `[ledger]` in the operator's policy, or go on in the ledger of another \
             tenant: `actum --tenant NAME bind`"
        }
        LedgerError::Refused {
            refusal:
                Refusal::PlanStarted { .. }
                | Refusal::PlanAnswered { .. }
                | Refusal::PlanNotApproved { .. },
        } => {
            "the plan was answered or carried out meanwhile, and `actum queue PLAN` shows how; for the change, make the \
             request again"
        }
        LedgerError::Full { .. } => "make room on the file system of `ACTUM_HOME`",
        LedgerError::ReadOnly { .. } | LedgerError::File { .. } | LedgerError::NoFile { .. } => {
            "see to it that you may write in `ACTUM_HOME`, or name another directory with it"
        }
        LedgerError::Refused { .. }
        | LedgerError::OutcomeUnknown { .. }
        | LedgerError::Database { .. }
        | LedgerError::Checkpoint { .. }
        | LedgerError::NoWriter { .. }
        | LedgerError::Stopped => "`actum ledger verify` tells whether the ledger is sound",
    };
    vec![hint.to_owned()]
}

/// Returns hints about an error of the workspace. No hint turns a check off.
pub(crate) fn after(error: &ErrorKind) -> Vec<String> {
    let hint = match error {
        ErrorKind::Hunk {
            source:
                HunkError::Malformed { .. }
                | HunkError::WrongCount { .. }
                | HunkError::Empty { .. }
                | HunkError::OutOfOrder { .. },
            ..
        } => "the change itself is malformed; make it again".to_owned(),
        ErrorKind::Edit { source, .. } => edit::after(source).to_owned(),
        ErrorKind::Hunk { source: HunkError::Ambiguous { .. }, .. } => AMBIGUOUS.to_owned(),
        ErrorKind::Hunk { near: Some(NearestMatch::Elsewhere { lines }), .. } if lines.0.len() == 1 => {
            "`--allow-offset` lets a hunk apply where its lines are, if that is one place".to_owned()
        }
        ErrorKind::Hunk { near: Some(NearestMatch::New { .. }), .. } => {
            "the change may be applied already; if not, read the file and make the change again".to_owned()
        }
        ErrorKind::Hunk { .. } => {
            OTHER_CONTENT.to_owned()
        }
        ErrorKind::Expected { found: Some(_), .. } => {
            "the file changed since it was read; read it again and make the change from that"
                .to_owned()
        }
        ErrorKind::Expected { found: None, .. } | ErrorKind::Missing { .. } => {
            "paths are relative to the root of the workspace, which `actum status` names".to_owned()
        }
        ErrorKind::Exists { .. } => {
            "edit the file; to replace it, use `--overwrite`, or give the whole file with its \
             `expected_prev_sha256`; a directory is not replaced: remove it first"
                .to_owned()
        }
        ErrorKind::NotAFile { found: NotAFile::Symlink, .. }
        | ErrorKind::Component { found: NotAFile::Symlink, .. } => {
            "name the file by its real path; links are not followed".to_owned()
        }
        ErrorKind::Private { .. } => "leave the path out of the change".to_owned(),
        ErrorKind::Scope { .. } => {
            "leave the path out of the change, or ask whoever set the scope".to_owned()
        }
        ErrorKind::Budget { .. } => "split the change, or ask whoever set the budget".to_owned(),
        ErrorKind::TooLargeToSearch { .. } => AS_A_DIFF.to_owned(),
        ErrorKind::TooLarge { .. } => {
            "split the change into several runs; each can be undone by itself".to_owned()
        }
        ErrorKind::NoSnapshot => {
            "apply the change with actum, or let the hook of the client run before it".to_owned()
        }
        ErrorKind::SnapshotTooLarge { .. } => {
            "change fewer or smaller files at once, or apply the change with actum".to_owned()
        }
        ErrorKind::OtherFileSystem { .. } => {
            "make a workspace on that file system: `actum -C DIR init`".to_owned()
        }
        ErrorKind::HardLink { .. } => {
            "copy the file over itself to part it from its other names".to_owned()
        }
        ErrorKind::Attributes { .. } => {
            "run as the owner of the file, or as a user who may set what it has".to_owned()
        }
        ErrorKind::Conflict { .. } => "let the other program finish, then try again".to_owned(),
        ErrorKind::Blocked { run, path } => format!(
            "what actum knows of it is in `.actum/lost/{run}/`; when the file is as you want it, \
             `{}`",
            resolve_command(path.as_bytes())
        ),
        ErrorKind::NotBlocked { .. } => "`actum status` lists the blocked paths".to_owned(),
        ErrorKind::ChangedSince { attempt, run, conflicts } => {
            let (the_run, only_its) = match attempt {
                Attempt::Undo(of) => {
                    ("the run", format!("`actum undo {of} --keep-edits` takes back only what it changed"))
                }
                Attempt::Redo(of) => {
                    ("the undo", format!("`actum redo {of} --keep-edits` brings back only what it changed"))
                }
            };
            let only_elsewhere = conflicts.iter().all(|c| c.difference == Difference::Elsewhere);
            match conflicts.iter().find_map(|conflict| conflict.by) {
                Some(by) if only_elsewhere => format!(
                    "undo the later run first: `actum undo {by}`; or {only_its}, and leaves the rest of the files"
                ),
                Some(by) => format!("undo the later run first: `actum undo {by}`"),
                None if only_elsewhere => format!(
                    "`actum diff {run}` shows what {the_run} changed; {only_its}, and leaves the rest of the files"
                ),
                None => format!(
                    "`actum diff {run}` shows what {the_run} changed; put the paths back as it left \
                     them, or change them back by hand"
                ),
            }
        }
        ErrorKind::NoRunToUndo { runs: 0 } => MAKES_A_RUN.to_owned(),
        ErrorKind::NoRunToRedo { runs: 0 } => {
            "`actum redo` brings back what `actum undo` took back".to_owned()
        }
        ErrorKind::NoRunToUndo { .. } => {
            "`actum redo` brings back what was undone last; `actum log` lists the runs".to_owned()
        }
        ErrorKind::AsBefore { attempt: Attempt::Undo(_) } => {
            "to undo an earlier run, name it: `actum log` lists the runs, then `actum undo RUN`"
                .to_owned()
        }
        ErrorKind::AsBefore { attempt: Attempt::Redo(_) } => {
            "to redo another run, name it: `actum log` lists the runs, then `actum redo RUN`"
                .to_owned()
        }
        ErrorKind::AlreadyUndone { attempt: Attempt::Undo(_), by } => {
            format!("`actum undo {by}` brings the change back")
        }
        ErrorKind::AlreadyUndone { attempt: Attempt::Redo(_), .. } | ErrorKind::InEffect { .. } => {
            "`actum log` tells which runs are undone".to_owned()
        }
        ErrorKind::RunsReversed { from, to } => format!("`actum diff {to}..{from}`"),
        ErrorKind::NoRunToRedo { .. } => {
            "`actum log` lists the runs and tells which are undone".to_owned()
        }
        ErrorKind::UnknownRun { .. } | ErrorKind::NothingToUndo { .. } => {
            "`actum log` lists the runs".to_owned()
        }
        ErrorKind::LostImage { .. } | ErrorKind::DamagedHistory { .. } => {
            "other runs are not affected; `actum log` lists them".to_owned()
        }
        ErrorKind::Busy { .. } => {
            "try again when it has finished; `--wait`, where a command has it, waits for that".to_owned()
        }
        ErrorKind::NotAWorkspace => {
            "make one with `actum init`, or name a directory in one: `actum -C DIR …`".to_owned()
        }
        ErrorKind::Damaged { .. } => {
            "look at the files; if they are right, `actum recover --set-aside-journal` keeps the \
             journal under `.actum/lost`, with the files that only it names, and starts a new one"
                .to_owned()
        }
        ErrorKind::JournalMissing => {
            "restore the journal from a backup if you can; else check the files, then `actum recover --set-aside-journal` starts \
             a new one, and runs that were only in the lost one cannot be undone"
                .to_owned()
        }
        ErrorKind::JournalSound => "`actum status` says what is to be done".to_owned(),
        ErrorKind::Poisoned => "run the command again".to_owned(),
        ErrorKind::Io { source, .. } if is_full(source) => {
            "free some space and try again; `actum gc` gives back old history".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            "make the file system writable (`mount -o remount,rw`), then try again".to_owned()
        }
        ErrorKind::Io { source, .. } if too_many_open(source) => {
            "let the process open more files (`ulimit -n`), or split the change".to_owned()
        }
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "run as a user who may write there, `.actum` included".to_owned()
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

/// Hint about a wrong plan envelope.
pub(crate) const PLAN_SCHEMA: &str =
    "`actum action schema plan` prints the form of a plan envelope";
pub(crate) const MAKES_A_RUN: &str = "`actum apply CHANGE` makes one";
const AS_A_DIFF: &str = "give the change as a diff with line numbers";
const AMBIGUOUS: &str = "give more lines around it, until there is only one such place";
const OTHER_CONTENT: &str =
    "the change was made against other content; read the file and make it again";

/// Returns true for `EMFILE` and `ENFILE` (errno(3)), for which the standard library has no stable name.
fn too_many_open(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns the command line that resolves a path, for a message.
pub(crate) fn resolve_command(path: &[u8]) -> String {
    format!("actum resolve {}", ShellWord::operand(path))
}
