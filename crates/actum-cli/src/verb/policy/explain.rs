//! `actum policy explain`: shows what the gates decide about a path, a command or a past run, and why.

mod command;
mod run;

use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum::{EntryPoint, PolicyInForce, Request, RequestLease};
use actum_api::gate;
use actum_api::path::WorkspacePath;
use actum_api::policy::PolicyExplanation;
use actum_core::path::{Harmless, PathError};
use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath, RunId};
use actum_gate::decision::TriggerFound;
use actum_gate::{
    Bundle, Case, CommandLine, GateDecision, GateName, Policy, Trigger, Verdict, decide,
};
use actum_ledger::Log;
use actum_record::lease::Quotas;
use actum_record::receipt::{EffectKind, PathEffect};
use actum_workspace::View;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_view::views;
use crate::lease::LeaseArgument;
use crate::output::Document;
use crate::run_arguments::label;
use crate::run_prefix::RunPrefix;
use crate::verb::Session;
use crate::verb::ledger::Opened;
use crate::{actor, operators_policy, policy, root};

/// Explain what the gates decide about changing a path, running a command or a past run
///
/// The path need not exist, and a command is not run. For a past run, shows the decisions of the gates, the policy that
/// was in force, and the decisions that the current policy leads to for the same change. Nothing is changed or
/// recorded.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Path relative to the root of the workspace, or the id of a past run, of which the first 4 characters are enough.
    /// `./NAME` is always treated as a path
    #[arg(
        value_name = "PATH|RUN",
        required_unless_present = "command",
        value_parser = OsStringValueParser::new().try_map(Named::read)
    )]
    named: Option<Named>,
    /// Explain this command instead of a path. The text is split at blanks and unquoted as by a shell. No other shell
    /// syntax is supported
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with_all = ["named", "path", "effect", "from"],
        value_parser = CommandLine::parse
    )]
    command: Option<CommandLine>,
    /// Treat the argument as a path, even if it looks like the id of a run
    #[arg(long)]
    path: bool,
    /// Kind of change to explain for the path [default: modified]
    #[arg(long, value_enum)]
    effect: Option<Effect>,
    /// Path of the file before it is renamed
    #[arg(
        long,
        value_name = "OLD",
        required_if_eq("effect", "renamed"),
        value_parser = OsStringValueParser::new().try_map(|text| RelPath::new(text.as_encoded_bytes()))
    )]
    from: Option<RelPath>,
    /// Judge a request of the agent NAME that acts for you, instead of your own request
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

/// Positional argument, which is always a valid path and may also be the id of a run.
#[derive(Debug, Clone)]
struct Named {
    path: RelPath,
    run: Option<RunPrefix>,
}

/// Document with the explanation for a path, and additional data for the text output.
struct Explained {
    document: PolicyExplanation,
    path: RelPath,
    from: Option<RelPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Effect {
    /// The file is created
    Created,
    /// The content changes
    Modified,
    /// The file is renamed, from the path of `--from`
    Renamed,
    /// The permission bits change
    Mode,
    /// The file is deleted
    Deleted,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let Arguments { named, command, path: is_path, effect, from, agent, lease } = arguments;
    if let Some(line) = command {
        return command::explain(line, session);
    }
    let Some(Named { path, run }) = named else {
        let message = "expected a path, a run or `--command`".to_owned();
        return Err(Failure::Usage { message });
    };
    let effect = match (effect, from) {
        (None, None) => Effect::Modified,
        (None | Some(Effect::Renamed), Some(_)) => Effect::Renamed,
        (Some(effect), None) => *effect,
        (Some(_), Some(_)) => {
            let message = "`--from` can only be used with `--effect renamed`".to_owned();
            return Err(Failure::Usage { message });
        }
    };
    // These options are only valid for a path, so the argument cannot be a run.
    let is_path = *is_path || arguments.effect.is_some() || from.is_some() || agent.is_some();
    if let Some(prefix) = run.as_ref().filter(|_| !is_path) {
        match known(prefix, session)? {
            Some(run) => return run::explain(run, session),
            None => note_if_missing(path, session),
        }
    }
    let lease = lease.look(session)?;
    explain((path, effect.into(), from.as_ref()), (agent.clone(), lease), session)
}

/// Finds the run that an argument names. A complete id is looked up in the ledger and in this workspace, and a shortened id only in
/// this workspace. Returns `None` if there is no such run.
fn known(prefix: &RunPrefix, session: &Session) -> Result<Option<RunId>, Failure> {
    let whole = prefix.whole();
    if let Some(run) = whole
        && let Some(opened) = Opened::if_there(&session.tenant)?
        && opened.log.run(run).map_err(actum::Error::from)?.is_some()
    {
        return Ok(Some(run));
    }
    if !root::is_made(session.root()) {
        return Ok(None);
    }
    let view = View::open(session.root())?;
    if let Some(run) = whole {
        return Ok(view.runs()?.iter().any(|known| known.run == run).then_some(run));
    }
    match prefix.resolve(&view) {
        Ok(run) => Ok(Some(run)),
        Err(Failure::NoSuchRun { .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Prints a note if the path does not exist, because the user may have mistyped the id of a run.
fn note_if_missing(path: &RelPath, session: &Session) {
    let place = root::existing_or_new(&session.start).join(OsStr::from_bytes(path.as_bytes()));
    if place.symlink_metadata().is_err() {
        session.screen.note(format_args!("there is no run `{path}`; treating it as a path"));
    }
}

/// Returns the policy in force for the workspace, and its digest.
fn in_force(session: &Session) -> Result<(PolicyInForce, Digest), Failure> {
    let in_force = policy::in_force(root::existing_or_new(&session.start))?;
    let digest = Digest::of(&in_force.policy.to_vec().map_err(actum::Error::from)?);
    Ok((in_force, digest))
}

fn explain(
    (path, effect, from): (&RelPath, EffectKind, Option<&RelPath>),
    (agent, lease): (Option<String>, Option<RequestLease>),
    session: &Session,
) -> Result<Exit, Failure> {
    let (in_force, digest) = in_force(session)?;
    let change = PathEffect {
        path: PathName(path.clone()),
        effect,
        from: from.cloned().map(PathName),
        before: None,
        after: None,
        added: 0,
        removed: 0,
    };
    let change = vec![change];
    let triggers = TriggerFound::by_name(&change);
    let actor = actor::under(agent, lease.as_ref());
    let asked = policy::asked(&in_force, actor.agent.clone(), &session.tenant)?;
    let request =
        Request { actor, entry_point: EntryPoint::CommandLine, ..Request::apply(Vec::new()) };
    let lease = lease.map(|lease| lease.case(&request, Quotas::default()));
    let case = Case { change, triggers, lease, ..asked };
    let root = case.root.clone();
    let decision = decide(&Bundle::new(digest, case), &in_force.policy, &in_force.cedar);
    let denies =
        |gate: &GateDecision| gate.gate == GateName::Protected && gate.verdict == Verdict::Deny;
    let hint = decision.gates.iter().any(denies).then(|| exception_hint(path, &in_force.policy));
    let document = PolicyExplanation {
        path: WorkspacePath::from(path),
        effect,
        from: from.map(WorkspacePath::from),
        verdict: decision.verdict.as_str().into(),
        tier: decision.tier,
        gates: views(&decision.gates),
    };
    session.screen.show(&Explained { document, path: path.clone(), from: from.cloned() })?;
    session.screen.advise(hint.as_slice());
    for trigger in by_content(&root, path, effect) {
        session.screen.note(format_args!(
            "the decision also depends on the content of the file: if the file {}, the change {}",
            trigger.effect(),
            if trigger.is_denied() { "is denied" } else { "needs approval (R3)" }
        ));
    }
    Ok(Exit::Success)
}

/// Returns the triggers that a change of a path may activate, depending on the new content of the file.
fn by_content(root: &str, path: &RelPath, effect: EffectKind) -> Vec<Trigger> {
    if !matches!(effect, EffectKind::Created | EffectKind::Modified | EffectKind::Renamed) {
        return Vec::new();
    }
    let mark = Trigger::may_mark_home(root, path).then_some(Trigger::LedgerHome);
    mark.into_iter().chain(Trigger::by_content(path.name())).collect()
}

/// Returns a hint about how a file can still be changed if the gate `protected` denies changes of its path.
fn exception_hint(path: &RelPath, in_force: &Policy) -> String {
    match in_force.check_exception(path) {
        Ok(()) => format!(
            "edit it without actum, or, as the operator, add exactly this path to `except` under `[protected]` in {} to let \
             agents change it",
            operators_policy::operators()
        ),
        Err(why) => {
            format!("edit it without actum; the operator cannot add an exception for it: {why}")
        }
    }
}

/// Formats the combined decision of all gates as text.
fn verdict_text(verdict: &gate::Verdict) -> String {
    match verdict {
        gate::Verdict::Allow => "allowed".to_owned(),
        gate::Verdict::NeedsApproval => "needs approval".to_owned(),
        gate::Verdict::Deny => "denied".to_owned(),
        gate::Verdict::Other(word) => Harmless(word.as_bytes()).to_string(),
    }
}

impl Named {
    fn read(text: OsString) -> Result<Self, PathError> {
        let bytes = text.as_bytes();
        let plain = bytes.strip_prefix(b"./");
        let path = RelPath::new(plain.unwrap_or(bytes))?;
        let run = text.to_str().filter(|_| plain.is_none()).and_then(|text| text.parse().ok());
        Ok(Self { path, run })
    }
}

impl From<Effect> for EffectKind {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Created => Self::Created,
            Effect::Modified => Self::Modified,
            Effect::Renamed => Self::Renamed,
            Effect::Mode => Self::Mode,
            Effect::Deleted => Self::Deleted,
        }
    }
}

impl Document for Explained {
    type Api = PolicyExplanation;

    fn document(&self) -> impl Borrow<PolicyExplanation> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { document: PolicyExplanation { effect, verdict, tier, gates, .. }, path, from } =
            self;
        let from = from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
        writeln!(out, "{from}{path} {}: {}, {tier}", effect.as_str(), verdict_text(verdict))?;
        gates.iter().try_for_each(|gate| writeln!(out, "gate  {}", gate))
    }
}
