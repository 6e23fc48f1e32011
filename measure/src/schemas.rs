//! `cargo xtask schemas`: writes the published JSON Schemas from the types that they describe.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use actum_task::report;

use crate::Outcome;

/// Writes the JSON Schemas below `schemas/`
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing, and fail if a file is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let directory = root.join("schemas");
    let changed = changed(&directory)?;
    if !options.check {
        fs::create_dir_all(directory.join("api"))?;
    }
    for (name, text) in &changed {
        println!("schemas/{name}");
        if !options.check {
            let path = directory.join(name);
            fs::write(&path, text)
                .map_err(|error| format!("writing {}: {error}", path.display()))?;
        }
    }
    let is_failed = options.check && !changed.is_empty();
    eprintln!(
        "schemas: {} {}",
        changed.len(),
        if options.check { "not as the types say" } else { "written" }
    );
    Ok(if is_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the files that do not match the types, each with the correct text.
fn changed(directory: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut changed = Vec::new();
    let task = actum_task::schemas().into_iter().chain(report::schemas());
    let task = task.chain(actum_file::schemas()).chain(actum_agent::schemas());
    let task = task.chain(actum_finder::schemas());
    let contracts = actum_action::schemas().into_iter().chain(task);
    let contracts = contracts.map(|file| (file.name.to_owned(), file.text));
    let documents = actum_api::schemas().into_iter().map(|file| (file.name, file.text));
    for (name, text) in contracts.chain(documents) {
        let path = directory.join(&name);
        let is_same = match fs::read(&path) {
            Ok(found) => found == text.as_bytes(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(format!("reading {}: {error}", path.display()).into()),
        };
        if !is_same {
            changed.push((name, text));
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(root: &Path, check: bool) -> ExitCode {
        run(root, &Options { check }).unwrap()
    }

    /// AA-12
    #[test]
    fn differing_schemas_are_written_and_check_mode_only_compares() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("schemas");
        fs::create_dir(&directory).unwrap();
        assert_eq!(run_in(root.path(), true), ExitCode::FAILURE);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        assert_eq!(run_in(root.path(), false), ExitCode::SUCCESS);
        assert_eq!(changed(&directory).unwrap(), []);
        assert_eq!(run_in(root.path(), true), ExitCode::SUCCESS);

        let [plan, ..] = actum_action::schemas();
        fs::write(directory.join(plan.name), "{}").unwrap();
        assert_eq!(changed(&directory).unwrap(), [(plan.name.to_owned(), plan.text)]);
        assert_eq!(run_in(root.path(), true), ExitCode::FAILURE);
    }
}
