//! `actum plan lint`: whether a task plan can be used, without looking into any file.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::iter::successors;
use std::os::unix::ffi::OsStrExt;

use actum::task::{Violation, violations};
use actum_core::RelPath;
use actum_document::{JsonPath, Step};
use actum_task::{Action, links, lint};
use serde::Serialize;

use super::found::{Found, Problems};
use super::{Documents, Session, Task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::{policy, root};

/// Check a task plan: its form, its actions, their order, and the files that it names
///
/// Reports all problems at once, each with its code, line and place. A plan whose form is wrong is not compared with the
/// files. `actum plan preview` also checks that edits find their text, and asks the gates. Exits with 1 if there is a problem.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
}

/// What came out.
#[derive(Serialize)]
pub(super) struct Linted {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    sound: bool,
    /// What there is in the plan, where it can be read.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    #[serde(flatten)]
    problems: Problems,
}

#[derive(Serialize)]
struct Size {
    actions: usize,
    files: usize,
}

pub(super) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let linted = match arguments.documents.read(&session.start)? {
        Err(problems) => Linted::unread(problems),
        Ok(task) => {
            let mut problems = Problems::default();
            problems.find(&task, session)?;
            let files: BTreeSet<_> = task.plan.actions.iter().flat_map(Action::written).collect();
            let size = Size { actions: task.plan.actions.len(), files: files.len() };
            let plan = Some(task.plan.id.to_string());
            Linted { plan, sound: problems.is_empty(), size: Some(size), problems }
        }
    };
    session.screen.show(&linted)?;
    Ok(if linted.sound { Exit::Success } else { Exit::Refused })
}

impl Linted {
    /// Documents that cannot be read.
    pub(super) fn unread(problems: Problems) -> Self {
        Self { plan: None, sound: false, size: None, problems }
    }
}

impl Problems {
    /// Finds what would go wrong in the tree of files as it is.
    pub(super) fn find(&mut self, task: &Task, session: &Session) -> Result<(), Failure> {
        self.find_violations(task, session)?;
        self.find_in_tree(task, session);
        Ok(())
    }

    /// Finds targets that are protected: they reject the plan as a whole.
    pub(super) fn find_violations(
        &mut self,
        task: &Task,
        session: &Session,
    ) -> Result<(), Failure> {
        let root = root::existing_or_new(&session.start);
        let Task { plan, places, config, .. } = task;
        for Violation { action, problem, .. } in
            violations(plan.targets(), &config.protected, &policy::in_force(root)?)?
        {
            let steps = vec![Step::Member("action_plan".to_owned()), Step::Element(action)];
            let place = places.0.get(action).copied();
            self.add(Found::new(problem.code, &problem.message, (&JsonPath(steps), place)));
        }
        Ok(())
    }

    fn find_in_tree(&mut self, task: &Task, session: &Session) {
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
        for finding in links(plan, link).into_iter().chain(lint(plan, graph, config, exists)) {
            let place = finding.action().and_then(|action| places.0.get(action).copied());
            self.add(Found::new(finding.code(), &finding, (&finding.path(), place)));
        }
    }
}

impl actum_api::Document for Linted {
    const FORMAT: &'static str = "actum.plan-lint/1";
}

impl Document for Linted {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.problems.write(out)?;
        let (true, Some(plan), Some(Size { actions, files })) =
            (self.sound, &self.plan, &self.size)
        else {
            return Ok(());
        };
        let plural = |count: &usize| if *count == 1 { "" } else { "s" };
        writeln!(
            out,
            "the plan `{plan}` can be used: {actions} action{} on {files} file{}",
            plural(actions),
            plural(files)
        )?;
        writeln!(out, "`actum plan preview` looks into the files, and asks the gates")
    }
}
