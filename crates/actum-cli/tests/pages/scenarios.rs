//! Runs the scenarios in `tests/scenarios`, each in the test of its name.

use crate::scenario::play;

#[test]
fn every_scenario_has_its_test() {
    let source = include_str!("scenarios.rs");
    let names = crate::scenario::names();
    for (index, name) in names.iter().enumerate() {
        let sentence = crate::scenario::sentence(name);
        assert!(name.starts_with(&format!("{:03}_", index + 1)), "{name}: a number is left out");
        assert!(source.contains(&format!("fn {sentence}() {{\n")), "{name} is not played");
    }
}

/// FO-1: all patches of a change set are applied.
#[test]
fn modifies_several_files() {
    play("modifies_several_files");
}

/// FO-10
#[test]
fn creates_a_file_in_a_new_directory() {
    play("creates_a_file_in_a_new_directory");
}

/// FO-10
#[test]
fn deletes_the_last_file_of_a_directory_and_the_directory() {
    play("deletes_the_last_file_of_a_directory_and_the_directory");
}

/// FO-10
#[test]
fn renames_a_file_and_keeps_its_mode() {
    play("renames_a_file_and_keeps_its_mode");
}

/// FO-10: execute permission is granted to those who may read, and the other mode bits stay unchanged.
#[test]
fn sets_and_clears_the_executable_bit() {
    play("sets_and_clears_the_executable_bit");
}

/// FO-1
#[test]
fn edits_a_last_line_without_newline() {
    play("edits_a_last_line_without_newline");
}

/// FO-1
#[test]
fn keeps_crlf_line_ends() {
    play("keeps_crlf_line_ends");
}

/// FO-2: the first patch matches and the second does not, so neither is applied. The tests of a well-known patch tool
/// expect the first one to stay.
#[test]
fn failure_after_partial_success_leaves_nothing_changed() {
    play("failure_after_partial_success_leaves_nothing_changed");
}

/// FO-6
#[test]
fn a_wrong_expected_hash_stops_the_whole_change_set() {
    play("a_wrong_expected_hash_stops_the_whole_change_set");
}

/// FO-5
#[test]
fn undo_restores_every_byte_and_mode() {
    play("undo_restores_every_byte_and_mode");
}

/// FO-9
#[test]
fn undo_of_an_undo_brings_the_change_back() {
    play("undo_of_an_undo_brings_the_change_back");
}

/// FO-1
#[test]
fn two_patches_for_one_path_are_refused() {
    play("two_patches_for_one_path_are_refused");
}

/// FO-7
#[test]
fn a_path_that_leaves_the_workspace_is_refused() {
    play("a_path_that_leaves_the_workspace_is_refused");
}

/// D-5
#[test]
fn git_state_cannot_be_changed() {
    play("git_state_cannot_be_changed");
}

/// D-4
#[test]
fn malformed_json_is_refused_with_line_and_column() {
    play("malformed_json_is_refused_with_line_and_column");
}

/// D-4
#[test]
fn a_malformed_diff_is_refused_with_line_and_column() {
    play("a_malformed_diff_is_refused_with_line_and_column");
}

/// FO-4
#[test]
fn a_change_over_the_budget_is_refused_with_the_numbers() {
    play("a_change_over_the_budget_is_refused_with_the_numbers");
}

/// FO-3
#[test]
fn path_outside_the_allowed_scope_is_refused() {
    play("path_outside_the_allowed_scope_is_refused");
}

/// FO-9
#[test]
fn an_older_run_is_undone_and_later_files_stay() {
    play("an_older_run_is_undone_and_later_files_stay");
}

/// FO-9
#[test]
fn undo_after_a_later_edit_names_the_conflict() {
    play("undo_after_a_later_edit_names_the_conflict");
}

/// FO-9
#[test]
fn repeated_undo_steps_back_until_no_run_is_left() {
    play("repeated_undo_steps_back_until_no_run_is_left");
}

/// FO-2
#[test]
fn a_dry_run_changes_nothing() {
    play("a_dry_run_changes_nothing");
}

/// FO-10
#[test]
fn existing_files_are_not_overwritten_by_create_or_rename() {
    play("existing_files_are_not_overwritten_by_create_or_rename");
}

/// FO-10
#[test]
fn missing_files_cannot_be_deleted_or_patched() {
    play("missing_files_cannot_be_deleted_or_patched");
}

/// FO-5, FO-10
#[test]
fn a_file_becomes_a_directory_and_a_file_again() {
    play("a_file_becomes_a_directory_and_a_file_again");
}

/// FO-7
#[test]
fn symlinks_are_not_followed() {
    play("symlinks_are_not_followed");
}

/// D-1
#[test]
fn show_and_status_report_the_recorded_details() {
    play("show_and_status_report_the_recorded_details");
}

/// D-1, D-4
#[test]
fn every_command_prints_json() {
    play("every_command_prints_json");
}

/// FO-3
#[test]
fn lines_appended_by_a_diff_are_not_appended_twice() {
    play("lines_appended_by_a_diff_are_not_appended_twice");
}

/// FO-10
#[test]
fn json_edits_replace_text() {
    play("json_edits_replace_text");
}

/// FO-6, FO-10: an existing file is overwritten only if its digest is given.
#[test]
fn whole_files_in_json_are_created_written_and_deleted() {
    play("whole_files_in_json_are_created_written_and_deleted");
}

/// FO-10
#[test]
fn a_json_patch_keeps_the_layout_of_the_file() {
    play("a_json_patch_keeps_the_layout_of_the_file");
}

/// FO-5
#[test]
fn undo_can_keep_later_edits() {
    play("undo_can_keep_later_edits");
}

/// FO-1
#[test]
fn all_failed_edits_are_reported_together() {
    play("all_failed_edits_are_reported_together");
}

/// FO-10: a hunk that creates content in an empty file is not inserted at the top of a non-empty file.
#[test]
fn a_diff_without_context_inserts_at_the_top_of_a_file() {
    play("a_diff_without_context_inserts_at_the_top_of_a_file");
}

/// FO-9
#[test]
fn redo_after_a_later_edit_reports_the_conflict() {
    play("redo_after_a_later_edit_reports_the_conflict");
}

/// FO-4, FO-10: the run and its undo report one renamed file with its changed lines, at commit time and later.
#[test]
fn renamed_and_edited_file_is_reported_as_renamed() {
    play("renamed_and_edited_file_is_reported_as_renamed");
}

/// FO-4, FO-10: binary files have no lines, so they do not count toward the line budget.
#[test]
fn binary_files_are_reported_by_size() {
    play("binary_files_are_reported_by_size");
}

/// FE-14: a receipt can be verified with only the public keys.
#[test]
fn a_receipt_is_verified_by_public_keys() {
    play("a_receipt_is_verified_by_public_keys");
}

/// FE-14, AEC-11
#[test]
fn key_rotation_is_recorded_in_the_ledger() {
    play("key_rotation_is_recorded_in_the_ledger");
}

/// AEC-11
#[test]
fn ledger_shows_proves_and_replays_a_run() {
    play("ledger_shows_proves_and_replays_a_run");
}
