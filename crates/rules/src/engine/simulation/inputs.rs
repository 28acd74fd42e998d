//! What the world says: an effect and how it came to its end, as the inputs of the engine.

use super::*;
use crate::domain::{BeforeWork, StageKey, TaskId};
use crate::engine::event_payload::Commit;
use crate::engine::merging::{Delivery, Merged};
use crate::engine::{AskReply, BaselineResult, JobEnd, TurnUpdate};
use crate::judging::baseline_checks::{BaselineCheck, items};
use crate::plan::TaskPlan;

/// What the world says when an effect comes to this end.
pub fn inputs(state: &State, effect: &Effect, answer: &Response) -> Vec<Fact> {
    match (effect, answer) {
        (effect, Response::Void { changed, shared }) if effect.judged_work().is_some() => {
            let said = |yes: bool| yes.then(|| "tests/a was changed".to_owned()).into_iter().collect();
            vec![Fact::StageVoided(Box::new(crate::engine::VoidedStage {
                work: effect.judged_work().expect("it was asked just now"),
                changed: said(*changed),
                restored: said(!changed),
                shared: *shared,
            }))]
        }
        (Effect::NoteFiles { turn, starts, shared }, answer) => {
            let record = FileRef { length: 3, digest: Digest::of(b"{}") };
            vec![Fact::FilesNoted {
                turn: *turn,
                starts: *starts,
                shared: *shared,
                result: match answer {
                    Response::Unreachable(_) => Err("the disk is full".to_owned()),
                    _ => Ok(record),
                },
            }]
        }
        (Effect::RunTurn { turn, .. }, Response::NeverStarted(class)) => vec![Fact::TurnRequestFailed {
            turn: *turn,
            class: *class,
            before_effect: true,
            message: "no".to_owned(),
            retry_after: None,
            jitter: 0,
        }],
        (Effect::RunTurn { turn, .. }, answer) => {
            let failure = match answer {
                Response::AgentFailed(class) => Some(*class),
                _ => None,
            };
            let interrupted = matches!(answer, Response::Interrupted);
            let exit = Exit { failure, ..Exit::default() };
            let asked = match answer {
                Response::Asks(asked) => Some(asked.clone()),
                Response::Escalates(asked) => asked.clone(),
                _ => None,
            };
            let output = Some(FileRef { length: 2, digest: Digest::of(b"ok") });
            let files = match answer {
                Response::Did(files) => Some(files.clone()),
                _ => None,
            };
            let tool_calls = match answer {
                Response::Called(calls) => Some(*calls),
                _ => None,
            };
            let end = TurnEnd {
                exit,
                output,
                interrupted,
                asked,
                broken: matches!(answer, Response::Escalates(_)).then(|| BrokenAssumption {
                    kind: Assumption::DependencyFailed,
                    evidence: "dependency failed".to_owned(),
                }),
                files,
                delegate: match answer {
                    Response::HandsDown(sub_tasks) => sub_tasks.clone(),
                    _ => Vec::new(),
                },
                tool_calls,
                // Long enough to have tried.
                duration: Millis(2_000),
                ..TurnEnd::clean(*turn)
            };
            vec![
                Fact::TurnProgress(*turn, TurnUpdate::Spawned { process: None }),
                Fact::TurnEnded(Box::new(end)),
            ]
        }
        (Effect::Job { turn, job }, answer) => {
            vec![Fact::JobEnded { turn: *turn, job: *job, end: job_end(state, turn.task, *job, answer) }]
        }
        (Effect::DeliverWork { .. }, answer) => vec![Fact::WorkDelivered(Delivery {
            commits: 1,
            waits: None,
            why: matches!(answer, Response::Unreachable(_)).then(|| "a lock".to_owned()),
        })],
        (Effect::Audit { number }, answer) => vec![Fact::Audited(Box::new(audit(state, *number, answer)))],
        (Effect::Ask { id, purpose: purpose @ Purpose::Score(_), agent, .. }, answer)
            if !matches!(answer, Response::Unreachable(_) | Response::NeverAsked) =>
        {
            let file = FileRef { length: 1, digest: reply_digest(id.attempt_try) };
            let reply =
                ReplyRef { reply: file, model: None, usage: Usage::default(), tools: None, judgement: None };
            let panel = state.plan.task(id.task).panel();
            let answer = match (answer, panel) {
                (Response::Score(points), Some(panel)) => Answer::Scores {
                    scores: panel.dimensions.iter().map(|d| score(&d.name, *points)).collect(),
                    findings: Vec::new(),
                    prior: match points % 10 {
                        3 => Vec::new(),
                        _ => answers(state, id.task),
                    },
                },
                (Response::Score(points), None) => Answer::Evaluation {
                    points: Points::whole(*points),
                    reasoning: String::new(),
                    findings: Vec::new(),
                    prior: match points % 10 {
                        3 => Vec::new(),
                        _ => answers(state, id.task),
                    },
                },
                _ => Answer::Unreadable { why: "no".to_owned(), excerpt: String::new(), grave: false },
            };
            vec![Fact::AskReplied(AskReply { id: *id, purpose: *purpose, agent: *agent, reply, answer })]
        }
        (Effect::Deliver { number, tried, .. }, answer) => {
            let failure = match answer {
                Response::Unreachable(class) => Some(*class),
                _ => None,
            };
            let result = failure.map_or(Ok(()), |class| {
                Err(Undelivered {
                    class,
                    message: "no".to_owned(),
                    retry_after: None,
                    hopeless: false,
                    jitter: 0,
                })
            });
            vec![Fact::Delivered { number: *number, tried: *tried, result }]
        }
        (Effect::File { letter }, _) => vec![Fact::Filed(vec![letter.clone()])],
        (Effect::Ask { id, .. }, Response::Unreachable(_) | Response::NeverAsked) => {
            vec![Fact::AskFailed(Box::new(AskFailure {
                id: *id,
                class: class_of(answer),
                message: "no".to_owned(),
                retry_after: None,
                jitter: 0,
                used: None,
                ours: matches!(answer, Response::NeverAsked),
                never_began: false,
            }))]
        }
        (Effect::Ask { id, purpose, agent, .. }, answer) => {
            let (model, answer) = match answer {
                Response::Answer(answer) => (None, answering(state, id.task, answer.clone())),
                Response::AnswerOf(model, answer) => {
                    let answer = answering(state, id.task, answer.clone());
                    (Some((*model).to_owned()), answer)
                }
                _ => {
                    (None, Answer::Unreadable { why: "no".to_owned(), excerpt: String::new(), grave: false })
                }
            };
            let file = FileRef { length: 1, digest: reply_digest(id.number) };
            let handed_over = matches!(purpose, Purpose::Grade { .. })
                .then(|| Fact::HandedOver { id: *id, file: file.clone() });
            let replied = Fact::AskReplied(AskReply {
                id: *id,
                purpose: *purpose,
                agent: *agent,
                reply: ReplyRef { reply: file, model, usage: Usage::default(), tools: None, judgement: None },
                answer,
            });
            handed_over.into_iter().chain([replied]).collect()
        }
        (Effect::PreparePrompt(_) | Effect::KillTurn { .. } | Effect::StopTask(_) | Effect::StopAll, _) => {
            Vec::new()
        }
    }
}

fn class_of(answer: &Response) -> FailureClass {
    match answer {
        Response::Unreachable(class) => *class,
        _ => FailureClass::Unknown,
    }
}

fn score(name: &str, points: u8) -> DimensionScore {
    DimensionScore {
        dimension: name.to_owned(),
        points: Points::whole(points.max(20)),
        reasoning: String::new(),
    }
}

/// What a judge answers for the points of the review before: that each of them was addressed.
fn answers(state: &State, task: TaskId) -> Vec<PriorAnswer> {
    let points = prior_points(&state.plan, task, state.task(task)).len();
    (1..=u32::try_from(points).unwrap()).map(answer).collect()
}

fn answer(point: u32) -> PriorAnswer {
    PriorAnswer { id: point, addressed: Addressed::Yes, note: String::new() }
}

/// For a point that there is not: whoever gives this alone answers for none.
pub fn silence() -> Vec<PriorAnswer> {
    vec![answer(0)]
}

/// What is said, with an answer for each point, unless it is silent about them.
fn answering(state: &State, task: TaskId, mut answer: Answer) -> Answer {
    let prior = match &mut answer {
        Answer::Grades(reply) => &mut reply.prior,
        Answer::Opinion(opinion) => &mut opinion.prior,
        Answer::Findings(report) => &mut report.prior,
        _ => return answer,
    };
    if prior.is_empty() {
        *prior = answers(state, task);
    }
    answer
}

/// The text of a reply: whoever is asked once more says it in other words.
fn reply_digest(time: u32) -> Digest {
    match time {
        1 => Digest::of(b"x"),
        time => Digest::of(&time.to_le_bytes()),
    }
}

/// What an audit sees: everything as it was accepted last, or by a number that decides about each file and check.
fn audit(state: &State, number: u32, answer: &Response) -> AuditReport {
    let chance = |salt: &str, index: usize| match answer {
        Response::Audit(seed) => {
            let text = format!("{seed} {salt} {index}");
            Digest::of(text.as_bytes()).to_string().bytes().map(u32::from).sum::<u32>() % 20
        }
        _ => 19,
    };
    let mut latest: std::collections::BTreeMap<String, (u64, FileFact)> = std::collections::BTreeMap::new();
    for (id, acceptance) in state.accepted() {
        for file in &acceptance.files {
            let known =
                latest.entry(state.plan.place(id, &file.path)).or_insert((acceptance.order, file.clone()));
            if known.0 < acceptance.order {
                *known = (acceptance.order, file.clone());
            }
        }
    }
    // A workspace is one: all tasks see the same file.
    let seen = |id: TaskId, path: &String| {
        let (_, file) = latest[&state.plan.place(id, path)].clone();
        match chance(path, 0) {
            0 => FileFact { size: None, digest: None, ..file },
            1 => FileFact { size: Some(0), digest: Some(Digest::of(b"")), ..file },
            2..=5 => FileFact { size: Some(7), digest: Some(Digest::of(b"another")), ..file },
            _ => file,
        }
    };
    let looks: Looks = state
        .covered()
        .map(|(id, acceptance)| (id, acceptance.files.iter().map(|file| seen(id, &file.path)).collect()))
        .collect();
    let due = state.checks_due(&looks);
    let mut seen = AuditEvidence::default();
    for (index, (task, check)) in due.iter().enumerate() {
        let result = CheckResult {
            passed: chance("check", index) > 3,
            message: "x".to_owned(),
            duration: Millis(1),
            reruns: 0,
        };
        seen.take(*task, *check, result);
    }
    if !due.is_empty() {
        seen.behind = looks.clone();
    }
    seen.looks = looks;
    report_of(number, seen)
}

/// The report of an audit that saw this.
pub fn report_of(number: u32, seen: AuditEvidence) -> AuditReport {
    AuditReport { number, file: None, seen: Some(Box::new(seen)) }
}

/// What becomes of a try to merge work.
fn merged(answer: &Response) -> Merged {
    let commit = Commit {
        id: "1f2e3d".into(),
        files: 1,
        insertions: 2,
        deletions: 1,
        paths: vec!["src/lib.rs".into()],
        onto: "0a1b2c".into(),
        left_out: Vec::new(),
        removed: Vec::new(),
    };
    match answer {
        Response::BesideOthers => Merged::Candidate(commit),
        Response::Conflict => Merged::Conflict {
            commit,
            files: vec!["src/lib.rs".to_owned()],
            with: Vec::new(),
            unmarked: std::collections::BTreeMap::new(),
        },
        Response::Unreadable => Merged::Refused("it has marks of a conflict".to_owned()),
        _ => Merged::Landed(commit),
    }
}

/// How a command or a look at files ends.
fn job_end(state: &State, task: TaskId, job: Job, answer: &Response) -> JobEnd {
    let plan = state.plan.task(task);
    let is_bad = matches!(answer, Response::Check(false));
    match job {
        Job::Scan { .. } => {
            let (size, mark) = match answer {
                Response::Files(size, mark) => (*size, *mark),
                _ => (Some(1), 0),
            };
            let paths = plan.target_files.iter().map(AsRef::as_ref);
            JobEnd::Seen {
                files: paths.chain(plan.screenshots()).map(|path| seen(path, size, mark)).collect(),
                hollow: matches!(answer, Response::Hollow).then(|| "it says nothing".to_owned()),
            }
        }
        Job::Artifacts(dependency) => {
            let size = match answer {
                Response::Files(size, _) => *size,
                _ => Some(1),
            };
            let targets = state.plan.task(dependency).target_files.iter().map(AsRef::as_ref);
            let fact = |path: &str| FileFact { digest: None, ..seen(path, size, 0) };
            JobEnd::Seen { files: targets.map(fact).collect(), hollow: None }
        }
        Job::Look(_) => JobEnd::Looked(Box::default()),
        Job::Baseline => JobEnd::Baseline { on: None, checks: said_before(plan, answer) },
        Job::Merge(_) => JobEnd::Merged(merged(answer)),
        Job::Finish(_) | Job::Check(_) | Job::PeerCheck(..) => JobEnd::Checked(CheckResult {
            passed: !is_bad,
            message: String::new(),
            duration: Millis(1),
            reruns: state.task(task).reruns(job),
        }),
        Job::Grade(_) => {
            let criteria = plan.verification().map_or(0, |by| by.criteria.len());
            let grade = |points| CriterionGrade { points, evidence: "seen".to_owned() };
            JobEnd::Graded(match answer {
                Response::Unreachable(_) => Err("the disk is gone".to_owned()),
                Response::Unreadable => Ok(vec![grade(None); criteria]),
                Response::Score(points) if *points < 60 => Ok(vec![grade(Some(Points::ZERO)); criteria]),
                _ => Ok(vec![grade(Some(Points::whole(100))); criteria]),
            })
        }
        Job::Stage(StageKey::VISION, 0) => {
            let known = state.task(task).judging();
            let known = known.map_or(&[][..], |judging| &judging.files);
            let fact = |path: &str| match answer {
                Response::Files(size, mark) => seen(path, *size, *mark),
                Response::Obstacle => {
                    FileFact { obstacle: Some("it is a FIFO".into()), stored: None, ..seen(path, None, 0) }
                }
                // As they were.
                _ => {
                    let found = known.iter().find(|file| file.path == path).cloned();
                    found.unwrap_or_else(|| seen(path, Some(1), 0))
                }
            };
            JobEnd::Seen { files: plan.screenshots().map(fact).collect(), hollow: None }
        }
        Job::Stage(step, _) => JobEnd::Judged(match answer {
            Response::Unreachable(_) => Err("it was killed".to_owned()),
            Response::Answer(answer) => Ok(answer.clone()),
            _ if step == StageKey::VISION => {
                let found = is_bad.then(|| Finding::new(Severity::High, "x"));
                Ok(Answer::Findings(FindingsReport::whole(Vec::from_iter(found))))
            }
            _ if is_bad => Ok(opinion(DeclaredVerdict::Fail)),
            _ => Ok(opinion(DeclaredVerdict::Pass)),
        }),
        Job::Approver { .. } => JobEnd::Approver(match answer {
            Response::Score(points) if *points < 60 => ApproverSaid::No("not now".to_owned()),
            Response::Unreadable | Response::Unreachable(_) => ApproverSaid::Open("busy".to_owned()),
            _ => ApproverSaid::Yes,
        }),
    }
}

fn said_before(plan: &TaskPlan, answer: &Response) -> Vec<BaselineResult> {
    let mark = match answer {
        Response::Before(mark) => *mark,
        _ => 0,
    };
    let seen = |(at, item): (u32, BaselineCheck)| {
        let said = mark >> (2 * at % 64) & 3;
        BaselineResult {
            key: item.key,
            before: match said {
                1 => BeforeWork::Green,
                2 => BeforeWork::Unknown,
                _ => BeforeWork::Red,
            },
            reason: String::new(),
            never_ran: said == 3,
            duration: Millis(1),
            lacks: Vec::new(),
        }
    };
    (0..).zip(items(plan)).map(seen).collect()
}

/// A file of this size, by whose mark its content is told apart; without a size it is not there.
fn seen(path: &str, size: Option<u64>, mark: u64) -> FileFact {
    FileFact {
        path: path.to_owned(),
        size,
        digest: size.map(|_| Digest::of(&mark.to_le_bytes())),
        obstacle: None,
        stored: None,
    }
}
