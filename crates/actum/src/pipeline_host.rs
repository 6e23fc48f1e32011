//! Support for running the pipelines of task plans (EX-9).

use std::path::PathBuf;
use std::sync::Arc;

use actum_core::{PathRule, RelPath, suggestion};
use actum_gate::Policy;
use actum_gate::policy::DeclaredPipeline;
use actum_sql::KeptResults;
use actum_task::{ActionType, Pipeline, TaskPlan};

use crate::command::Runner;
use crate::policies::PolicyInForce;

/// Function that creates the runner for pipeline commands under the policy in force. On failure it returns the reason
/// why no pipeline can run.
pub type MakeRunner = Arc<dyn Fn(&PolicyInForce) -> Result<Runner, String> + Send + Sync>;

/// Resources that a program provides for running pipelines.
#[derive(Clone)]
pub struct PipelineHost {
    /// Creates the runner for pipeline commands.
    pub runner: MakeRunner,
    /// Reads an environment variable of this process that a pipeline may inherit.
    pub variable: fn(&str) -> Option<String>,
    /// Home directory of actum, in which pipeline results are stored.
    pub home: PathBuf,
    /// Handling of stored results.
    pub kept_use: KeptUse,
}

/// Handling of stored pipeline results.
///
/// An agent may be able to choose the time of a preview. Therefore only results that an approver sees are stored, and
/// only results that an approver has signed are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptUse {
    /// Run each pipeline, and store no result.
    None,
    /// Run each pipeline, and replace its stored result.
    Keep,
    /// Use the stored result of each pipeline instead of running it.
    Publish,
}

/// Runner for the pipelines of a plan. It is `None` if the plan has no pipelines, and an error with the reason if they
/// cannot run here.
pub type PipelineSteps = Result<Option<PipelineRunner>, String>;

/// Runs the pipelines of a plan in a workspace.
#[derive(Debug)]
pub struct PipelineRunner {
    pub(crate) runner: Runner,
    /// Policy whose rules decide on each pipeline command.
    pub(crate) policy: Policy,
    pub(crate) variable: fn(&str) -> Option<String>,
    pub(crate) results: KeptResults,
    pub(crate) kept_use: KeptUse,
    declared: Vec<DeclaredPipeline>,
}

impl PipelineHost {
    /// Creates the runner for the pipelines of a plan. It requires that this host can confine commands in namespaces.
    pub fn open_for(
        host: Option<Self>,
        plan: &TaskPlan,
        in_force: &PolicyInForce,
    ) -> PipelineSteps {
        if !plan.actions.iter().any(|action| action.action_type() == ActionType::PipelineRun) {
            return Ok(None);
        }
        let host = host.ok_or("this program has no pipeline runner")?;
        let runner = (host.runner)(in_force)?.finding_programs_outside();
        if let Err(missing) = runner.confines() {
            return Err(format!("this host cannot confine pipelines in namespaces: {missing}"));
        }
        let (policy, declared) = (in_force.policy.clone(), in_force.pipelines.clone());
        let results = KeptResults::below(&host.home);
        let (variable, kept_use) = (host.variable, host.kept_use);
        Ok(Some(PipelineRunner { runner, policy, variable, results, kept_use, declared }))
    }
}

impl PipelineRunner {
    /// Looks up a declared pipeline by name. If it does not exist, the error message may suggest a similar name.
    pub(crate) fn declared(&self, name: &str) -> Result<&DeclaredPipeline, String> {
        if let Some(found) = self.declared.iter().find(|pipeline| pipeline.name == name) {
            return Ok(found);
        }
        let names: Vec<_> = self.declared.iter().map(|it| it.name.as_str()).collect();
        let hint = suggestion::suggest(name, &names).map(|it| format!("; did you mean `{it}`?"));
        let message =
            format!("the operator's policy does not declare a pipeline `{}`", name.escape_debug());
        Err(message + &hint.unwrap_or_default())
    }
}

/// Returns true if the declaration of this pipeline allows it to change the path.
pub fn may_change(pipelines: &PipelineSteps, pipeline: &Pipeline, path: &RelPath) -> bool {
    let Ok(Some(runner)) = pipelines else { return false };
    runner.declared(&pipeline.name).is_ok_and(|declared| declared.may_change(path))
}

/// Returns the path rules for all files that the pipelines of a plan may change.
pub(crate) fn outputs(pipelines: &PipelineSteps, plan: &TaskPlan) -> Vec<PathRule> {
    let Ok(Some(runner)) = pipelines else { return Vec::new() };
    let runs = plan.actions.iter().filter_map(|action| action.work.pipeline());
    let declared = runs.filter_map(|run| runner.declared(&run.name).ok());
    declared.flat_map(|pipeline| pipeline.outputs.iter().cloned()).collect()
}
