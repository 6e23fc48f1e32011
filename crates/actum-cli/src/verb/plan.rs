//! `actum plan`: creates, checks, previews and approves task plans, which `actum run` then carries out.

mod approve;
mod found;
mod lint;
mod new;
mod preview;

use std::path::{Path, PathBuf};

use actum::task::TaskDocuments;
use actum_core::Digest;
use actum_task::limits::{CONFIG_BYTES_MAX, PLAN_BYTES_MAX};
use actum_task::report::CONFIG_FILE;
use actum_task::{ActionPlaces, Graph, SystemConfig, TaskPlan};

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::snippet::Quote;
use found::{Problems, plan_problem};

/// Create, check, preview and approve task plans
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    New(new::Arguments),
    Lint(lint::Arguments),
    Preview(preview::Arguments),
    Approve(approve::Arguments),
}

/// Command-line options for the documents of a task.
#[derive(clap::Args)]
struct Documents {
    /// File with the task plan; `-` is standard input
    plan: PathBuf,
    /// System config; by default, `system_config.yaml` next to the plan is used if it exists
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Valid task plan and system config, with the order in which the actions are carried out.
struct Task {
    plan: TaskPlan,
    places: ActionPlaces,
    config: SystemConfig,
    graph: Graph,
    /// Digests of the plan and config files.
    documents: TaskDocuments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::New(arguments) => new::run(arguments, session),
        Command::Lint(arguments) => lint::run(arguments, session),
        Command::Preview(arguments) => preview::run(arguments, session),
        Command::Approve(arguments) => approve::run(arguments, session),
    }
}

impl Documents {
    /// Reads and validates the plan and the config. The inner error contains all problems that were found in them.
    fn read(&self, start: &Path) -> Result<Result<Task, Problems>, Failure> {
        let mut problems = Problems::default();
        let (plan_file, bytes) = input::document(&self.plan, start, PLAN_BYTES_MAX)?;
        let plan = match TaskPlan::read_with_places(&bytes) {
            Ok(plan) => Some(plan),
            Err(error) => {
                let file = input::path(&self.plan, start);
                let document = (&*plan_file, file.as_deref(), &*bytes);
                problems.add_mistakes(document, &error.0);
                // These problems quote action ids, so report them only if the content of the document may be shown.
                if Quote::new(file.as_deref(), &bytes, None).is_shown() {
                    for (problem, place) in TaskPlan::named_order_problems(&bytes) {
                        problems.add(plan_problem(
                            problem.code(),
                            &problem,
                            (&problem.path(), place),
                        ));
                    }
                }
                None
            }
        };
        let plan_digest = Digest::of(&bytes);
        let mut config_bytes = Vec::new();
        let beside = start.join(&self.plan).with_file_name(CONFIG_FILE);
        let beside = (self.plan != Path::new("-") && beside.is_file()).then_some(beside);
        let config = match self.config.as_ref().or(beside.as_ref()) {
            None => Some(SystemConfig::default()),
            Some(file) => {
                let path = input::path(file, start);
                let (file, bytes) = input::document(file, start, CONFIG_BYTES_MAX)?;
                match SystemConfig::read(&bytes) {
                    Ok(config) => {
                        config_bytes = bytes;
                        Some(config)
                    }
                    Err(error) => {
                        problems.add_mistakes((&file, path.as_deref(), &bytes), &error.0);
                        None
                    }
                }
            }
        };
        let (Some((plan, places)), Some(config)) = (plan, config) else {
            return Ok(Err(problems));
        };
        let documents = TaskDocuments::new(plan_digest, &config_bytes);
        Ok(match plan.graph() {
            Ok(graph) => Ok(Task { plan, places, config, graph, documents }),
            Err(error) => {
                for problem in &error.problems {
                    let place = places.0.get(problem.action()).copied();
                    problems.add(plan_problem(problem.code(), problem, (&problem.path(), place)));
                }
                Err(problems)
            }
        })
    }
}
