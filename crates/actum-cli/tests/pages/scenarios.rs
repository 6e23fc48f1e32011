//! Scenarios of `tests/scenarios`, each played by the test of its name.

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

/// FO-1: every patch of a change set is made.
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

/// FO-10: the bit follows the read bits, the others stay.
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

/// FO-2: the first patch fits and the second does not. A well-known patch tool has a test that expects the first one to
/// stay.
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
fn the_state_of_git_is_out_of_reach() {
    play("the_state_of_git_is_out_of_reach");
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
fn a_path_outside_the_allowed_places_is_refused() {
    play("a_path_outside_the_allowed_places_is_refused");
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
fn undo_goes_further_back_each_time_and_ends() {
    play("undo_goes_further_back_each_time_and_ends");
}

/// FO-2
#[test]
fn a_dry_run_changes_nothing() {
    play("a_dry_run_changes_nothing");
}

/// FO-10
#[test]
fn what_exists_is_not_created_or_renamed_over() {
    play("what_exists_is_not_created_or_renamed_over");
}

/// FO-10
#[test]
fn what_is_missing_is_not_deleted_or_patched() {
    play("what_is_missing_is_not_deleted_or_patched");
}

/// FO-5, FO-10
#[test]
fn a_file_becomes_a_directory_and_a_file_again() {
    play("a_file_becomes_a_directory_and_a_file_again");
}

/// FO-7
#[test]
fn links_are_not_followed() {
    play("links_are_not_followed");
}

/// D-1
#[test]
fn show_and_status_tell_the_facts() {
    play("show_and_status_tell_the_facts");
}

/// D-1, D-4
#[test]
fn every_command_speaks_json() {
    play("every_command_speaks_json");
}

/// FO-3
#[test]
fn lines_appended_by_a_diff_are_not_appended_twice() {
    play("lines_appended_by_a_diff_are_not_appended_twice");
}

/// FO-10
#[test]
fn edits_in_json_replace_texts() {
    play("edits_in_json_replace_texts");
}

/// FO-6, FO-10: an existing file is only overwritten if its digest is given.
#[test]
fn whole_files_in_json_are_made_written_and_deleted() {
    play("whole_files_in_json_are_made_written_and_deleted");
}

/// FO-10
#[test]
fn a_json_patch_keeps_the_layout_of_the_file() {
    play("a_json_patch_keeps_the_layout_of_the_file");
}

/// FO-5
#[test]
fn an_undo_can_keep_what_was_edited_since() {
    play("an_undo_can_keep_what_was_edited_since");
}

/// FO-1
#[test]
fn all_that_is_refused_is_told_at_once() {
    play("all_that_is_refused_is_told_at_once");
}

/// FO-10: content for an empty file is not inserted before the current content of another one.
#[test]
fn a_diff_without_context_inserts_at_the_top_of_a_file() {
    play("a_diff_without_context_inserts_at_the_top_of_a_file");
}

/// FO-9
#[test]
fn a_redo_that_meets_a_later_edit_says_what_is_not_redone() {
    play("a_redo_that_meets_a_later_edit_says_what_is_not_redone");
}

/// FO-4, FO-10: once as a file, by the lines that differ, at once and later, there and back.
#[test]
fn a_renamed_and_edited_file_is_told_as_renamed() {
    play("a_renamed_and_edited_file_is_told_as_renamed");
}

/// FO-4, FO-10: binary files have no lines, and cost none of the budget.
#[test]
fn binary_files_are_told_by_their_sizes() {
    play("binary_files_are_told_by_their_sizes");
}

/// FE-14: the receipt and the public keys are enough.
#[test]
fn a_receipt_is_verified_by_public_keys() {
    play("a_receipt_is_verified_by_public_keys");
}

/// FE-14, AEC-11
#[test]
fn a_key_is_changed_and_the_ledger_records_it() {
    play("a_key_is_changed_and_the_ledger_records_it");
}

/// AEC-11
#[test]
fn the_ledger_tells_proves_and_replays_what_was_done() {
    play("the_ledger_tells_proves_and_replays_what_was_done");
}
