//! Catalog changes by the operator, one action at a time.

use std::sync::Arc;

use actum_core::{ActionName, Digest, canonical};
use actum_gate::verify_change;
use actum_ledger::NewEntry;
use actum_record::dsse::Envelope;
use actum_record::ledger::{ActionState, CatalogChanged, EntryKind};

use super::{Catalog, CatalogError, Origin, Registered, Registration, Standing};
use crate::error::Result;
use crate::queue::Approver;
use crate::records::Records;
use crate::schema::Schema;

/// Step in the life of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Registers a package as a draft. It replaces any package of the same name.
    Register(Box<Registration>),
    /// Registers and activates a package in one change.
    Adopt(Box<Registration>),
    /// Activates a registered action.
    Activate {
        /// Required digest of the package that the operator reviewed, if any.
        package: Option<Digest>,
    },
    /// Retires the action, which can no longer be used.
    Retire,
}

/// Basis of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// The catalog is in force.
    Proven,
    /// The last change does not count. The catalog before it is recorded again.
    Unproven,
}

impl Step {
    /// Returns the state of the action after the step.
    pub fn to(&self) -> ActionState {
        match self {
            Self::Register(_) => ActionState::Draft,
            Self::Activate { .. } | Self::Adopt(_) => ActionState::Active,
            Self::Retire => ActionState::Retired,
        }
    }
}

impl Catalog {
    /// Returns the catalog after a step, and the action in it.
    ///
    /// # Errors
    /// [`CatalogError`] if the action does not allow the step.
    pub fn after(
        &self,
        action: &ActionName,
        step: &Step,
    ) -> Result<(Self, Registered), CatalogError> {
        self.after_on(Ground::Proven, action, step)
    }

    fn after_on(
        &self,
        ground: Ground,
        action: &ActionName,
        step: &Step,
    ) -> Result<(Self, Registered), CatalogError> {
        let now = self.find(action).map(|registered| &**registered);
        let registered = next(action, now, step, ground)?;
        let mut actions = self.contents.actions.clone();
        actions.insert(action.clone(), Arc::new(registered.clone()));
        Ok((Self::new(actions), registered))
    }
}

impl Standing {
    /// Returns the catalog after a step. If the last change does not count, repeating the state of an action is a step,
    /// too.
    ///
    /// # Errors
    /// As [`Catalog::after`].
    pub fn after(
        &self,
        action: &ActionName,
        step: &Step,
    ) -> Result<(Catalog, Registered), CatalogError> {
        let ground = if self.unproven.is_none() { Ground::Proven } else { Ground::Unproven };
        self.catalog.after_on(ground, action, step)
    }
}

/// Returns the action after a step: missing, then draft, active, retired. A retired action can be activated again.
fn next(
    action: &ActionName,
    now: Option<&Registered>,
    step: &Step,
    ground: Ground,
) -> Result<Registered, CatalogError> {
    let from = now.map(|registered| registered.state);
    let refused = || CatalogError::State { action: action.clone(), from, to: step.to() };
    let unknown = || CatalogError::Unknown { action: action.clone() };
    match step {
        Step::Register(registration) => {
            let package = &registration.manifest.name;
            if package != action {
                let (action, package) = (action.clone(), package.clone());
                return Err(CatalogError::OtherName { action, package });
            }
            if action.is_core() {
                return Err(CatalogError::IsCore { action: action.clone() });
            }
            // A package is registered once; after that only its state changes.
            if now.is_some_and(|now| now.origin.digest() == Some(registration.digest)) {
                return Err(refused());
            }
            let registered = Registered::from(&**registration);
            for (of, schema) in
                [("input", &*registered.input_schema), ("output", &registered.output_schema)]
            {
                Schema::read(schema).map_err(|error| CatalogError::Unsound {
                    action: action.clone(),
                    message: format!("its {of} schema is no sound JSON Schema: {error}"),
                })?;
            }
            Ok(registered)
        }
        Step::Adopt(registration) => {
            let register = Step::Register(registration.clone());
            let draft = next(action, now, &register, ground)?;
            Ok(draft.in_state(ActionState::Active))
        }
        Step::Activate { package } => {
            let now = now.ok_or_else(unknown)?;
            match (now.origin, package) {
                (Origin::Core, Some(_)) => {
                    return Err(CatalogError::IsCore { action: action.clone() });
                }
                (Origin::Package { digest }, Some(given)) if digest != *given => {
                    let (action, registered, given) = (action.clone(), digest, *given);
                    return Err(CatalogError::OtherPackage { action, registered, given });
                }
                (Origin::Core | Origin::Package { .. }, _) => {}
            }
            match (now.state, ground) {
                (ActionState::Draft | ActionState::Retired, _)
                | (ActionState::Active, Ground::Unproven) => Ok(now.in_state(ActionState::Active)),
                (ActionState::Active, Ground::Proven) => Err(refused()),
            }
        }
        Step::Retire => {
            let now = now.ok_or_else(unknown)?;
            match (now.state, ground) {
                (ActionState::Draft | ActionState::Active, _)
                | (ActionState::Retired, Ground::Unproven) => {
                    Ok(now.in_state(ActionState::Retired))
                }
                (ActionState::Retired, Ground::Proven) => Err(refused()),
            }
        }
    }
}

impl Records {
    /// Returns the state of this tenant's catalog.
    ///
    /// # Errors
    /// `Ledger`.
    pub fn catalog(&self) -> Result<Standing> {
        // A problem with the catalog alone is not an error of the ledger.
        Ok(self.ledger.read(|log| Ok(Standing::read(log, self.keyring())))??)
    }

    /// Applies a step to an action. The ledger records the whole resulting catalog, signed by the approval key. It must
    /// be `shown`, the catalog that the approver saw.
    ///
    /// # Errors
    /// `Catalog` if the action does not allow the step, the resulting catalog is not the one shown, or the key does not
    /// count. `Ledger`, also if another process changed the catalog meanwhile.
    pub fn change_catalog(
        &self,
        (action, step): (&ActionName, &Step),
        shown: &Catalog,
        reason: Option<String>,
        approver: &Approver<'_>,
    ) -> Result<Registered> {
        let standing = self.catalog()?;
        let (catalog, registered) = standing.after(action, step)?;
        let snapshot = catalog.snapshot().map_err(CatalogError::from)?;
        if shown.snapshot().map_err(CatalogError::from)? != snapshot {
            return Err(CatalogError::ChangedSinceShown.into());
        }
        let changed = CatalogChanged {
            format: CatalogChanged::FORMAT.to_owned(),
            time: self.clock.now(),
            tenant: self.tenant.clone(),
            follows: standing.last,
            action: action.clone(),
            from: standing.catalog.find(action).map(|registered| registered.state),
            to: registered.state,
            reason,
            snapshot: Digest::of(snapshot),
            by: approver.by.clone(),
            isolation: approver.isolation,
        };
        let payload = canonical::to_vec(&changed)?;
        let body =
            Envelope::sign(CatalogChanged::PAYLOAD_TYPE, payload, approver.signer)?.to_vec()?;
        // Entries of the ledger cannot be removed later.
        verify_change(&body, self.keyring()).map_err(CatalogError::Key)?;
        let entry =
            NewEntry { kind: EntryKind::CatalogChanged, body, blobs: vec![snapshot.to_vec()] };
        self.ledger.append(vec![entry]).wait()?;
        Ok(registered)
    }
}
