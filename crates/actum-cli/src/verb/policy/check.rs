//! `actum policy check`: checks the policies in force and shows their combined rules.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum::{PolicyInForce, ReadAccess, ReadPolicy};
use actum_api::policy::{self as api, PolicyCheck};
use actum_core::path::{Harmless, Quoted};
use actum_core::{Budget, Digest, Scope};
use actum_gate::policy::{
    Argument, DeclaredPipeline, Layer, ParameterRule, PluginAllowance, SandboxAllowance, Source,
    SqlSettings, TaskEnvelopes, TierRule, Trust,
};
use actum_gate::{CommandRule, Ground, Policy};

use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::verb::Session;
use crate::{operators_policy, policy, root, shown_path};

/// Check the policies that apply to this workspace, and show their combined rules
///
/// The operator's policy is `actum/actum.toml` in the user's configuration directory, which can also contain access
/// policies in Cedar (`access/*.cedar`). A workspace can have its own policy, `actum.toml` in its root directory. It
/// can only tighten the rules unless you trust it with `actum trust`. For example, a workspace policy with
/// `version = 1` and, under `[protected]`, `paths = ["config/"]` rejects every change below `config/`. The command parses
/// all rules and tests their examples. It exits with 4 if a rule is certainly a mistake.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Document with the result of the check, and additional data for the text output.
struct Checked {
    document: PolicyCheck,
    policy: Policy,
    files: Vec<ReadPolicy>,
    access: Vec<ReadAccess>,
}

/// Warning for the case that the operator's access policy files contain no policy at all.
const NOTHING_PERMITTED: &str = "no access policy permits anything: nothing can be changed";

pub(crate) fn run(_: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let in_force = policy::in_force(root::existing_or_new(&session.start))?;
    let set_aside = policy::set_aside(&in_force);
    let PolicyInForce {
        policy,
        files,
        ignored,
        notify,
        sandbox,
        plugins,
        roots,
        access,
        task_envelopes,
        pipelines,
        sql,
        ..
    } = in_force;
    let mut warnings = warnings(&policy);
    if !access.is_empty() && access.iter().all(|file| file.policies == 0) {
        warnings.push(NOTHING_PERMITTED.to_owned());
    }
    warnings.extend(set_aside);
    let exit = if warnings.is_empty() { Exit::Success } else { Exit::NeedsAttention };
    let written = serde_json::to_value(&policy).and_then(serde_json::from_value);
    let document = PolicyCheck {
        digest: Digest::of(&policy.to_vec().map_err(actum::Error::from)?),
        files: files.iter().map(file).collect(),
        policy: written.map_err(|error| Failure::Unwritten { source: io::Error::other(error) })?,
        notify,
        sandbox: sandbox_allowance(sandbox),
        plugins: plugin_allowance(plugins),
        roots,
        task_envelopes: match task_envelopes {
            TaskEnvelopes::Any => None,
            TaskEnvelopes::Signed => Some(api::TaskEnvelopes::Signed),
        },
        pipelines: pipelines.iter().map(pipeline).collect(),
        sql: sql_settings(sql),
        access: access.iter().map(access_file).collect(),
        ignored: ignored.iter().map(ToString::to_string).collect(),
        warnings,
    };
    session.screen.show(&Checked { document, policy, files, access })?;
    Ok(exit)
}

fn file(read: &ReadPolicy) -> api::PolicyFile {
    let ReadPolicy { source, path, digest, trust, trusted_before } = read;
    api::PolicyFile {
        source: super::source(*source),
        path: shown_path::text(path.as_os_str().as_bytes()),
        digest: *digest,
        trusted: *trust == Trust::Trusted,
        trusted_before: *trusted_before,
    }
}

fn access_file(read: &ReadAccess) -> api::AccessFile {
    let ReadAccess { path, digest, policies } = read;
    let path = shown_path::text(path.as_os_str().as_bytes());
    api::AccessFile { path, digest: *digest, policies: number(*policies) }
}

fn sandbox_allowance(allowance: SandboxAllowance) -> Option<api::SandboxAllowance> {
    if allowance.is_empty() {
        return None;
    }
    let SandboxAllowance { read, write, exec, env, caches, limits } = allowance;
    Some(api::SandboxAllowance { read, write, exec, env, caches, limits })
}

fn sql_settings(settings: SqlSettings) -> Option<api::SqlSettings> {
    if settings.is_empty() {
        return None;
    }
    let SqlSettings { library, max_bytes, memory_bytes, spill_bytes, threads } = settings;
    let (library, sha256) = library.map(|pinned| (pinned.path, pinned.sha256)).unzip();
    Some(api::SqlSettings { library, sha256, max_bytes, memory_bytes, spill_bytes, threads })
}

fn plugin_allowance(allowance: PluginAllowance) -> Option<api::PluginAllowance> {
    let PluginAllowance { code_execution } = allowance;
    (!allowance.is_empty()).then_some(api::PluginAllowance { code_execution })
}

fn pipeline(declared: &DeclaredPipeline) -> api::Pipeline {
    let argument = |argument: &Argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::Parameter(name) => format!("{{{name}}}"),
    };
    let rules = |rules: &[actum_core::PathRule]| rules.iter().map(ToString::to_string).collect();
    let parameter = |(name, rule): (&String, &ParameterRule)| api::PipelineParameter {
        name: name.clone(),
        values: rule.values.to_string(),
        default: rule.default.clone(),
    };
    api::Pipeline {
        name: declared.name.clone(),
        steps: declared.steps.iter().map(|step| step.iter().map(argument).collect()).collect(),
        external: declared.external,
        cwd: declared.cwd.clone(),
        env: declared.env.clone(),
        inputs: declared.inputs.as_deref().map(rules),
        outputs: rules(&declared.outputs),
        timeout_seconds: declared.timeout.map(|time| time.as_secs()),
        parameters: declared.parameters.iter().map(parameter).collect(),
    }
}

/// Returns a warning for each rule that is certainly a mistake.
fn warnings(policy: &Policy) -> Vec<String> {
    policy.layers().iter().flat_map(warnings_of).collect()
}

fn warnings_of(layer: &Layer) -> Vec<String> {
    let Layer { source, root: _, protected, scope, budget, tiers, commands, lease: _, sql_rows: _ } =
        layer;
    let mut warnings = Vec::new();
    let everything = |rules: &[actum_core::PathRule]| {
        rules.iter().find(|rule| rule.covers_everything()).map(ToString::to_string)
    };
    if let Some(rule) = everything(protected) {
        warnings.push(format!(
            "`{rule}` under `protected.paths` protects everything: nothing can be changed"
        ));
    }
    if let Some(rule) = everything(&scope.deny) {
        warnings
            .push(format!("`{rule}` under `scope.deny` denies everything: nothing can be changed"));
    }
    if scope.allow.as_ref().is_some_and(Vec::is_empty) {
        warnings.push("`scope.allow` is empty: nothing can be changed".to_owned());
    }
    for rule in tiers.iter().filter(|rule| rule.effects.is_empty()) {
        if let Some(path) = everything(&rule.paths) {
            let tier = rule.tier;
            warnings.push(format!("`{path}` under `[[tier]]` makes every change {tier}"));
        }
    }
    for (name, limit) in [("max_files", budget.max_files), ("max_loc", budget.max_loc)] {
        if limit == Some(0) {
            warnings.push(format!("`budget.{name}` is 0: nothing can be changed"));
        }
    }
    for (rule, example, judgement) in commands.rules.idle() {
        warnings.push(format!(
            "`{rule}` under `[[command]]` allows none of its examples: {}",
            Ground::of_command(&example, &judgement)
        ));
    }
    warnings.iter().map(|warning| format!("{}: {warning}", source.policy())).collect()
}

impl Document for Checked {
    type Api = PolicyCheck;

    fn document(&self) -> impl Borrow<PolicyCheck> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.files.is_empty() {
            let operators = operators_policy::operators();
            writeln!(
                out,
                "policy     built-in rules only; {operators} or `actum.toml` here can add rules"
            )?;
        }
        for ReadPolicy { source, path, trust, trusted_before, .. } in &self.files {
            let trusted = match (source, trust == &Trust::Trusted, trusted_before) {
                (Source::System | Source::Operator, _, _) => "",
                (Source::Workspace, true, _) => ", trusted",
                (Source::Enclosing, _, _) | (Source::Workspace, false, None) => {
                    ", which can only tighten the rules"
                }
                (Source::Workspace, false, Some(_)) => {
                    ", which can only tighten the rules, because it changed since it was trusted"
                }
            };
            let shown = Quoted(path.as_os_str().as_bytes());
            writeln!(out, "policy     {shown} ({}{trusted})", source.policy())?;
        }
        let profiles: Vec<String> = self.policy.profiles().map(|it| it.to_string()).collect();
        writeln!(out, "protected  {}", profiles.join(" and "))?;
        for group in self.policy.protected_groups() {
            writeln!(
                out,
                "           {}: {}",
                group.name,
                group.paths.patterns().collect::<Vec<_>>().join(" ")
            )?;
        }
        let excepted: Vec<_> = self.policy.exceptions().map(ToString::to_string).collect();
        if !excepted.is_empty() {
            writeln!(out, "           except {}", excepted.join(" "))?;
        }
        for layer in self.policy.layers() {
            write_layer(out, layer)?;
        }
        for ReadAccess { path, policies, .. } in &self.access {
            let shown = Quoted(path.as_os_str().as_bytes());
            let policies = u64::try_from(*policies).unwrap_or(u64::MAX);
            let how_many = match policies {
                1 => "1 policy".to_owned(),
                _ => format!("{policies} policies"),
            };
            writeln!(out, "access     {how_many} of {shown}")?;
        }
        let checked = &self.document;
        let known = u64::try_from(self.policy.credentials().len()).unwrap_or(u64::MAX);
        if known > 0 {
            writeln!(out, "allowed    {} that look like credentials", count(known, "content"))?;
        }
        if let Some(command) = &checked.notify {
            let words: Vec<_> =
                command.iter().map(|it| Quoted(it.as_bytes()).to_string()).collect();
            writeln!(out, "notify     {}", words.join(" "))?;
        }
        if let Some(sandbox) = &checked.sandbox {
            write_sandbox(out, sandbox)?;
        }
        match checked.plugins.and_then(|plugins| plugins.code_execution) {
            Some(true) => writeln!(out, "plugins    plugin code may run in a sandbox")?,
            Some(false) => writeln!(out, "plugins    plugin code must not run")?,
            None => {}
        }
        if !checked.roots.is_empty() {
            let values: Vec<_> =
                checked.roots.iter().map(|it| Quoted(it.as_bytes()).to_string()).collect();
            writeln!(out, "workspaces roots: {}", values.join(", "))?;
        }
        match checked.task_envelopes {
            None => {}
            Some(api::TaskEnvelopes::Signed) => writeln!(out, "tasks      signed envelopes only")?,
        }
        if let Some(sql) = &checked.sql {
            write_sql(out, sql)?;
        }
        for pipeline in &checked.pipelines {
            write_pipeline(out, pipeline)?;
        }
        for ignored in &checked.ignored {
            writeln!(out, "ignored    {ignored}; it applies only after `actum trust`")?;
        }
        for warning in &checked.warnings {
            writeln!(out, "warning    {}", Harmless(warning.as_bytes()))?;
        }
        Ok(())
    }
}

fn write_sql(out: &mut dyn Write, sql: &api::SqlSettings) -> io::Result<()> {
    let api::SqlSettings { library, sha256, max_bytes, memory_bytes, spill_bytes, threads } = sql;
    if let (Some(library), Some(sha256)) = (library, sha256) {
        writeln!(out, "sql        library: {}, sha256 {sha256}", Quoted(library.as_bytes()))?;
    }
    let limits = [
        ("max_bytes", max_bytes),
        ("memory_bytes", memory_bytes),
        ("spill_bytes", spill_bytes),
        ("threads", threads),
    ];
    let set = limits.into_iter().filter_map(|(name, limit)| Some(format!("{name} {}", (*limit)?)));
    let set: Vec<_> = set.collect();
    if set.is_empty() { Ok(()) } else { writeln!(out, "sql        limits: {}", set.join(", ")) }
}

fn write_sandbox(out: &mut dyn Write, sandbox: &api::SandboxAllowance) -> io::Result<()> {
    let api::SandboxAllowance { read, write, exec, env, caches, limits } = sandbox;
    let caches = caches.iter().map(ToString::to_string).collect();
    let all = [
        ("read", read),
        ("write", write),
        ("exec", exec),
        ("env", env),
        ("caches", &caches),
        ("limits", limits),
    ];
    for (what, values) in all {
        if !values.is_empty() {
            let values: Vec<_> =
                values.iter().map(|it| Quoted(it.as_bytes()).to_string()).collect();
            writeln!(out, "commands   {what}: {}", values.join(", "))?;
        }
    }
    Ok(())
}

fn write_pipeline(out: &mut dyn Write, pipeline: &api::Pipeline) -> io::Result<()> {
    let api::Pipeline { name, steps, outputs, parameters, external, .. } = pipeline;
    let list = |texts: &[String]| {
        texts.iter().map(|it| Quoted(it.as_bytes()).to_string()).collect::<Vec<_>>()
    };
    let steps: Vec<_> = steps.iter().map(|step| list(step).join(" ")).collect();
    writeln!(out, "pipeline   {name}: {}", steps.join("; "))?;
    for api::PipelineParameter { name, values, default } in parameters {
        let default = default.iter().map(|it| format!("; default `{}`", Harmless(it.as_bytes())));
        let default: String = default.collect();
        writeln!(out, "           {name}: {}{default}", Harmless(values.as_bytes()))?;
    }
    match (outputs.as_slice(), external) {
        (_, true) => {
            writeln!(out, "           external: has network access, and cannot be rolled back")
        }
        ([], false) => writeln!(out, "           changes nothing"),
        (outputs, false) => writeln!(out, "           changes {}", list(outputs).join(", ")),
    }
}

fn write_layer(out: &mut dyn Write, layer: &Layer) -> io::Result<()> {
    let Layer { source, root: _, protected, scope, budget, tiers, commands, lease, sql_rows } =
        layer;
    let policy_name = source.policy();
    let list = |rules: &[actum_core::PathRule]| {
        rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    if !protected.is_empty() {
        writeln!(out, "           {policy_name}: {}", list(protected))?;
    }
    let Scope { allow, deny } = scope;
    if let Some(allow) = allow {
        let only = if allow.is_empty() { "nothing".to_owned() } else { list(allow) };
        writeln!(out, "scope      {policy_name}: only {only}")?;
    }
    if !deny.is_empty() {
        writeln!(out, "scope      {policy_name}: not {}", list(deny))?;
    }
    let Budget { max_files, max_loc } = budget;
    for (limit, what) in [(max_files, "files"), (max_loc, "changed lines")] {
        if let Some(limit) = limit {
            writeln!(out, "budget     {policy_name}: {limit} {what}")?;
        }
    }
    if !lease.is_empty() {
        let required: Vec<_> = lease.iter().map(|work| work.as_str()).collect();
        writeln!(out, "lease      {policy_name}: required for {}", required.join(", "))?;
    }
    if let Some(rows) = sql_rows {
        let word = if *rows == 1 { "row" } else { "rows" };
        writeln!(
            out,
            "sql        {policy_name}: more than {rows} changed {word} need an approval"
        )?;
    }
    for TierRule { tier, paths, effects, why, .. } in tiers {
        let why = Quoted(why.as_bytes());
        let only = effects.iter().map(|effect| effect.as_str()).collect::<Vec<_>>().join(" or ");
        let only = if only.is_empty() { only } else { format!(" if {only}") };
        writeln!(out, "tier       {policy_name}: {tier} {}{only}: {why}", list(paths))?;
    }
    for rule in commands.rules.rules().chain(commands.narrowing.rules()) {
        let CommandRule { decision, reason, .. } = rule;
        let why = reason.as_ref().map(|reason| format!(": {}", Quoted(reason.as_bytes())));
        let (decision, why) = (decision.as_str(), why.unwrap_or_default());
        writeln!(out, "command    {policy_name}: {decision} {rule}{why}")?;
    }
    Ok(())
}
