//! Downloads CLDR as two pinned npm packages, of which only small parts go into the extract.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use actum_core::Digest;
use serde_json::Value;
use xtask::packages;

use super::extract::Extract;
use super::{CLDR, EXTRACT, LICENCE};

/// Package in the npm registry, and the SHA-256 of its archive.
struct Pinned {
    name: &'static str,
    sha256: &'static str,
}

/// Package with the answers of all locales.
const MISC: Pinned = Pinned {
    name: "cldr-misc-full",
    sha256: "c6ba8384d7ea8701cf86935db0461379231ddd970cc41c249f4a33b9857ded3c",
};
/// Package with the coverage, usual scripts and aliases of languages.
const CORE: Pinned = Pinned {
    name: "cldr-core",
    sha256: "5310e0c7a06c1feb83dc8e54c8584bbe0b9c2ea8320172a18d541986b124585d",
};

/// CLDR's reasons for replacing a language subtag that are used here. Subtags marked as overlong or bibliographic are not valid in
/// BCP 47.
const ALIAS_REASONS: &[&str] = &["deprecated", "legacy", "macrolanguage"];

/// Downloads both packages, and writes the extract and the licence.
pub(super) fn run(root: &Path) -> Result<(), Box<dyn Error>> {
    packages::require("lexicon")?;
    let directory = tempfile::tempdir()?;
    let misc = unpack(directory.path(), &MISC)?;
    let core = unpack(directory.path(), &CORE)?;
    let extract = extract(&misc, &core)?;
    fs::write(root.join(EXTRACT), extract.write())
        .map_err(|error| format!("writing {EXTRACT}: {error}"))?;
    fs::copy(misc.join("LICENSE"), root.join(LICENCE))
        .map_err(|error| format!("writing {LICENCE}: {error}"))?;
    eprintln!("{EXTRACT}: written, with {} locales", extract.posix.len());
    Ok(())
}

/// Downloads a package, checks its archive, and unpacks it.
fn unpack(directory: &Path, package: &Pinned) -> Result<std::path::PathBuf, Box<dyn Error>> {
    let Pinned { name, sha256 } = package;
    let archive = directory.join(format!("{name}-{CLDR}.tgz"));
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(directory);
    call(npm.arg(format!("{name}@{CLDR}")).current_dir(directory))?;
    let digest = Digest::of(&fs::read(&archive)?);
    if digest.to_string() != *sha256 {
        return Err(format!(
            "`{name}` {CLDR} has the SHA-256 {digest} instead of {sha256}; nothing was written"
        )
        .into());
    }
    let unpacked = directory.join(name);
    fs::create_dir(&unpacked)?;
    call(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked))?;
    Ok(unpacked.join("package"))
}

fn call(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("starting `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}` failed: {}; nothing was written", message.trim()).into())
}

fn extract(misc: &Path, core: &Path) -> Result<Extract, Box<dyn Error>> {
    let posix = answers(misc)?;
    let has_language = |language: &str| posix.contains_key(language);
    let likely = read(&core.join("supplemental/likelySubtags.json"))?;
    let likely = texts(&likely, "/supplemental/likelySubtags")?;
    let script = |tag: &str| Some(likely.get(tag)?.split('-').nth(1)?.to_owned());
    let mut scripts = BTreeMap::new();
    for tag in posix.keys().filter_map(|locale| locale.split('-').next()) {
        scripts.extend(script(tag).map(|script| (tag.to_owned(), script)));
    }
    let mut region_scripts = BTreeMap::new();
    for (tag, _) in likely.iter().filter(|(tag, _)| tag.split('-').count() == 2) {
        let (language, region) = tag.split_once('-').unwrap_or_default();
        if let Some((usual, script)) = scripts.get(language).zip(script(tag))
            // Script subtags have four letters, and region subtags have fewer.
            && region.len() < 4
            && *usual != script
        {
            region_scripts.insert(tag.clone(), script);
        }
    }
    let aliases = aliases(core)?;
    let aliases =
        aliases.into_iter().filter(|(_, tag)| tag.split('-').next().is_some_and(has_language));
    Ok(Extract {
        format: Extract::FORMAT.to_owned(),
        cldr: CLDR.to_owned(),
        aliases: aliases.collect(),
        scripts,
        region_scripts,
        levels: levels(core, &posix)?,
        posix,
    })
}

/// Returns `yesstr` and `nostr` of each locale.
fn answers(misc: &Path) -> Result<BTreeMap<String, (String, String)>, Box<dyn Error>> {
    let mut posix = BTreeMap::new();
    for entry in fs::read_dir(misc.join("main"))? {
        let entry = entry?;
        let locale = entry.file_name().to_string_lossy().into_owned();
        let value = read(&entry.path().join("posix.json"))?;
        let messages = texts(&value, &format!("/main/{locale}/posix/messages"))?;
        let message = |name: &str| {
            messages.get(name).cloned().ok_or_else(|| format!("`{locale}` has no `{name}`"))
        };
        posix.insert(locale.clone(), (message("yesstr")?, message("nostr")?));
    }
    Ok(posix)
}

/// Returns the coverage of the locales without a region.
fn levels(
    core: &Path,
    posix: &BTreeMap<String, (String, String)>,
) -> Result<BTreeMap<String, super::extract::Level>, Box<dyn Error>> {
    let levels = read(&core.join("coverageLevels.json"))?;
    let levels = texts(&levels, "/effectiveCoverageLevels")?;
    let mut of_languages = BTreeMap::new();
    for (tag, level) in levels.iter().filter(|(tag, _)| posix.contains_key(*tag)) {
        if tag.split('-').skip(1).all(|subtag| subtag.len() == 4) {
            of_languages.insert(tag.clone(), serde_json::from_value(level.as_str().into())?);
        }
    }
    Ok(of_languages)
}

/// Returns the replacements for language subtags.
fn aliases(core: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let value = read(&core.join("supplemental/aliases.json"))?;
    let list = value.pointer("/supplemental/metadata/alias/languageAlias");
    let list = list.and_then(Value::as_object).ok_or("CLDR has no `languageAlias`")?;
    let member = |alias: &Value, name: &str| Some(alias.get(name)?.as_str()?.to_owned());
    let aliases = list.iter().filter(|(language, _)| !language.contains('-'));
    Ok(aliases
        .filter_map(|(language, alias)| {
            let reason = member(alias, "_reason")?;
            let is_used = ALIAS_REASONS.contains(&reason.as_str());
            Some((language.clone(), member(alias, "_replacement").filter(|_| is_used)?))
        })
        .collect())
}

fn read(path: &Path) -> Result<Value, Box<dyn Error>> {
    let bytes = fs::read(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Returns the members of an object whose values are strings.
fn texts(value: &Value, pointer: &str) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let object = value.pointer(pointer).and_then(Value::as_object);
    let object = object.ok_or_else(|| format!("CLDR has no object at `{pointer}`"))?;
    let texts = object.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    Ok(texts.map(|(name, text)| (name.clone(), text.to_owned())).collect())
}
