//! `actum plan approve`: previews a task plan and writes its task envelope, which is signed if the operator has an approval key.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::task::{
    self, APPROVAL_FILE, ApprovalError, ApprovedPlan, KeptUse, PipelineHost, RehearsalObserver,
    Script, SignedApproval, SqlHost, TaskDocuments,
};
use actum_api::task::PlanApprove;
use actum_core::ShellWord;
use actum_core::path::Quoted;
use actum_core::plain_id::PlainId;
use actum_record::dsse::Envelope;
use actum_record::signer::KeyRole;
use actum_task::limits::APPROVAL_BYTES_MAX;
use actum_task::report::{
    CONFIG_FILE, PLAN_FILE, PROMPT_FILE, SUMMARY_FILE, executor_prompt, is_executor_prompt,
    is_implementation_summary,
};
use actum_task::{ErrorCode, TaskEnvelope, TaskId};

use super::found::Problems;
use super::preview::{Nobody, Previewed};
use super::{Documents, Session, Task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::run_arguments::label;
use crate::verb::{pipeline_host, sql_host};
use crate::{actor, clock, input, policy, records, root, timestamp};

/// Approve a task plan by writing an envelope, with which `actum run` carries it out
///
/// The plan is first rehearsed as by `actum plan preview`, and refused if it would fail. The envelope contains the
/// SHA-256 digests of the plan and the config, and the id of the workspace. Therefore, it cannot be used for other
/// documents or in another workspace. If the installation has an approval key (`actum key make approval`), the command
/// asks for its passphrase and signs the approval. A signed approval is valid for a day, and only for the change that
/// was shown. Without an approval key, the envelope is unsigned and does not approve changes that need approval. The
/// command also writes `executor_prompt.txt` and `IMPLEMENTATION_SUMMARY.md` next to the envelope.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File with the task plan
    plan: PathBuf,
    /// System config; by default, `system_config.yaml` next to the plan is used, and created if it is missing
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name the task ID instead of using the id of the plan
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Write the envelope to the file NAME in the directory of the plan
    #[arg(long, value_name = "NAME", default_value = "task_envelope.json", value_parser = file_name)]
    output: String,
    /// Sign the envelope; fails without an approval key
    #[arg(long)]
    sign: bool,
    /// Record TEXT as the reason for the approval
    #[arg(long, value_name = "TEXT", value_parser = label)]
    reason: Option<String>,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Approve the plan for the agent NAME, which will request the run
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
}

/// Content of a new system config, which sets nothing.
const CONFIG_TEXT: &str =
    "# What holds for the tasks of this project. All of it can be left out.\n";

/// Document of the approval, with the path of the envelope for the text output.
struct Approved {
    document: PlanApprove,
    run: PathBuf,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let earlier = arguments.earlier_envelope(session);
    let end = approve(arguments, session);
    if let Some(TaskEnvelope { task, plan, .. }) = earlier {
        let name = Quoted(arguments.output.as_bytes());
        let file = Quoted(plan.file.as_bytes()).to_string();
        let is_other = Some(OsStr::new(&*file)) != arguments.plan.file_name();
        match &end {
            Ok(Exit::Success) if is_other => session.screen.note(format_args!(
                "`{name}` was replaced, so it no longer approves the earlier task {task} (`{file}`)"
            )),
            Ok(Exit::Success) => {}
            Ok(_) | Err(_) => session.screen.note(format_args!(
                "`{name}` still contains the earlier envelope of task {task} (`{file}`)"
            )),
        }
    }
    end
}

fn approve(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.plan == Path::new("-") {
        return Err(usage("the plan must be a file, because the envelope is written next to it"));
    }
    let plan_file = session.start.join(&arguments.plan);
    let beside = plan_file.parent().unwrap_or(&session.start).to_owned();
    let config = arguments.config_file(session, &beside)?;
    let config_file = config.path();
    let files = Files::new(&plan_file, config_file, &arguments.output)?;
    let documents = Documents { plan: arguments.plan.clone(), config: config.existing() };
    let task = match documents.read(&session.start)? {
        Ok(task) => config.read_with(task),
        Err(problems) => return refused(session, problems),
    };
    let mut problems = Problems::default();
    problems.find(&task, session)?;
    if !problems.is_empty() {
        return refused(session, problems);
    }
    let root = root::existing_or_new(&session.start);
    let id = arguments.task.clone().map_or_else(|| task.plan.id.as_str().to_owned(), String::from);
    let id: PlainId = id.parse().map_err(usage)?;
    let plan_id: PlainId = task.plan.id.as_str().parse().map_err(usage)?;
    let (checked, records) = records::open_for(root, &session.tenant)?;
    let mut engine = checked.engine(records.clone())?.under_files(policy::files()?, root);
    let workspace = engine.resume()?;
    let in_force = policy::in_force(root)?;
    let actor = actor::from_agent(arguments.agent.clone());
    let asked = (actor.clone(), KeptUse::Keep, session);
    let previewed = Previewed::new((engine.workspace_mut(), root), &task, &in_force, asked)?;
    let has_key = records.keyring().current(KeyRole::Approval, clock::now()).is_some();
    let must_be_signed = !in_force.task_envelopes.is_any();
    let is_signed =
        previewed.document.sound && (arguments.sign || previewed.asks || has_key || must_be_signed);
    if !previewed.document.sound {
        session.screen.show(&previewed)?;
        let message = format_args!("task {id} was not approved, and no envelope was written");
        session.screen.note(message);
        return Ok(Exit::Refused);
    }
    // Check that all files can be written before the operator is asked for approval.
    files.may_be_written(is_signed, &session.tenant)?;
    let approved = ApprovedPlan {
        task: id.as_str().parse().map_err(usage)?,
        workspace,
        plan: task.documents.plan,
        config: task.documents.config_digest(),
    };
    let mut signed = None;
    if is_signed {
        session.screen.print_text(&previewed)?;
        let question = format!("Approve task {id}?");
        let key = OperatorKey::approval(session, &question, arguments.passphrase_file.as_deref())?;
        config.make(session)?;
        let (approver, reason) = (key.approver(), arguments.reason.clone());
        signed = Some(
            approved
                .sign(&records, &previewed.change, reason.clone(), &approver)
                .map_err(unapproved)?,
        );
        // The gates require an approval for the change as well, so approve it together with the plan.
        if previewed.asks {
            let sql = SqlHost::open_for(sql_host::for_showing()?, &task.plan, &in_force);
            let Task { plan, graph, config, .. } = &task;
            let host = pipeline_host::new(root, session.screen, KeptUse::Publish, None)?;
            let pipelines = PipelineHost::open_for(Some(host), plan, &in_force);
            let script = Script { plan, graph, config, sql: &sql, pipelines: &pipelines };
            let shown = (&previewed.change, &mut Nobody as &mut dyn RehearsalObserver);
            let external = previewed.change.external.clone();
            let documents = (script, task.documents.clone().with_external(external));
            task::approve_change(&mut engine, documents, (&id, actor), shown, (&approver, reason))
                .map_err(unapproved)?;
        }
    }
    drop(engine);
    let text =
        approved.envelope((&files.plan, &files.config), signed.is_some()).map_err(unapproved)?;
    let approval = match signed {
        None => {
            if previewed.has_settings() {
                session.screen.print_text(&previewed)?;
            }
            config.make(session)?;
            let unsigned = "the envelope is not signed, so any program that runs as your user could have written it";
            session.screen.note(unsigned);
            None
        }
        Some(SignedApproval { bytes, expires }) => {
            OutputFile::write(&files.approval, Existing::Replace, &bytes, &session.tenant)?;
            Some((APPROVAL_FILE.to_owned(), expires))
        }
    };
    let summary = task::summary((&task.plan, &task.graph), (&plan_id, &id));
    files.write_prompt(&summary, session)?;
    OutputFile::write(&files.envelope, Existing::Replace, &text, &session.tenant)?;
    let shown = match arguments.plan.parent() {
        Some(above) => above.join(&arguments.output),
        None => PathBuf::from(&arguments.output),
    };
    let (approval, expires) = approval.unzip();
    let (task, envelope) = (id.to_string(), arguments.output.clone());
    let document = PlanApprove { task, envelope, approval, expires };
    session.screen.show(&Approved { document, run: shown })?;
    Ok(Exit::Success)
}

impl Arguments {
    /// Returns the envelope that the new one would replace, or `None` if it does not exist or cannot be read.
    fn earlier_envelope(&self, session: &Session) -> Option<TaskEnvelope> {
        let path = session.start.join(&self.plan).with_file_name(&self.output);
        let is_small = path.symlink_metadata().is_ok_and(|found| {
            found.is_file()
                && usize::try_from(found.len()).is_ok_and(|size| size <= APPROVAL_BYTES_MAX)
        });
        let read = || input::document(&path, Path::new("/"), APPROVAL_BYTES_MAX).ok();
        let (_, bytes) = is_small.then(read).flatten()?;
        TaskEnvelope::read(&bytes).ok()
    }

    /// Returns the system config that `--config` names or, without that option, the one in the directory of the plan.
    fn config_file(&self, session: &Session, beside: &Path) -> Result<ConfigFile, Failure> {
        if let Some(config) = &self.config {
            let config = session.start.join(config);
            return match config.parent() == Some(beside) {
                true => Ok(ConfigFile::Existing(config)),
                false => Err(usage("the system config must be in the same directory as the plan")),
            };
        }
        let config = beside.join(CONFIG_FILE);
        Ok(match config.symlink_metadata() {
            Ok(_) => ConfigFile::Existing(config),
            Err(_) => ConfigFile::Missing(config),
        })
    }
}

/// File of the system config, which may not exist yet.
enum ConfigFile {
    /// The file was named by an option, or exists.
    Existing(PathBuf),
    /// The default file does not exist, so the approval creates it.
    Missing(PathBuf),
}

impl ConfigFile {
    fn path(&self) -> &Path {
        let (Self::Existing(path) | Self::Missing(path)) = self;
        path
    }

    fn existing(&self) -> Option<PathBuf> {
        match self {
            Self::Existing(path) => Some(path.clone()),
            Self::Missing(_) => None,
        }
    }

    /// Returns the task. If the config file is missing, the digest in the task is that of the file that will be created.
    fn read_with(&self, task: Task) -> Task {
        match self {
            Self::Existing(_) => task,
            Self::Missing(_) => {
                let documents = TaskDocuments::new(task.documents.plan, CONFIG_TEXT.as_bytes());
                Task { documents, ..task }
            }
        }
    }

    /// Creates the config file if it is missing. Call this only after all checks have passed.
    fn make(&self, session: &Session) -> Result<(), Failure> {
        let Self::Missing(path) = self else { return Ok(()) };
        OutputFile::write(path, Existing::Refuse, CONFIG_TEXT.as_bytes(), &session.tenant)?;
        session.screen.note(format_args!("created an empty {CONFIG_FILE}"));
        Ok(())
    }
}

fn refused(session: &Session, problems: Problems) -> Result<Exit, Failure> {
    session.screen.show(&problems.document(None, None))?;
    Ok(Exit::Refused)
}

fn unapproved(error: ApprovalError) -> Failure {
    match error {
        ApprovalError::Engine(error) => error.into(),
        error @ (ApprovalError::TooLong
        | ApprovalError::ChangedSinceShown
        | ApprovalError::Unsound(_)) => usage(error),
    }
}

fn usage(why: impl std::fmt::Display) -> Failure {
    let code = ErrorCode::ApprovalInvalid;
    Failure::Usage {
        message: format!("cannot approve the task: {why} ({code}); nothing was approved"),
    }
}

/// Parses the name of a file in the directory of the plan.
fn file_name(text: &str) -> Result<String, NoFileName> {
    let is_name = !text.is_empty() && !text.contains('/') && !text.starts_with('.');
    is_name.then(|| text.to_owned()).ok_or(NoFileName)
}

/// The name of the envelope is not a valid file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a file name without directories that does not begin with `.`")]
struct NoFileName;

/// Paths of the documents of a task, which are all in one directory.
struct Files {
    plan: String,
    config: String,
    envelope: PathBuf,
    approval: PathBuf,
    prompt: PathBuf,
    summary: PathBuf,
}

impl Files {
    fn new(plan: &Path, config: &Path, envelope: &str) -> Result<Self, Failure> {
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let (Some(plan_name), Some(config)) = (name(plan), name(config)) else {
            return Err(usage("the plan and the config must be files"));
        };
        let others = [&*plan_name, &*config, APPROVAL_FILE, PROMPT_FILE, SUMMARY_FILE];
        if others.contains(&envelope) {
            return Err(usage(format_args!("`{envelope}` is the name of another task document")));
        }
        let beside = |name: &str| plan.with_file_name(name);
        let (approval, prompt, summary) =
            (beside(APPROVAL_FILE), beside(PROMPT_FILE), beside(SUMMARY_FILE));
        Ok(Self { plan: plan_name, config, envelope: beside(envelope), approval, prompt, summary })
    }

    /// Returns the prompt for an executor (EX-23), which refers to the task documents in the same directory.
    fn prompt_text(&self) -> String {
        executor_prompt(|file| match file {
            PLAN_FILE => self.plan.clone(),
            CONFIG_FILE => self.config.clone(),
            other => other.to_owned(),
        })
    }

    /// Writes the prompt and the implementation summary. A summary that actum did not write is left unchanged.
    fn write_prompt(&self, summary: &str, session: &Session) -> Result<(), Failure> {
        let tenant = &session.tenant;
        let is_ours =
            |there: &[u8]| std::str::from_utf8(there).is_ok_and(is_implementation_summary);
        match check_replaceable(&self.summary, is_ours) {
            Ok(()) => {
                let text = summary.as_bytes();
                OutputFile::write(&self.summary, Existing::Replace, text, tenant)?;
            }
            Err(_) => session.screen.note(format_args!(
                "`{SUMMARY_FILE}` was not written by actum, so it is left unchanged"
            )),
        }
        let prompt = self.prompt_text();
        OutputFile::write(&self.prompt, Existing::Replace, prompt.as_bytes(), tenant)
    }

    fn may_be_written(&self, is_signed: bool, tenant: &Tenant) -> Result<(), Failure> {
        OutputFile::check_file(&self.envelope, tenant)?;
        check_replaceable(&self.envelope, |there| TaskEnvelope::read(there).is_ok())?;
        OutputFile::check_file(&self.prompt, tenant)?;
        check_replaceable(&self.prompt, |there| {
            std::str::from_utf8(there).is_ok_and(is_executor_prompt)
        })?;
        if is_signed {
            OutputFile::check_file(&self.approval, tenant)?;
        }
        match is_signed {
            true => check_replaceable(&self.approval, |there| Envelope::read(there).is_ok()),
            false => Ok(()),
        }
    }
}

/// Checks that nothing exists at `path` or that `is_one` accepts its content, so that the file may be replaced. Symbolic links are
/// not followed.
fn check_replaceable(path: &Path, is_one: impl Fn(&[u8]) -> bool) -> Result<(), Failure> {
    let failed = |source| Failure::PageUnwritten { path: path.to_owned(), source };
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    let size = usize::try_from(found.len()).unwrap_or(usize::MAX);
    let is_small = found.is_file() && size <= APPROVAL_BYTES_MAX;
    let (_, there) = match is_small {
        true => input::document(path, Path::new("/"), APPROVAL_BYTES_MAX)?,
        false => (String::new(), Vec::new()),
    };
    if is_one(&there) {
        return Ok(());
    }
    let what = "a different kind of file already exists there";
    Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, what)))
}

impl Document for Approved {
    type Api = PlanApprove;

    fn document(&self) -> impl Borrow<PlanApprove> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let PlanApprove { task, approval, expires, .. } = &self.document;
        match (approval, expires) {
            (Some(file), Some(expires)) => {
                writeln!(
                    out,
                    "task {task} is approved; the signature in {file} is valid until {}",
                    timestamp::second(*expires)
                )?;
            }
            (Some(_) | None, _) => writeln!(out, "task {task} is approved")?,
        }
        let envelope = ShellWord::path(self.run.as_os_str().as_bytes());
        writeln!(out, "run `actum run {envelope}` to carry it out")
    }
}
