//! Attacks by their targets.

mod extensions;
mod reads;
mod settings;
mod writes;

use crate::attack::Attack;

/// All attacks, grouped by target.
pub(crate) const ATTACKS: &[&[Attack]] =
    &[reads::ATTACKS, writes::ATTACKS, settings::ATTACKS, extensions::ATTACKS];
