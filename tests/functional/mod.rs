//! What the tools do.
//!
//! Behaviours that archive tools get wrong easily, and the tests that protect them here (a folder stands for all in it):
//!
//! | Behaviour | Tests |
//! |---|---|
//! | A failure is marked as one, with its code and the next step | `golden` |
//! | Paths that lead out are called that, in arguments and in archives | `golden`, `names::names_that_can_be_taken_for_another_are_refused_and_nothing_stays`, `security::paths` |
//! | The root can be listed and drawn, and not deleted | `golden::{zipfs_ls, zipfs_tree, zipfs_delete}` |
//! | A search counts beyond what it returns, reads lines of any length, skips binary files, knows globs with directories, does not follow links | `grep`, `golden::zipfs_grep` |
//! | Changed means that contents differ; a sync sets the measure anew | `status` |
//! | Lists are sorted; empty directories and `./` names are no phantom changes | `status::lists_are_sorted_and_always_the_same`, `attributes::empty_directories_stay_come_and_go`, `names::a_name_that_begins_with_a_dot_and_a_slash_is_the_plain_one` |
//! | A sync leaves alone what did not change: bytes, order, comments, extra fields, the stub of a self-extractor | `names::an_edit_keeps_the_name_as_it_was_and_leaves_the_others_alone`, `sync::untouched_entries_keep_their_bytes_and_order`, `workflow` |
//! | A sync without changes writes nothing and pushes out no backup | `sync::{a_sync_without_changes_writes_nothing, syncs_without_changes_do_not_push_out_old_backups}` |
//! | The new archive is read back before it takes the old one's place, and the source keeps mode and owner | `attributes::the_archive_keeps_its_own_mode_and_owner` |
//! | A source that became a link is not written | `attributes::an_archive_that_became_a_link_is_not_written_through_or_replaced` |
//! | Reads beside a sync undo nothing; a session is locked while it is replaced; a damaged one does not make another the only one | `concurrent`, `sessions::a_busy_session_is_locked_and_says_so`, `sync::a_damaged_session_is_not_passed_over_for_another` |
//! | Remains of an interrupted open never get into a session | `prune::remains_of_interrupted_work_go` |
//! | Links stay links, modes stay within bounds, what nobody may read can still be edited | `attributes`, `open::modes_are_kept_within_bounds` |
//! | Encrypted, damaged, unreadable, endless and relative sources each have their code | `golden::zipfs_open`, `open` |
//! | Every limit that can be set holds, also for writes | `limits`, `open::{all_sessions_together_have_a_limit, sessions_are_limited_in_number_and_name}` |
//! | Entries of one name are refused, names such as `..data` are not | `names` |
//! | A range is read as a range; no character is cut; bytes that are no text are never replaced | `files`, `golden::zipfs_read` |
//! | Days are durations, what is freed is measured, only our own backups rotate, as many as wanted | `prune`, `sync::{backups_rotate_and_files_of_others_stay, no_more_backups_are_kept_than_wanted}` |
//! | Names in any alphabet can be used and go back as they were; times of directories come out | `names`, `attributes::times_and_modes_come_out_and_directories_keep_theirs` |
//! | The source is read once | `status::an_archive_is_opened_once_to_be_read` |

mod attributes;
mod audit;
mod author;
mod cli;
mod concurrent;
mod demo;
mod files;
mod golden;
mod grep;
mod instructions;
mod links;
mod metrics;
mod names;
mod open;
mod plugins;
mod prune;
mod roots;
mod sessions;
mod status;
mod sync;
mod system_calls;
mod typed;
mod wasmcp;
mod workflow;
