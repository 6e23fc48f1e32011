//! Snapshot document, which contains the entire catalog in canonical JSON.

use std::sync::Arc;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError, describe};
use serde::{Deserialize, Serialize};

use super::{Catalog, CatalogError, Contents, Origin, Registered};

/// Value of the snapshot's `format` field.
const FORMAT: &str = "actum.catalog-snapshot/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    actions: Vec<Registered>,
}

/// Borrowing variant of [`Snapshot`] that is used to write one.
#[derive(Serialize)]
struct SnapshotOf<'c> {
    actions: Vec<&'c Registered>,
    format: &'static str,
}

impl Catalog {
    /// Returns the catalog as a document in canonical JSON.
    ///
    /// # Errors
    /// [`CanonicalError`] if a schema contains a number that canonical JSON cannot represent exactly.
    pub fn snapshot(&self) -> Result<&[u8], CanonicalError> {
        let Contents { snapshot, .. } = &*self.contents;
        if let Some(written) = snapshot.get() {
            return Ok(written);
        }
        let actions = self.actions().collect();
        let written = canonical::ordered_to_vec(&SnapshotOf { actions, format: FORMAT })?;
        Ok(snapshot.get_or_init(|| written))
    }

    /// Returns the digest of the snapshot, which identifies the catalog.
    ///
    /// # Errors
    /// Same as [`Catalog::snapshot`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(self.snapshot()?))
    }

    /// Parses a catalog from a snapshot document. For core actions, only the state is taken from the document, because
    /// their definitions are built in.
    ///
    /// # Errors
    /// The inner error describes the problem with the document, as a clause that follows its name. The outer error
    /// means that the built-in definitions are invalid.
    pub fn of_snapshot(bytes: &[u8]) -> Result<Result<Self, String>, CatalogError> {
        let mut actions = Self::core()?.contents.actions.clone();
        let snapshot: Snapshot = match serde_json::from_slice(bytes) {
            Ok(snapshot) => snapshot,
            Err(error) => return Ok(Err(format!("cannot be read: {}", describe(&error)))),
        };
        if snapshot.format != FORMAT {
            return Ok(Err(format!("has the format `{}` instead of `{FORMAT}`", snapshot.format)));
        }
        for registered in snapshot.actions {
            let name = registered.name.clone();
            match (registered.origin, actions.get_mut(&name)) {
                (Origin::Core, Some(core)) if core.state == registered.state => {}
                (Origin::Core, Some(core)) => *core = Arc::new(core.in_state(registered.state)),
                (Origin::Core, None) => {
                    return Ok(Err(format!(
                        "contains the core action `{name}`, which this version of actum does not have"
                    )));
                }
                (Origin::Package { .. }, Some(_)) => {
                    return Ok(Err(format!(
                        "contains a package whose name `{name}` is already taken"
                    )));
                }
                (Origin::Package { .. }, None) => {
                    actions.insert(name, Arc::new(registered));
                }
            }
        }
        Ok(Ok(Self::new(actions)))
    }
}

/// Serializes an [`AccessAction`](actum_access::AccessAction) as its name in access policies.
pub(super) mod access {
    use actum_access::AccessAction;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        action: &AccessAction,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(action.as_str())
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<AccessAction, D::Error> {
        let word = String::deserialize(deserializer)?;
        let action = AccessAction::ALL.into_iter().find(|action| action.as_str() == word);
        action.ok_or_else(|| serde::de::Error::custom(format!("unknown access action `{word}`")))
    }
}
