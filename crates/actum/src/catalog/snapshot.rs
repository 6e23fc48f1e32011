//! Snapshot: the whole catalog as a document.

use std::sync::Arc;

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError, describe};
use serde::{Deserialize, Serialize};

use super::{Catalog, CatalogError, Contents, Origin, Registered};

/// Value of `format`.
const FORMAT: &str = "actum.catalog-snapshot/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: String,
    actions: Vec<Registered>,
}

/// Snapshot for writing, which borrows the actions.
#[derive(Serialize)]
struct SnapshotOf<'c> {
    actions: Vec<&'c Registered>,
    format: &'static str,
}

impl Catalog {
    /// Returns the catalog as a document in canonical JSON.
    ///
    /// # Errors
    /// [`CanonicalError`] if a schema holds a number without an exact form.
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
    /// As [`Catalog::snapshot`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(self.snapshot()?))
    }

    /// Reads the catalog of a document. Of core actions it has only the states; their definitions are built in.
    ///
    /// # Errors
    /// Description of the problem with the document.
    pub fn of_snapshot(bytes: &[u8]) -> Result<Result<Self, String>, CatalogError> {
        let mut actions = Self::core()?.contents.actions.clone();
        let snapshot: Snapshot = match serde_json::from_slice(bytes) {
            Ok(snapshot) => snapshot,
            Err(error) => return Ok(Err(format!("cannot be read: {}", describe(&error)))),
        };
        if snapshot.format != FORMAT {
            return Ok(Err(format!("has the format `{}` and not `{FORMAT}`", snapshot.format)));
        }
        for registered in snapshot.actions {
            let name = registered.name.clone();
            match (registered.origin, actions.get_mut(&name)) {
                (Origin::Core, Some(core)) if core.state == registered.state => {}
                (Origin::Core, Some(core)) => *core = Arc::new(core.in_state(registered.state)),
                (Origin::Core, None) => {
                    return Ok(Err(format!(
                        "speaks of the core action `{name}`, which a later version of actum has"
                    )));
                }
                (Origin::Package { .. }, Some(_)) => {
                    return Ok(Err(format!("has a package in the place of the action `{name}`")));
                }
                (Origin::Package { .. }, None) => {
                    actions.insert(name, Arc::new(registered));
                }
            }
        }
        Ok(Ok(Self::new(actions)))
    }
}

/// Name of an action in access policies, as a word.
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
        action.ok_or_else(|| serde::de::Error::custom(format!("`{word}` is no access action")))
    }
}
