//! How good something is: reading verdicts and joining them.
//!
//! Everything here is pure: no I/O, no clock, no randomness. *When* a judge is asked is the engine's business, *asking*
//! it is done in `review`; here is only what a reply says, what several replies say together, and what plain facts say
//! without any judge. *Who* may judge is part of the plan (`plan/eligibility.rs`).
//!
//! | file | what |
//! |---|---|
//! | `assumption` | whether an agent says that what it was told does not hold (17) |
//! | `authority` | words that speak with authority: counted, never taken out (17) |
//! | `autonomy` | what findings lead to, by severity and autonomy (15) |
//! | `baseline_checks` | what is looked at of a task before its first attempt, and whether that is a proof of the work (24) |
//! | `calibration` | judges held against people (`quorum calibrate`) |
//! | `consensus` | what the seats of a panel say together: median, outliers, spread (7) |
//! | `criteria_verdict` | what the grades of a task's criteria mean: what they must reach, how sure they must be (10) |
//! | `drift` | how far what an agent says is from what was asked of it (17) |
//! | `evidence_rules` | what plain facts say about an attempt before any judge is asked (6, preflight) |
//! | `findings_verdict` | what the replies of further stages say: an opinion, the findings of a red team (6.7, 15) |
//! | `heuristic` | a judge without a model, for criteria that plain facts can decide (10) |
//! | `hollow` | work in name only: what an agent says that has done nothing (6, preflight) |
//! | `parser` | a verdict out of a reviewer's reply (7, 9) |
//! | `mean_colour` | the mean colour of a picture's region against the one that is expected (15) |
//! | `paired_difference` | how far the scores of one run lie above another's, and how sure that is (14) |
//! | `prior` | points of an earlier review and what the next reviewer answers for them (4) |
//! | `probes` | criteria cut into probes by an agent (10): what it may say, and what is missing of it |
//! | `protected` | programs and files that judging commands name: what the work is judged by (22) |
//! | `worker_question` | whether what an agent said instead of working may be a question (5) |
//! | `rubric_grades` | grading by a rubric: what a judge said, held against the rubric; its bar (10) |
//! | `tests_changed` | which files of those that work changes are tests (24) |
//! | `intake_reply` | reading what an agent says about a request for work (16) |
//! | `write_intent` | whether a description asks for a file to be written, and for which (6, preflight) |

pub mod assumption;
pub mod authority;
pub mod autonomy;
pub mod baseline_checks;
pub mod calibration;
pub mod consensus;
pub mod criteria_verdict;
pub mod drift;
pub mod evidence_rules;
pub mod findings_verdict;
pub mod heuristic;
pub mod hollow;
pub mod intake_reply;
pub mod mean_colour;
pub mod paired_difference;
pub mod parser;
pub mod prior;
pub mod probes;
pub mod protected;
pub mod rubric_grades;
pub mod tests_changed;
pub mod worker_question;
pub mod write_intent;
