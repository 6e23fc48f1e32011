//! Path attacks.
