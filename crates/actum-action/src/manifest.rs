//! Package of a plugin action: its files, and its manifest `action.json` (AA-8).

use std::collections::BTreeMap;

use actum_core::place::Excerpt;
use actum_core::{ActionName, CORE_ACTIONS, NAME_CHARS_MAX, RiskTier, json};
use actum_document::reader::{self, Members};
use actum_document::{
    Characters, Diagnostic, Fault, Form, Member, ObjectSchema, Others, Problem, Text,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::limits::{
    DESCRIPTION_CHARS_MAX, MANIFEST_BYTES_MAX, PHRASE_CHARS_MAX, PHRASE_LANGUAGES_MAX, PHRASES_MAX,
    VERSION_CHARS_MAX,
};
use super::plan::{
    COMMAND, COMMANDS, TIERS, VERIFICATION, VerificationPlan, name, tier, verification,
};

/// Manifest of a package.
pub const MANIFEST_FILE: &str = "action.json";
/// File of a package that carries out the action.
pub const EXECUTE_FILE: &str = "execute.js";
/// File of a package that checks the result.
pub const VERIFY_FILE: &str = "verify.js";
/// File of a package that rolls the action back.
pub const ROLLBACK_FILE: &str = "rollback.js";
/// Files of a package, in the directory `actions/NAME`.
pub const PACKAGE_FILES: [&str; 4] = [MANIFEST_FILE, EXECUTE_FILE, VERIFY_FILE, ROLLBACK_FILE];

/// Content of `action.json`. Fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Name of the action; not that of a core action.
    pub name: ActionName,
    /// Least tier of its runs.
    pub risk_tier: RiskTier,
    /// JSON Schema of the input.
    pub input_schema: Map<String, Value>,
    /// JSON Schema of the output.
    pub output_schema: Map<String, Value>,
    /// Permissions of the package.
    pub permissions: Permissions,
    /// Verification of the result.
    pub verification: VerificationPlan,
    /// Rollback of the action.
    pub rollback: RollbackRule,
    /// Version of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Description for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Phrases by which users ask for the action, by language.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phrases: Phrases,
    /// Command that runs once after a failed check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

/// Phrases of an action, by the primary language subtag (BCP 47) in lower case.
pub type Phrases = BTreeMap<String, Vec<String>>;

/// Permissions of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// Commands that it may run, exactly as written.
    pub commands: Vec<String>,
    /// Access to the workspace.
    pub filesystem: Filesystem,
}

/// Access of a package to the workspace. The seed has `workspace`; the other values ask for less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// No access.
    None,
    /// Reads the workspace.
    Read,
    /// Reads the workspace, and writes what the plan's scope permits: the action is write-like.
    Workspace,
}

/// Rule on the rollback of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RollbackRule {
    /// Rollback must be possible.
    pub required: bool,
}

/// Error of bytes that are not a valid `action.json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`action.json` cannot be used: {0}")]
pub struct ManifestError(#[source] pub Diagnostic);

/// Primary language subtag (BCP 47, section 2.2.1), as in ISO 639.
const LANGUAGE: Text =
    Text { chars_min: 2, chars_max: 3, characters: Characters::Lowercase, taken: &[] };
const PHRASES: Form =
    Form::Texts { of: Text::filled(PHRASE_CHARS_MAX, Characters::OneLine), count_max: PHRASES_MAX };

const FILESYSTEMS: &[&str] = &["none", "read", "workspace"];

pub(super) static MANIFEST: ObjectSchema = ObjectSchema {
    name: "`action.json`",
    about: "What a package of a plugin action is: the file action.json beside execute.js, verify.js and rollback.js in actions/NAME. One with other members, or with a name twice in one object, is refused; so is one of more than 1 MiB, or nested more than 64 deep.",
    others: Others::Refused,
    members: &[
        Member::required(
            "name",
            Form::Text(Text {
                taken: &CORE_ACTIONS,
                ..Text::filled(NAME_CHARS_MAX, Characters::Name)
            }),
            "What the action is called. Names of core actions are taken.",
        ),
        Member::required("riskTier", Form::Word(TIERS), "The least tier that its runs have."),
        Member::required(
            "inputSchema",
            Form::AnyObject,
            "The JSON Schema of what the action is given.",
        ),
        Member::required(
            "outputSchema",
            Form::AnyObject,
            "The JSON Schema of what the action gives.",
        ),
        Member::required("permissions", Form::Object(&PERMISSIONS), "What the action may do."),
        Member::required(
            "verification",
            Form::Object(&VERIFICATION),
            "How the action is checked. Each of its commands stands in permissions.commands, too.",
        ),
        Member::required("rollback", Form::Object(&ROLLBACK), "How the action is taken back."),
        Member::optional(
            "version",
            Form::Text(Text::filled(VERSION_CHARS_MAX, Characters::Version)),
            "Which version of the package it is.",
        ),
        Member::optional(
            "description",
            Form::Text(Text::any(DESCRIPTION_CHARS_MAX)),
            "What the action does, for people.",
        ),
        Member::optional(
            "phrases",
            Form::Map { names: LANGUAGE, of: &PHRASES, count_max: PHRASE_LANGUAGES_MAX },
            "Phrases by which users ask for the action: lists by language, each the primary subtag of BCP 47 in lower case.",
        ),
        Member::optional(
            "repair",
            Form::Text(COMMAND),
            "A command that is run once on the staged change where a check fails; then all checks are run again. It stands in permissions.commands, too.",
        ),
    ],
};

static PERMISSIONS: ObjectSchema = ObjectSchema {
    name: "the permissions",
    about: "What an action may do. The rules of the operator can only take from it.",
    others: Others::Refused,
    members: &[
        Member::required("commands", COMMANDS, "The commands that it may run."),
        Member::required(
            "filesystem",
            Form::Word(FILESYSTEMS),
            "What it sees of the workspace: nothing, to read, or to read and to write in the plan's scope.",
        ),
    ],
};

static ROLLBACK: ObjectSchema = ObjectSchema {
    name: "a rollback",
    about: "How an action is taken back.",
    others: Others::Refused,
    members: &[Member::required(
        "required",
        Form::Flag,
        "Whether the action runs only with evidence that it can be taken back.",
    )],
};

impl Manifest {
    /// Reads `action.json`.
    ///
    /// # Errors
    /// [`ManifestError`] with the first error. An error of the document as a whole, such as a command that is not
    /// permitted, comes last.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        reader::read(bytes, MANIFEST_BYTES_MAX, &MANIFEST, manifest).map_err(ManifestError)
    }

    /// Writes the manifest in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// [`ManifestError`] if a field violates the contract.
    pub fn write(&self) -> Result<Vec<u8>, ManifestError> {
        let bytes = reader::write(self).map_err(ManifestError)?;
        Self::read(&bytes).map(|_| bytes)
    }

    /// Returns true if the action may change the workspace, so that the rules for R2 writes apply (AA-3, AA-11).
    pub fn is_write_like(&self) -> bool {
        match self.permissions.filesystem {
            Filesystem::None | Filesystem::Read => false,
            Filesystem::Workspace => true,
        }
    }
}

impl Filesystem {
    /// All values, the least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Read, Self::Workspace];

    /// Returns the word in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Workspace => "workspace",
        }
    }
}

fn manifest(members: &Members<'_>) -> Result<Manifest, Fault> {
    let manifest = Manifest {
        name: members.required("name", name)?,
        risk_tier: members.required("riskTier", tier)?,
        input_schema: members.required("inputSchema", reader::any_object)?,
        output_schema: members.required("outputSchema", reader::any_object)?,
        permissions: members.required("permissions", permissions)?,
        verification: members.required("verification", verification)?,
        rollback: members.required("rollback", rollback)?,
        version: members.optional("version", reader::text)?,
        description: members.optional("description", reader::text)?,
        phrases: members.optional("phrases", phrases)?.unwrap_or_default(),
        repair: members.optional("repair", reader::text)?,
    };
    let permitted = &manifest.permissions.commands;
    let not_permitted =
        |command: &str| Problem::NotPermitted { command: Excerpt::new(command.as_bytes()) };
    let mut commands = manifest.verification.commands.iter().enumerate();
    if let Some((index, command)) = commands.find(|(_, command)| !permitted.contains(command)) {
        let start = members.start_of(&["verification", "commands"], index);
        let fault = Fault::at(start, not_permitted(command)).in_element(index);
        return Err(fault.in_member("commands").in_member("verification"));
    }
    if let Some(command) = manifest.repair.as_ref().filter(|command| !permitted.contains(command)) {
        let start = members.start_of_member("repair");
        return Err(Fault::at(start, not_permitted(command)).in_member("repair"));
    }
    Ok(manifest)
}

fn phrases<'v>(form: Form, value: &'v json::Value<'v>) -> Result<Phrases, Fault> {
    reader::map(form, value, reader::texts)
}

fn permissions<'v>(form: Form, value: &'v json::Value<'v>) -> Result<Permissions, Fault> {
    let members = reader::object(form, value)?;
    Ok(Permissions {
        commands: members.required("commands", reader::texts)?,
        filesystem: members.required("filesystem", filesystem)?,
    })
}

fn filesystem(form: Form, value: &json::Value<'_>) -> Result<Filesystem, Fault> {
    let meaning = |word: &str| Filesystem::ALL.into_iter().find(|it| it.as_str() == word);
    reader::word(form, value, meaning)
}

fn rollback<'v>(form: Form, value: &'v json::Value<'v>) -> Result<RollbackRule, Fault> {
    let members = reader::object(form, value)?;
    Ok(RollbackRule { required: members.required("required", reader::flag)? })
}
