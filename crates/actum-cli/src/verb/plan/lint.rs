//! `actum plan lint`: checks a task plan without carrying it out.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::iter::successors;
use std::os::unix::ffi::OsStrExt;

use actum::task::{self, KeptUse, PipelineHost, Script, SqlHost, Violation, violations};
use actum_api::task::PlanLint;
use actum_core::RelPath;
use actum_document::{JsonPath, Step};
use actum_task::{Action, Files, Pipeline, links, lint};

use super::found::{self, Problems, plan_problem};
use super::{Documents, Session, Task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::{pipeline_host, sql_host};
use crate::{policy, root};

/// Check the syntax of a task plan, its actions, their order and the files that it refers to
///
/// Reports all problems together, each with its error code and position. If the plan is not valid by itself, its files
/// are not checked. `actum plan preview` also checks that edits match the content of the files, and evaluates the
/// gates. Exits with 1 if there is a problem.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let linted = match arguments.documents.read(&session.start)? {
        Err(problems) => problems.document(None, None),
        Ok(task) => {
            let mut problems = Problems::default();
            problems.find(&task, session)?;
            let files: BTreeSet<_> = task.plan.actions.iter().flat_map(Action::written).collect();
            let size = (task.plan.actions.len(), files.len());
            problems.document(Some(task.plan.id.to_string()), Some(size))
        }
    };
    session.screen.show(&linted)?;
    Ok(if linted.sound { Exit::Success } else { Exit::Refused })
}

impl Problems {
    /// Finds protected targets, and problems with the files in the workspace as they are now.
    pub(super) fn find(&mut self, task: &Task, session: &Session) -> Result<(), Failure> {
        self.find_violations(task, session)?;
        self.find_in_tree(task, session)
    }

    /// Finds protected targets. If there is one, the entire plan is rejected.
    pub(super) fn find_violations(
        &mut self,
        task: &Task,
        session: &Session,
    ) -> Result<(), Failure> {
        let root = root::existing_or_new(&session.start);
        let Task { plan, places, config, .. } = task;
        for Violation { action, problem: found, .. } in
            violations(plan.targets(), &config.protected, &policy::in_force(root)?)?
        {
            let steps = vec![Step::Member("action_plan".to_owned()), Step::Element(action)];
            let place = places.0.get(action).copied();
            self.add(plan_problem(found.code, &found.message, (&JsonPath(steps), place)));
        }
        Ok(())
    }

    fn find_in_tree(&mut self, task: &Task, session: &Session) -> Result<(), Failure> {
        let root = root::existing_or_new(&session.start);
        let exists = |path: &RelPath| {
            let path = root.join(OsStr::from_bytes(path.as_bytes()));
            path.symlink_metadata().is_ok_and(|found| found.is_file())
        };
        let Task { plan, places, config, graph, .. } = task;
        let is_link = |path: &RelPath| {
            let path = root.join(OsStr::from_bytes(path.as_bytes()));
            path.symlink_metadata().is_ok_and(|found| found.is_symlink())
        };
        let link = |path: &RelPath| {
            let way = successors(Some(path.clone()), RelPath::parent);
            way.filter(is_link).last()
        };
        let in_force = policy::in_force(root)?;
        let sql = SqlHost::open_for(sql_host::for_showing().ok().flatten(), plan, &in_force);
        let host = pipeline_host::new(root, session.screen, KeptUse::None, None)?;
        let pipelines = PipelineHost::open_for(Some(host), plan, &in_force);
        let script = Script { plan, graph, config, sql: &sql, pipelines: &pipelines };
        let may_change = |run: &Pipeline, path: &RelPath| task::may_change(&pipelines, run, path);
        let files = Files { exists: &exists, may_change: &may_change };
        let found = links(plan, link).into_iter().chain(lint(plan, graph, config, files));
        for finding in found.chain(task::findings(script)) {
            let place = finding.action().and_then(|action| places.0.get(action).copied());
            self.add(plan_problem(finding.code(), &finding, (&finding.path(), place)));
        }
        Ok(())
    }
}

impl Document for PlanLint {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        found::write(self, out)?;
        let (true, Some(plan), Some(actions), Some(files)) =
            (self.sound, &self.plan, &self.actions, &self.files)
        else {
            return Ok(());
        };
        let plural = |count: &u64| if *count == 1 { "" } else { "s" };
        writeln!(
            out,
            "the plan `{plan}` is valid: {actions} action{} on {files} file{}",
            plural(actions),
            plural(files)
        )?;
        writeln!(out, "run `actum plan preview` to show its changes and the decisions of the gates")
    }
}
