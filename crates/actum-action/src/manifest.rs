//! Package of a plugin action: its files and its manifest, `action.json` (AA-8).

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

/// File name of the package manifest.
pub const MANIFEST_FILE: &str = "action.json";
/// File name of the script that performs the action.
pub const EXECUTE_FILE: &str = "execute.js";
/// File name of the script that verifies the result of the action.
pub const VERIFY_FILE: &str = "verify.js";
/// File name of the script that rolls the action back.
pub const ROLLBACK_FILE: &str = "rollback.js";
/// Names of all files in a package directory, `actions/NAME`.
pub const PACKAGE_FILES: [&str; 4] = [MANIFEST_FILE, EXECUTE_FILE, VERIFY_FILE, ROLLBACK_FILE];

/// Contents of `action.json`. The fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Name of the action, which must differ from the names of all core actions.
    pub name: ActionName,
    /// Minimum risk tier of every run of the action.
    pub risk_tier: RiskTier,
    /// JSON Schema of the action's input.
    pub input_schema: Map<String, Value>,
    /// JSON Schema of the action's output.
    pub output_schema: Map<String, Value>,
    /// Permissions that the package requests.
    pub permissions: Permissions,
    /// Verification of the action's result.
    pub verification: VerificationPlan,
    /// Rollback requirements of the action.
    pub rollback: RollbackRule,
    /// Version of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Description of the action for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Phrases that users request the action with, by language.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phrases: Phrases,
    /// Command that is run once if a check fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

/// Phrases of an action. The keys are primary language subtags (BCP 47) in lower case.
pub type Phrases = BTreeMap<String, Vec<String>>;

/// Permissions that a package requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// Commands that the package may run, which must match exactly.
    pub commands: Vec<String>,
    /// Access to the files of the workspace.
    pub filesystem: Filesystem,
}

/// Access of a package to the workspace. The seed defines only `workspace`; the other values request less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// The package cannot access the workspace.
    None,
    /// The package can read the workspace.
    Read,
    /// The package can read the workspace and write within the plan's scope, so its action counts as a write.
    Workspace,
}

/// Rollback requirements of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RollbackRule {
    /// Whether the action may run only if it can be rolled back.
    pub required: bool,
}

/// Error returned if bytes are not a valid `action.json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`action.json` cannot be used: {0}")]
pub struct ManifestError(#[source] pub Diagnostic);

/// Form of a primary language subtag (BCP 47, section 2.2.1), as defined by ISO 639.
const LANGUAGE: Text =
    Text { chars_min: 2, chars_max: 3, characters: Characters::Lowercase, taken: &[] };
const PHRASES: Form =
    Form::Texts { of: Text::filled(PHRASE_CHARS_MAX, Characters::OneLine), count_max: PHRASES_MAX };

const FILESYSTEMS: &[&str] = &["none", "read", "workspace"];

pub(super) static MANIFEST: ObjectSchema = ObjectSchema {
    name: "`action.json`",
    about: "Manifest of a plugin action package: the file action.json in actions/NAME, next to execute.js, verify.js and rollback.js. A manifest is rejected if it has unknown members, repeats a name within an object, is larger than 1 MiB, or is nested more than 64 levels deep.",
    others: Others::Refused,
    members: &[
        Member::required(
            "name",
            Form::Text(Text {
                taken: &CORE_ACTIONS,
                ..Text::filled(NAME_CHARS_MAX, Characters::Name)
            }),
            "Name of the action. Names of core actions are reserved.",
        ),
        Member::required(
            "riskTier",
            Form::Word(TIERS),
            "Minimum risk tier of every run of the action.",
        ),
        Member::required("inputSchema", Form::AnyObject, "JSON Schema of the action's input."),
        Member::required("outputSchema", Form::AnyObject, "JSON Schema of the action's output."),
        Member::required(
            "permissions",
            Form::Object(&PERMISSIONS),
            "Permissions that the package requests.",
        ),
        Member::required(
            "verification",
            Form::Object(&VERIFICATION),
            "How the result of the action is verified. Each command must also be listed in permissions.commands.",
        ),
        Member::required(
            "rollback",
            Form::Object(&ROLLBACK),
            "Rollback requirements of the action.",
        ),
        Member::optional(
            "version",
            Form::Text(Text::filled(VERSION_CHARS_MAX, Characters::Version)),
            "Version of the package.",
        ),
        Member::optional(
            "description",
            Form::Text(Text::any(DESCRIPTION_CHARS_MAX)),
            "Description of the action for users.",
        ),
        Member::optional(
            "phrases",
            Form::Map { names: LANGUAGE, of: &PHRASES, count_max: PHRASE_LANGUAGES_MAX },
            "Phrases that users request the action with. The keys are primary language subtags (BCP 47) in lower case, and each value is a list of phrases.",
        ),
        Member::optional(
            "repair",
            Form::Text(COMMAND),
            "Command that is run once on the staged change if a check fails. All checks are run again afterwards. The command must also be listed in permissions.commands.",
        ),
    ],
};

static PERMISSIONS: ObjectSchema = ObjectSchema {
    name: "the permissions",
    about: "Permissions of an action. The operator's rules can only restrict them further.",
    others: Others::Refused,
    members: &[
        Member::required("commands", COMMANDS, "Commands that the package may run."),
        Member::required(
            "filesystem",
            Form::Word(FILESYSTEMS),
            "Access to the workspace: none, read, or read and write within the plan's scope.",
        ),
    ],
};

static ROLLBACK: ObjectSchema = ObjectSchema {
    name: "a rollback",
    about: "Rollback requirements of an action.",
    others: Others::Refused,
    members: &[Member::required(
        "required",
        Form::Flag,
        "Whether the action may run only if there is evidence that it can be rolled back.",
    )],
};

impl Manifest {
    /// Parses and validates `action.json`.
    ///
    /// # Errors
    /// Returns a [`ManifestError`] with the first error. Errors that involve several members, such as a command without
    /// permission, are reported only if there are no others.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        reader::read(bytes, MANIFEST_BYTES_MAX, &MANIFEST, manifest).map_err(ManifestError)
    }

    /// Serializes the manifest in a form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns a [`ManifestError`] if a field violates the contract.
    pub fn write(&self) -> Result<Vec<u8>, ManifestError> {
        let bytes = reader::write(self).map_err(ManifestError)?;
        Self::read(&bytes).map(|_| bytes)
    }

    /// Checks whether the action may change the workspace, so that the rules for R2 writes apply to it (AA-3, AA-11).
    pub fn is_write_like(&self) -> bool {
        match self.permissions.filesystem {
            Filesystem::None | Filesystem::Read => false,
            Filesystem::Workspace => true,
        }
    }
}

impl Filesystem {
    /// All values, ordered from the least to the most access.
    pub const ALL: [Self; 3] = [Self::None, Self::Read, Self::Workspace];

    /// Returns the value as it is written in documents.
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
