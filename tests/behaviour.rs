//! The promises of the program, held against the binary: exit codes, documents, files, messages.
//!
//! One test binary for all subjects, because each one links slowly.

#[path = "behaviour/admission.rs"]
mod admission;
#[path = "behaviour/adoption.rs"]
mod adoption;
#[path = "behaviour/again.rs"]
mod again;
#[path = "behaviour/approvals.rs"]
mod approvals;
#[path = "behaviour/attacks.rs"]
mod attacks;
#[path = "behaviour/attacks_by_parrots.rs"]
mod attacks_by_parrots;
#[path = "behaviour/attacks_by_tools.rs"]
mod attacks_by_tools;
#[path = "behaviour/audit.rs"]
mod audit;
#[path = "behaviour/bad_input.rs"]
mod bad_input;
#[path = "behaviour/budget.rs"]
mod budget;
#[path = "behaviour/calibrate.rs"]
mod calibrate;
#[path = "behaviour/called_off.rs"]
mod called_off;
#[path = "behaviour/changed_mission.rs"]
mod changed_mission;
#[path = "behaviour/command_agents.rs"]
mod command_agents;
#[path = "behaviour/command_line.rs"]
mod command_line;
#[path = "behaviour/completions.rs"]
mod completions;
#[path = "behaviour/concurrent.rs"]
mod concurrent;
#[path = "behaviour/config.rs"]
mod config;
#[path = "behaviour/conformance.rs"]
mod conformance;
#[path = "behaviour/control.rs"]
mod control;
#[path = "behaviour/coordination.rs"]
mod coordination;
#[path = "behaviour/crashed_status.rs"]
mod crashed_status;
#[path = "behaviour/deadlines.rs"]
mod deadlines;
#[path = "behaviour/delegation.rs"]
mod delegation;
#[path = "behaviour/delegation_kills.rs"]
mod delegation_kills;
#[path = "behaviour/design.rs"]
mod design;
#[path = "behaviour/dlq.rs"]
mod dlq;
#[path = "behaviour/docs.rs"]
mod docs;
#[path = "behaviour/doctor.rs"]
mod doctor;
#[path = "behaviour/doctor_state.rs"]
mod doctor_state;
#[path = "behaviour/echo.rs"]
mod echo;
#[path = "behaviour/events.rs"]
mod events;
#[path = "behaviour/evidence.rs"]
mod evidence;
#[path = "behaviour/expectations.rs"]
mod expectations;
#[path = "behaviour/failed_dependencies.rs"]
mod failed_dependencies;
#[path = "behaviour/failure_classes.rs"]
mod failure_classes;
#[path = "behaviour/fallback.rs"]
mod fallback;
#[path = "behaviour/false_greens.rs"]
mod false_greens;
#[path = "behaviour/false_greens_found.rs"]
mod false_greens_found;
#[path = "behaviour/false_greens_of_runs.rs"]
mod false_greens_of_runs;
#[path = "behaviour/false_greens_of_settings.rs"]
mod false_greens_of_settings;
#[path = "behaviour/fault_matrix.rs"]
mod fault_matrix;
#[path = "behaviour/findings.rs"]
mod findings;
#[path = "behaviour/fixups.rs"]
mod fixups;
#[path = "behaviour/foreign_state.rs"]
mod foreign_state;
#[path = "behaviour/formats.rs"]
mod formats;
#[path = "behaviour/foundation.rs"]
mod foundation;
#[path = "behaviour/gates.rs"]
mod gates;
#[path = "behaviour/generated_docs.rs"]
mod generated_docs;
#[path = "behaviour/golden_journals.rs"]
mod golden_journals;
#[path = "behaviour/help.rs"]
mod help;
#[path = "behaviour/holds.rs"]
mod holds;
#[path = "behaviour/hostile_agents.rs"]
mod hostile_agents;
#[path = "behaviour/hostile_files.rs"]
mod hostile_files;
#[path = "behaviour/housekeeping.rs"]
mod housekeeping;
#[path = "behaviour/html_report.rs"]
mod html_report;
#[path = "behaviour/http_models.rs"]
mod http_models;
#[path = "behaviour/in_the_way.rs"]
mod in_the_way;
#[path = "behaviour/inbox.rs"]
mod inbox;
#[path = "behaviour/independence.rs"]
mod independence;
#[path = "behaviour/init.rs"]
mod init;
#[path = "behaviour/install.rs"]
mod install;
#[path = "behaviour/intake.rs"]
mod intake;
#[path = "behaviour/interrupted.rs"]
mod interrupted;
#[path = "behaviour/json.rs"]
mod json;
#[path = "behaviour/judging.rs"]
mod judging;
#[path = "behaviour/look_into.rs"]
mod look_into;
#[path = "behaviour/looking.rs"]
mod looking;
#[path = "behaviour/looking_further.rs"]
mod looking_further;
#[path = "behaviour/middleware.rs"]
mod middleware;
#[path = "behaviour/moved_state.rs"]
mod moved_state;
#[path = "behaviour/newest_run.rs"]
mod newest_run;
#[path = "behaviour/notifications.rs"]
mod notifications;
#[path = "behaviour/one_scale.rs"]
mod one_scale;
#[path = "behaviour/only.rs"]
mod only;
#[path = "behaviour/operator.rs"]
mod operator;
#[path = "behaviour/outputs.rs"]
mod outputs;
#[path = "behaviour/own_bugs.rs"]
mod own_bugs;
#[path = "behaviour/own_workspace.rs"]
mod own_workspace;
#[path = "behaviour/panels.rs"]
mod panels;
#[path = "behaviour/people.rs"]
mod people;
#[path = "behaviour/permissions.rs"]
mod permissions;
#[path = "behaviour/pid_reuse.rs"]
mod pid_reuse;
#[path = "behaviour/plain_words.rs"]
mod plain_words;
#[path = "behaviour/plan.rs"]
mod plan;
#[path = "behaviour/probes.rs"]
mod probes;
#[path = "behaviour/protected.rs"]
mod protected;
#[path = "behaviour/protected_by_default.rs"]
mod protected_by_default;
#[path = "behaviour/provider_replies.rs"]
mod provider_replies;
#[path = "behaviour/questions.rs"]
mod questions;
#[path = "behaviour/recorded.rs"]
mod recorded;
#[path = "behaviour/red_team.rs"]
mod red_team;
#[path = "behaviour/regressed.rs"]
mod regressed;
#[path = "behaviour/replay.rs"]
mod replay;
#[path = "behaviour/replies.rs"]
mod replies;
#[path = "behaviour/report_targets.rs"]
mod report_targets;
#[path = "behaviour/reports.rs"]
mod reports;
#[path = "behaviour/review.rs"]
mod review;
#[path = "behaviour/rubrics.rs"]
mod rubrics;
#[path = "behaviour/scale.rs"]
mod scale;
#[path = "behaviour/schema.rs"]
mod schema;
#[path = "behaviour/secrets.rs"]
mod secrets;
#[path = "behaviour/self_approval.rs"]
mod self_approval;
#[path = "behaviour/settings.rs"]
mod settings;
#[path = "behaviour/side_effects.rs"]
mod side_effects;
#[path = "behaviour/silence.rs"]
mod silence;
#[path = "behaviour/soak.rs"]
mod soak;
#[path = "behaviour/stages.rs"]
mod stages;
#[path = "behaviour/storage.rs"]
mod storage;
#[path = "behaviour/storage_faults.rs"]
mod storage_faults;
#[cfg(target_os = "linux")]
#[path = "behaviour/strange_records.rs"]
mod strange_records;
#[cfg(target_os = "linux")]
#[path = "behaviour/supervision.rs"]
mod supervision;
mod support;
#[path = "behaviour/syscalls.rs"]
mod syscalls;
#[path = "behaviour/tampering.rs"]
mod tampering;
#[path = "behaviour/terminal.rs"]
mod terminal;
#[path = "behaviour/texts_of_others.rs"]
mod texts_of_others;
#[path = "behaviour/thresholds.rs"]
mod thresholds;
#[path = "behaviour/tool_workers.rs"]
mod tool_workers;
#[path = "behaviour/torture.rs"]
mod torture;
#[path = "behaviour/usage_windows.rs"]
mod usage_windows;
#[path = "behaviour/verification.rs"]
mod verification;
#[path = "behaviour/verification_edges.rs"]
mod verification_edges;
#[path = "behaviour/vision.rs"]
mod vision;
#[path = "behaviour/waiting.rs"]
mod waiting;
#[path = "behaviour/words.rs"]
mod words;
