//! Commands and action of a plan, which are shown to the approver because an approval covers them as well.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::{Phase, Request};
use actum_action::{PlanEnvelope, PlanScope};
use actum_api::queue::{self, AskedCommand};
use actum_core::path::{Harmless, Quoted};

use crate::failure::Failure;
use crate::verb::sandbox::policy::{special_environment, special_limits};
use crate::{shown_path, task_settings};

/// Commands and action of a plan, read from its stored request.
pub(super) struct Asked {
    pub(super) document: queue::Asked,
    /// Plan envelope, if the plan is for an action.
    envelope: Option<PlanEnvelope>,
}

/// Maximum length of an action's input in the text, in characters. JSON documents contain the entire input.
const INPUT_CHARS_MAX: usize = 4000;

impl Asked {
    pub(super) fn new(request: &Request, root: &Path) -> Result<Self, Failure> {
        let commands = &request.commands;
        let typed = |argv: &Vec<String>| match actum_gate::CommandLine::new(argv.clone()) {
            Ok(line) => line.quoted(),
            Err(_) => argv.join(" "),
        };
        let made = commands.made.iter().map(|made| typed(&made.argv));
        let made = made.map(|command| AskedCommand { command, has_run: true });
        let action = request.action.as_deref();
        let has_checks = !commands.checks.is_empty() || commands.repair.is_some();
        let confinement = commands.confinement.as_ref().filter(|_| has_checks);
        let start = confinement.map(|policy| policy.cwd.strip_prefix(root).unwrap_or(&policy.cwd));
        let start = start.filter(|start| *start != Path::new(""));
        let to_run = action.filter(|action| action.phase == Phase::ToRun);
        let to_run = to_run.iter().flat_map(|action| &action.commands);
        let to_run = to_run.map(|line| AskedCommand { command: line.quoted(), has_run: false });
        let external = request.task.iter().flat_map(|task| &task.external);
        let external = external.flat_map(|pipeline| &pipeline.steps);
        let external = external.map(|step| AskedCommand { command: typed(step), has_run: false });
        let envelope = action.map(|action| action.plan.clone());
        let written = envelope.as_ref().map(serde_json::to_value).transpose();
        let document = queue::Asked {
            runs: made.chain(to_run).chain(external).collect(),
            checks: commands.checks.iter().map(actum_gate::CommandLine::quoted).collect(),
            repair: commands.repair.as_ref().map(actum_gate::CommandLine::quoted),
            checks_start_in: start.map(|start| shown_path::text(start.as_os_str().as_bytes())),
            checks_environment: confinement.map(special_environment).unwrap_or_default(),
            checks_limits: confinement.map(special_limits).unwrap_or_default(),
            envelope: written
                .map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?,
            package: action.and_then(|action| action.package),
            settings: task_settings::of_request(request, root),
        };
        Ok(Self { document, envelope })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(plan) = &self.envelope {
            let id = plan.action_id.as_deref().unwrap_or("no `actionId`");
            let tier = plan
                .declared_tier
                .map_or("no `riskTier`, which is treated as R4", |tier| tier.as_str());
            let id = Harmless(id.as_bytes());
            writeln!(out, "action   {} ({id}), declares {tier}", plan.action_type)?;
            let input = serde_json::to_string(&plan.input)?;
            let shown: String = input.chars().take(INPUT_CHARS_MAX).collect();
            let more = input.len() - shown.len();
            write!(out, "input    {}", Harmless(shown.as_bytes()))?;
            match more {
                0 => writeln!(out)?,
                more => writeln!(out, "… and {more} more bytes; pass `--json` to see them")?,
            }
            write_scope(out, &plan.scope)?;
        }
        let asked = &self.document;
        if let Some(package) = &asked.package {
            writeln!(out, "package  {package}")?;
        }
        task_settings::write(&asked.settings, out)?;
        for AskedCommand { command, has_run } in &asked.runs {
            let word = if *has_run { "ran" } else { "runs" };
            writeln!(out, "{word:<8} {}", Harmless(command.as_bytes()))?;
        }
        for check in &asked.checks {
            writeln!(out, "check    {}", Harmless(check.as_bytes()))?;
        }
        if let Some(repair) = &asked.repair {
            writeln!(out, "repair   {}", Harmless(repair.as_bytes()))?;
        }
        if let Some(start) = &asked.checks_start_in {
            writeln!(out, "start    checks start in {}", Quoted(start.as_bytes()))?;
        }
        for variable in &asked.checks_environment {
            writeln!(out, "env      {}", Harmless(variable.as_bytes()))?;
        }
        for limit in &asked.checks_limits {
            writeln!(out, "limit    {}", Harmless(limit.as_bytes()))?;
        }
        Ok(())
    }
}

fn write_scope(out: &mut dyn Write, scope: &PlanScope) -> io::Result<()> {
    let lists = [
        ("file", &scope.allowed_files),
        ("below", &scope.allowed_dirs),
        ("never", &scope.forbidden_files),
    ];
    for (word, paths) in lists {
        for path in paths {
            writeln!(out, "scope    {word} `{}`", Harmless(path.as_bytes()))?;
        }
    }
    if scope.permits_nothing() {
        writeln!(out, "scope    no file may be changed")?;
    }
    Ok(())
}
