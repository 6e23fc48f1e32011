//! Host of the pipelines of tasks (EX-9).

use std::path::PathBuf;
use std::sync::Arc;

use actum_core::{PathRule, RelPath, suggestion};
use actum_gate::Policy;
use actum_gate::policy::DeclaredPipeline;
use actum_sql::KeptResults;
use actum_task::{ActionType, Pipeline, TaskPlan};

use crate::command::Runner;
use crate::policies::PolicyInForce;

/// Makes the runner of the commands of pipelines under the policy in force, or returns the reason why none can run.
pub type MakeRunner = Arc<dyn Fn(&PolicyInForce) -> Result<Runner, String> + Send + Sync>;

/// Host of pipelines.
#[derive(Clone)]
pub struct PipelineHost {
    /// Makes the runner of their commands.
    pub runner: MakeRunner,
    /// Reads a variable of this process, for a pipeline that gets it.
    pub variable: fn(&str) -> Option<String>,
    /// Home of actum, in which results are kept.
    pub home: PathBuf,
    /// Use of kept results.
    pub kept_use: KeptUse,
}

/// Use of kept results of pipelines. An agent may choose the moment of a preview. So only a result that an approver
/// sees is kept, and only one that an approver signed is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptUse {
    /// Run each pipeline, and keep no result.
    None,
    /// Run each pipeline, and replace its kept result.
    Keep,
    /// Use the kept result instead of a run.
    Publish,
}

/// Runner of the pipelines of a plan, `None` for a plan without any, or the reason why they cannot run here.
pub type PipelineSteps = Result<Option<PipelineRunner>, String>;

/// Runner of pipelines in a workspace.
#[derive(Debug)]
pub struct PipelineRunner {
    pub(crate) runner: Runner,
    /// Rules on commands.
    pub(crate) policy: Policy,
    pub(crate) variable: fn(&str) -> Option<String>,
    pub(crate) results: KeptResults,
    pub(crate) kept_use: KeptUse,
    declared: Vec<DeclaredPipeline>,
}

impl PipelineHost {
    /// Returns the runner of the pipelines of a plan.
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
            return Err(format!("this host cannot confine them in namespaces: {missing}"));
        }
        let (policy, declared) = (in_force.policy.clone(), in_force.pipelines.clone());
        let results = KeptResults::below(&host.home);
        let (variable, kept_use) = (host.variable, host.kept_use);
        Ok(Some(PipelineRunner { runner, policy, variable, results, kept_use, declared }))
    }
}

impl PipelineRunner {
    /// Returns the pipeline of this name, or the reason why it is missing.
    pub(crate) fn declared(&self, name: &str) -> Result<&DeclaredPipeline, String> {
        if let Some(found) = self.declared.iter().find(|pipeline| pipeline.name == name) {
            return Ok(found);
        }
        let names: Vec<_> = self.declared.iter().map(|it| it.name.as_str()).collect();
        let meant = suggestion::suggest(name, &names).map(|it| format!("; did you mean `{it}`?"));
        let message =
            format!("the operator's policy declares no pipeline `{}`", name.escape_debug());
        Err(message + &meant.unwrap_or_default())
    }
}

/// Returns true if a pipeline of a plan may change a path.
pub fn may_change(pipelines: &PipelineSteps, pipeline: &Pipeline, path: &RelPath) -> bool {
    let Ok(Some(runner)) = pipelines else { return false };
    runner.declared(&pipeline.name).is_ok_and(|declared| declared.may_change(path))
}

/// Returns the rules of the paths that the pipelines of a plan may change.
pub(crate) fn outputs(pipelines: &PipelineSteps, plan: &TaskPlan) -> Vec<PathRule> {
    let Ok(Some(runner)) = pipelines else { return Vec::new() };
    let runs = plan.actions.iter().filter_map(|action| action.work.pipeline());
    let declared = runs.filter_map(|run| runner.declared(&run.name).ok());
    declared.flat_map(|pipeline| pipeline.outputs.iter().cloned()).collect()
}
