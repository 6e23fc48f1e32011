//! Conversion of task plan error codes to the types of `actum-api`.

use actum_api::task;
use actum_task::{ErrorCategory, RecoveryAction};

/// Converts the category of an error code.
pub(crate) fn category(category: ErrorCategory) -> task::ErrorCategory {
    match category {
        ErrorCategory::Validation => task::ErrorCategory::Validation,
        ErrorCategory::FileSystem => task::ErrorCategory::FileSystem,
        ErrorCategory::Permission => task::ErrorCategory::Permission,
        ErrorCategory::ProtectedFile => task::ErrorCategory::ProtectedFile,
        ErrorCategory::Dependency => task::ErrorCategory::Dependency,
        ErrorCategory::Internal => task::ErrorCategory::Internal,
    }
}

/// Converts the consequence of an error.
pub(crate) fn recovery_action(action: RecoveryAction) -> task::RecoveryAction {
    match action {
        RecoveryAction::Rejected => task::RecoveryAction::Rejected,
        RecoveryAction::Skipped => task::RecoveryAction::Skipped,
        RecoveryAction::RolledBack => task::RecoveryAction::RolledBack,
        RecoveryAction::ManualRequired => task::RecoveryAction::ManualRequired,
    }
}
