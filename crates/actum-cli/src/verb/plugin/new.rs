//! `actum plugin new`: creates a working package of a plugin action from a template.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_api::plugin::PluginNew;
use actum_core::ActionName;
use actum_core::path::Quoted;

use super::PluginFailure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::shown_path;
use crate::verb::Session;

/// Create a package in `actions/NAME` that works but does not change anything yet
///
/// The package contains a manifest, the three steps of the action, a test for `node --test` and a documentation page.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the action, which consists of the characters a-z, 0-9 and `_`
    #[arg(value_name = "NAME")]
    name: String,
}

/// Template files of a new package, as pairs of a path and its content. `NAME` in the content is replaced by the action's name.
const FILES: [(&str, &str); 7] = [
    ("action.json", include_str!("template/action.json")),
    ("execute.js", include_str!("template/execute.js")),
    ("verify.js", include_str!("template/verify.js")),
    ("rollback.js", include_str!("template/rollback.js")),
    ("package.json", include_str!("template/package.json")),
    ("README.md", include_str!("template/README.md")),
    ("test/steps.test.mjs", include_str!("template/test/steps.test.mjs")),
];
/// Placeholder for the name of the action in template files.
const NAME: &str = "NAME";

struct Made {
    document: PluginNew,
    shown: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let name: ActionName = arguments.name.parse().map_err(PluginFailure::Name)?;
    if name.is_core() {
        return Err(PluginFailure::CoreName(name).into());
    }
    let directory = Path::new("actions").join(name.as_str());
    let place = session.start.join(&directory);
    if place.symlink_metadata().is_ok() {
        return Err(PluginFailure::Exists(directory).into());
    }
    write(&place, name.as_str(), &session.tenant)?;
    let bytes = directory.as_os_str().as_bytes();
    let document = PluginNew {
        name: name.to_string(),
        directory: shown_path::text(bytes),
        files: FILES.iter().map(|(file, _)| (*file).to_owned()).collect(),
    };
    session.screen.show(&Made { document, shown: Quoted(bytes).to_string() })?;
    Ok(Exit::Success)
}

fn write(place: &Path, name: &str, tenant: &Tenant) -> Result<(), Failure> {
    for (file, text) in FILES {
        let path = place.join(file);
        OutputFile::create_directories(&path, tenant)?;
        OutputFile::write(&path, Existing::Refuse, text.replace(NAME, name).as_bytes(), tenant)?;
    }
    Ok(())
}

impl Document for Made {
    type Api = PluginNew;

    fn document(&self) -> impl Borrow<PluginNew> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for file in &self.document.files {
            writeln!(out, "wrote {}/{file}", self.shown)?;
        }
        writeln!(
            out,
            "the package works but changes nothing yet; run `actum plugin lint {}` to check it",
            self.shown
        )
    }
}
