//! Catalog changes that the operator makes, one action at a time.

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

/// Catalog change that moves an action to a new state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Registers a package as a draft, replacing any package of the same name.
    Register(Box<Registration>),
    /// Registers a package and activates it in the same change.
    Adopt(Box<Registration>),
    /// Activates an action that is in the catalog.
    Activate {
        /// Digest of the package that the operator reviewed. If given, the registered package must have it.
        package: Option<Digest>,
    },
    /// Retires an action, so that it can no longer be used.
    Retire,
}

/// Whether the newest catalog change in the ledger is valid, which decides which steps are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// The newest change is valid, so its catalog is in force.
    Proven,
    /// The newest change failed verification, so the next change builds on the last valid catalog.
    Unproven,
}

impl Step {
    /// Returns the state in which the step leaves the action.
    pub fn to(&self) -> ActionState {
        match self {
            Self::Register(_) => ActionState::Draft,
            Self::Activate { .. } | Self::Adopt(_) => ActionState::Active,
            Self::Retire => ActionState::Retired,
        }
    }
}

impl Catalog {
    /// Returns the catalog that results from applying a step to an action, and the resulting action.
    ///
    /// # Errors
    /// [`CatalogError`] if the step is not possible in the current state of the action.
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
    /// Returns the catalog that results from applying a step to an action, and the resulting action.
    ///
    /// If the newest change failed verification, an action may also be moved to the state that it already has, so that
    /// a valid change can be recorded.
    ///
    /// # Errors
    /// Same as [`Catalog::after`].
    pub fn after(
        &self,
        action: &ActionName,
        step: &Step,
    ) -> Result<(Catalog, Registered), CatalogError> {
        let ground = if self.unproven.is_none() { Ground::Proven } else { Ground::Unproven };
        self.catalog.after_on(ground, action, step)
    }
}

/// Returns the action that results from a step.
///
/// A package is first registered as a draft, then activated, and finally retired. A retired action can be activated
/// again.
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
            // The same version of a package is registered only once. After that, only its state can change.
            if now.is_some_and(|now| now.origin.digest() == Some(registration.digest)) {
                return Err(refused());
            }
            let registered = Registered::from(&**registration);
            for (of, schema) in
                [("input", &*registered.input_schema), ("output", &registered.output_schema)]
            {
                Schema::read(schema).map_err(|error| CatalogError::Unsound {
                    action: action.clone(),
                    message: format!("its {of} schema is not a valid JSON Schema: {error}"),
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
    /// Reads this tenant's catalog from the ledger, even if its newest change failed verification.
    ///
    /// # Errors
    /// `Ledger` if the ledger cannot be read.
    pub fn catalog(&self) -> Result<Standing> {
        // The inner result keeps catalog errors apart from errors of the ledger itself.
        Ok(self.ledger.read(|log| Ok(Standing::read(log, self.keyring())))??)
    }

    /// Applies a step to an action, and records the entire resulting catalog in the ledger, signed with the approval
    /// key. `shown` is the resulting catalog as the approver saw it.
    ///
    /// # Errors
    /// `Catalog` if the step is not possible, the resulting catalog differs from `shown`, or the key is not valid for
    /// catalog changes. `Ledger` if the change cannot be recorded, for example because another process has changed the
    /// catalog in the meantime.
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
        // Verify the change before appending it, because a ledger entry cannot be removed later.
        verify_change(&body, self.keyring()).map_err(CatalogError::Key)?;
        let entry =
            NewEntry { kind: EntryKind::CatalogChanged, body, blobs: vec![snapshot.to_vec()] };
        self.ledger.append(vec![entry]).wait()?;
        Ok(registered)
    }
}
