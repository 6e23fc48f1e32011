//! Command that reads and writes many files: cargo builds a crate.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{create_dir_all, remove_dir_all, write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use actum_sandbox::{Plan, SandboxPolicy, Tier};

use super::{host, succeeded};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

const MODULES: usize = 12;
/// Number of functions in each module.
const FUNCTIONS: usize = 3;
const SCRATCH: u64 = 256 << 20;
const LOWER: &str = "tier L";
const UPPER: &str = "tier N";
/// Build script. All three contestants find the home and the registry in their own directory for temporary files.
const SCRIPT: &str = "export HOME=\"$TMPDIR\" CARGO_HOME=\"$TMPDIR/cargo\"\n\
                      exec \"$0\" build --offline --quiet";

pub(super) fn contest(home: &Path, rounds: usize) -> Result<Contest, Failure> {
    let site = Site::put(&home.join("crate"))?;
    let (lower, upper) = (site.plan(Tier::L)?, site.plan(Tier::N)?);
    let temporary = home.join("temporary");
    let finishes = race(
        vec![
            Contestant::new("plain", || site.plain(&temporary)),
            Contestant::new(LOWER, || site.confined(&lower)),
            Contestant::new(UPPER, || site.confined(&upper)),
        ],
        rounds,
    );
    Ok(Contest {
        title: format!("`cargo build` of a crate with a build script and {MODULES} modules"),
        finishes,
        bars: [LOWER, UPPER].map(|who| Bar { who, limit: Limit::Times(1.1) }).into(),
    })
}

/// Crate, and the means to build it.
pub(super) struct Site {
    pub(super) place: PathBuf,
    pub(super) sysroot: PathBuf,
    pub(super) path: String,
}

impl Site {
    /// Creates the crate at this path.
    pub(super) fn put(place: &Path) -> Result<Self, Failure> {
        put_crate(place)?;
        let sysroot = sysroot()?;
        Ok(Self { place: place.to_owned(), path: path(&sysroot)?, sysroot })
    }

    fn plan(&self, tier: Tier) -> Result<Plan, Failure> {
        let system = super::system();
        let with = |list: Vec<PathBuf>| list.into_iter().chain([self.sysroot.clone()]).collect();
        let mut policy = SandboxPolicy {
            read: with(system.read),
            exec: with(system.exec),
            write: vec![self.place.clone()],
            scratch: Some(SCRATCH),
            ..SandboxPolicy::new(&self.place)
        };
        policy.exec.push(self.place.clone());
        policy.env.insert("PATH".into(), self.path.as_str().into());
        Ok(policy.plan(&host(tier))?)
    }

    fn command(&self) -> Vec<OsString> {
        self.words().into_iter().map(OsString::from).collect()
    }

    /// Returns the words of the command line that builds the crate.
    pub(super) fn words(&self) -> Vec<String> {
        let cargo = self.sysroot.join("bin/cargo").display().to_string();
        let words = ["/bin/sh", "-c", SCRIPT].map(str::to_owned);
        words.into_iter().chain([cargo]).collect()
    }

    pub(super) fn plain(&self, temporary: &Path) -> Result<Duration, Failure> {
        create_dir_all(temporary)?;
        let words = self.command();
        let (program, arguments) = words.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.place).env_clear().env("PATH", &self.path);
        command.env("TMPDIR", temporary).stdin(Stdio::null());
        let taken = time(|| {
            let output = command.output()?;
            if output.status.success() {
                return Ok(());
            }
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("cargo ended with {}: {stderr}", output.status).into())
        });
        remove_dir_all(temporary)?;
        self.clear()?;
        taken
    }

    fn confined(&self, plan: &Plan) -> Result<Duration, Failure> {
        let taken = time(|| succeeded(&plan.spawn(&super::helper(), &self.command())?.wait()?));
        self.clear()?;
        taken
    }

    /// Removes the built files, whose presence shows that a build took place.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        let target = self.place.join("target");
        if !target.join("debug/libbuilt.rlib").is_file() {
            return Err("cargo said that it built the crate, and it did not".into());
        }
        Ok(remove_dir_all(target)?)
    }
}

/// Returns the directory of the toolchain itself, not of its proxy in `PATH`.
fn sysroot() -> Result<PathBuf, Failure> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).current_dir("/").output()?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout)?.trim()).canonicalize()?;
    if sysroot.join("bin/cargo").is_file() {
        return Ok(sysroot);
    }
    Err(format!("there is no `cargo` in `{}`", sysroot.display()).into())
}

fn path(sysroot: &Path) -> Result<String, Failure> {
    let bin = sysroot.join("bin");
    let bin = bin.to_str().ok_or_else(|| format!("`{}` is no UTF-8", bin.display()))?;
    Ok(format!("{bin}:/usr/bin:/bin"))
}

fn put_crate(place: &Path) -> Result<(), Failure> {
    create_dir_all(place.join("src"))?;
    let manifest = "[package]\nname = \"built\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [workspace]\n";
    write(place.join("Cargo.toml"), manifest)?;
    let script = "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                  std::fs::write(out + \"/made.rs\", \"pub const MADE: u64 = 7;\").unwrap();\n    \
                  println!(\"cargo:rerun-if-changed=build.rs\");\n}\n";
    write(place.join("build.rs"), script)?;
    let mut library = "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n".to_owned();
    for module in 0..MODULES {
        writeln!(library, "pub mod module_{module};")?;
        let mut text = String::new();
        for function in 0..FUNCTIONS {
            writeln!(
                text,
                "pub fn function_{function}(words: &[String]) -> std::collections::BTreeMap<String, \
                 u64> {{\n    words.iter().enumerate().map(|(at, word)| (format!(\"{{word}}-{{at}}\"), \
                 word.len() as u64 * crate::MADE + {function})).collect()\n}}"
            )?;
        }
        write(place.join(format!("src/module_{module}.rs")), text)?;
    }
    Ok(write(place.join("src/lib.rs"), library)?)
}
