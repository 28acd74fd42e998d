//! One event of every variant, with everything that it can hold.

use rust_decimal::Decimal;

use crate::report::testing::{START, file, run_started};
use rules::domain::{
    Addressed, AgentId, Answer, AskId, AttemptKind, BarrierId, Cause, CriterionGrade, Digest, DimensionScore,
    Edge, FailureClass, FailureMode, Finding, GateId, Millis, OutcomeClass, Phase, Points, PriorAnswer,
    Probe, Purpose, QualityFlag, SeatPlace, Severity, Stage, StageKey, Status, TaskId, TurnId, Verdict,
    WaitingReason,
};
use rules::engine::{
    AskEvent, BudgetEvent, Ceiling, CheckResult, Commit, Concern, DeadlineEvent, DeadlineStep,
    DeferralReason, Delivery, DeliveryFailure, DependencyStep, Event, Exit, FailedOperation, FileFact,
    GateEvent, GateResult, HoldEvent, Job, JobEnd, Merged, Notice, NoticeEvent, Operation, ProcessRef,
    ReplyRef, Resolution, RunEvent, RunWork, StageReport, StopCause, SupervisorRef, TaskEvent, ToolCalls,
    ToolLedgerRef, Topic, TurnEvent, TurnFiles, Usage, Used, Way, WorkEvent, WorkId,
};
use rules::engine::{AskReply, LaterSession, Prompt, TurnEnd, TurnUpdate};
use rules::engine::{Deferral, ProtectedFiles, TaskWork, VoidedStage};
use rules::mission::model::TaskType;
use rules::plan::{AddedTask, Addition, Origin, RunOptions, SubTask};

pub const TASK: TaskId = TaskId(0);
pub fn turn() -> TurnId {
    TurnId { task: TASK, attempt: 1, turn: 1 }
}
const SCORE: Purpose = Purpose::Score(SeatPlace { attempt: 1, round: 1, seat: 0 });
fn reviewer() -> AskId {
    AskId { task: TASK, number: 7, attempt_try: 1 }
}
pub fn ask() -> AskId {
    AskId { task: TASK, number: 1, attempt_try: 1 }
}
pub fn tool_ledger() -> ToolLedgerRef {
    ToolLedgerRef { ledger: Some(file()), calls: 3, failed: 1, requests: 2, unanswered: 1, asked_again: true }
}
pub fn answered(answer: Answer) -> Event {
    Event::Ask(
        ask(),
        AskEvent::Replied(AskReply {
            id: ask(),
            purpose: Purpose::Resolve { dependency: TASK },
            agent: AgentId(1),
            reply: ReplyRef {
                reply: file(),
                model: Some("m-1".to_owned()),
                usage: Usage::default(),
                tools: Some(Box::new(tool_ledger())),
                judgement: None,
            },
            answer,
        }),
    )
}
pub fn report(stage: Stage, verdict: Verdict, cause: Option<Cause>) -> StageReport {
    StageReport::new(TASK, 1, stage, verdict, cause)
}
pub fn run_samples() -> Vec<Event> {
    vec![
        Event::Run(RunEvent::Started(Box::new(run_started()))),
        Event::Run(RunEvent::Resumed(Box::new(LaterSession {
            delivers: false,
            options: RunOptions::default(),
            supervisor: SupervisorRef::default(),
            kept: Vec::new(),
            rules: 1,
            last: None,
        }))),
        Event::Run(RunEvent::Moved { from: "/home/ada/one".into(), to: "/home/ada/two".into() }),
        Event::Run(RunEvent::Stopping(StopCause::TimeLimit)),
        Event::Run(RunEvent::Warning(Concern::Foreign, "the supervisor of the run was killed".to_owned())),
        Event::Run(RunEvent::Warning(Concern::Unconfined, "this kernel has no user namespaces".to_owned())),
        Event::Run(RunEvent::Warning(Concern::Notice, "mind the gap".to_owned())),
        Event::Run(RunEvent::Salvaged(rules::engine::Salvaged {
            by: "ada".to_owned(),
            line: 7,
            lost_bytes: 420,
            lost_records: 3,
            file: "journal.damaged-1.jsonl".to_owned(),
        })),
        Event::Gate(
            GateId(0),
            GateEvent::Evaluated {
                result: GateResult { passed: true, avg_score: Some(Points::whole(85)), reason: None },
            },
        ),
        Event::Gate(
            GateId(0),
            GateEvent::Evaluated {
                result: GateResult { passed: false, avg_score: None, reason: Some("failed: a".to_owned()) },
            },
        ),
        Event::Run(RunEvent::Paused { by: "ada".to_owned(), for_good: false }),
        Event::Run(RunEvent::Paused { by: "ada".to_owned(), for_good: true }),
        Event::Run(RunEvent::SessionLimit { until: START, waits: true }),
        Event::Run(RunEvent::CommandTaken {
            id: "c-1".to_owned(),
            result: rules::engine::CommandResult::Applied,
            by: "ada".to_owned(),
        }),
        Event::Gate(GateId(0), GateEvent::Overridden { reason: "known".to_owned(), by: "ada".to_owned() }),
        Event::Run(RunEvent::ThresholdFailed { avg_score: Points::whole(55), threshold: Points::whole(60) }),
        Event::Task(
            TASK,
            TaskEvent::Probed { probes: vec![Probe { criterion: 1, probe: "Is it short?".to_owned() }] },
        ),
        Event::Ask(ask(), AskEvent::HandedOver { agent: AgentId(0), file: file() }),
        Event::Task(
            TASK,
            TaskEvent::FellBack {
                from: AgentId(0),
                to: AgentId(0),
                class: FailureClass::ProviderAuth,
                message: "401".to_owned(),
                work: true,
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::EdgeTaken {
                edge: Edge::Fail,
                to: TASK,
                visit: 1,
                not_taken: vec![TASK],
                stopped: vec![TASK],
                kept: vec![(TASK, 1)],
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::DelegationRefused {
                refused: "another".to_owned(),
                reason: "there is no agent \"x\"".to_owned(),
            },
        ),
        Event::Run(RunEvent::TasksAdded(Box::new(Addition {
            origin: Origin::Delegated,
            source: Some(TASK),
            request: None,
            tasks: vec![AddedTask {
                id: TaskId(2),
                title: "handed down".into(),
                description: None,
                agent: AgentId(1),
                kind: TaskType::Other,
                needs: vec![TASK],
                priority: None,
                target_files: Vec::new(),
                acceptance: Vec::new(),
                verify: None,
                chain: None,
                awaited_by: Vec::new(),
            }],
        }))),
        Event::Run(RunEvent::TasksWithdrawn { tasks: vec![TaskId(2)] }),
        Event::Turn(turn(), TurnEvent::Progress(TurnUpdate::Stale { idle: Millis(300_000), killed: true })),
        Event::Deadline(Box::new(DeadlineEvent {
            step: DeadlineStep::Set,
            task: None,
            since: Some(START),
            due: START.plus(Millis(1000)),
            at: START,
        })),
        Event::Deadline(Box::new(DeadlineEvent {
            step: DeadlineStep::Warned,
            task: Some(TASK),
            since: Some(START),
            due: START.plus(Millis(1000)),
            at: START.plus(Millis(800)),
        })),
        Event::Budget(BudgetEvent::Exhausted { ceiling: Ceiling::UnknownCost(AgentId(0)) }),
        Event::Budget(BudgetEvent::Held {
            call: WorkId { task: TASK, work: TaskWork::Ask(7, 1) },
            agent: AgentId(0),
            released: false,
        }),
        Event::Budget(BudgetEvent::Held {
            call: WorkId { task: TASK, work: TaskWork::Turn(1, 2) },
            agent: AgentId(0),
            released: true,
        }),
        Event::Budget(BudgetEvent::Settled {
            call: WorkId { task: TASK, work: TaskWork::Ask(8, 1) },
            usage: Usage { cost: Some("0.11".parse().unwrap()), ..Usage::default() },
            requests: 0,
        }),
        Event::Run(RunEvent::SessionLimit { until: START, waits: false }),
        Event::Task(
            TASK,
            TaskEvent::Deferred {
                until: Some(Box::new(Deferral {
                    why: DeferralReason::Window,
                    until: START.plus(Millis(60_000)),
                    since: START,
                    message: "your limit resets at 2pm".to_owned(),
                    stage: None,
                })),
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::Deferred {
                until: Some(Box::new(Deferral {
                    why: DeferralReason::BackOff,
                    until: START.plus(Millis(5_000)),
                    since: START,
                    message: String::new(),
                    stage: None,
                })),
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::Deferred {
                until: Some(Box::new(Deferral {
                    why: DeferralReason::Slot,
                    until: START,
                    since: START,
                    message: "its judging goes on once a slot is free".to_owned(),
                    stage: Some(StageKey::OUTCOME),
                })),
            },
        ),
        Event::Task(TASK, TaskEvent::Deferred { until: None }),
        Event::Budget(BudgetEvent::Clock {
            since: START,
            used: Millis(60_000),
            until: START.plus(Millis(60_000)),
        }),
        Event::Task(TASK, TaskEvent::Superseded { by: TaskId(1) }),
    ]
}
pub fn turn_samples() -> Vec<Event> {
    vec![
        Event::Task(TASK, TaskEvent::AttemptPlanned { attempt: 1, kind: AttemptKind::Execute }),
        Event::Turn(
            turn(),
            TurnEvent::Started(Prompt { turn: turn(), digest: Some(Digest::of(b"prompt")), cues: 2 }),
        ),
        Event::Turn(
            turn(),
            TurnEvent::Progress(TurnUpdate::Spawned {
                process: Some(ProcessRef { pid: 4242, start_time: 1 }),
            }),
        ),
        Event::Turn(
            turn(),
            TurnEvent::RequestFailed {
                class: FailureClass::RateLimited,
                message: "HTTP 429".to_owned(),
                not_before: START,
                of: 4,
                never_began: false,
            },
        ),
        Event::Turn(
            turn(),
            TurnEvent::Finished(Box::new(TurnEnd {
                exit: Exit {
                    code: None,
                    signal: Some(15),
                    failure: Some(FailureClass::Timeout),
                    message: Some("killed after 30m".to_owned()),
                    retry_after: Some(Millis(30_000)),
                },
                output: Some(file()),
                duration: Millis(1_800_001),
                usage: Usage { input_tokens: Some(10), output_tokens: None, cost: "0.0125".parse().ok() },
                model: Some("m-1".to_owned()),
                files: Some(TurnFiles {
                    tests: None,
                    protected: vec!["tests/a.rs was changed".to_owned()],
                    changed: Some(1),
                    written: Some(2),
                    overlapped: true,
                    nothing_to_do: Some("it is there".into()),
                    commit: Some(Box::new(Commit {
                        id: "1f2e3d".into(),
                        files: 2,
                        insertions: 12,
                        deletions: 3,
                        paths: vec!["src/lib.rs".into(), "README.md".into()],
                        onto: "0a1b2c".into(),
                        left_out: Vec::new(),
                        removed: Vec::new(),
                    })),
                }),
                tool_calls: Some(ToolCalls { calls: 3, writes: 1 }),
                tools: Some(Box::new(tool_ledger())),
                ..TurnEnd::default()
            })),
        ),
        Event::Run(RunEvent::ProtectionNoted(ProtectedFiles {
            files: vec![("/w/judge.sh".to_owned(), None)],
            loaded: vec![("/w/CLAUDE.md".to_owned(), None)],
        })),
        Event::voided(VoidedStage {
            work: WorkId::job(turn(), Job::Check(0)),
            changed: vec!["tests/a.rs was changed".to_owned()],
            restored: Vec::new(),
            shared: true,
        }),
        Event::Turn(turn(), TurnEvent::FilesNoted { file: file(), shared: true }),
        Event::Turn(turn(), TurnEvent::Lost),
        Event::Turn(turn(), TurnEvent::Adopted),
        Event::Work(TASK, WorkEvent::Requested(scan())),
        Event::Task(TASK, TaskEvent::FilesChanged { paths: vec!["a.rs".to_owned()], files: Vec::new() }),
        Event::Task(
            TASK,
            TaskEvent::AcceptanceRecorded {
                files: vec![FileFact {
                    path: "a.rs".to_owned(),
                    size: Some(3),
                    digest: None,
                    obstacle: None,
                    stored: None,
                }],
                checks: vec![0, 1],
            },
        ),
        Event::Run(RunEvent::WorkRequested(RunWork::Audit { number: 1 })),
        Event::Run(RunEvent::WorkRequested(RunWork::Delivery { merge: true })),
        Event::Run(RunEvent::WorkDelivered(Delivery {
            commits: 2,
            waits: Some("refs/quorum/r1/main".to_owned()),
            why: Some("your branch has moved".to_owned()),
        })),
        Event::Task(
            TASK,
            TaskEvent::Regressed {
                reason: "a.rs was removed after it was accepted".to_owned(),
                files: vec![FileFact {
                    path: "a.rs".to_owned(),
                    size: Some(3),
                    digest: None,
                    obstacle: None,
                    stored: None,
                }],
                behind: vec![TaskId(1)],
                ahead_of: Vec::new(),
                judged_again: vec![TaskId(1)],
            },
        ),
        Event::Run(RunEvent::AuditFinished {
            number: 1,
            checked: vec![TASK],
            files: vec![(
                TASK,
                vec![FileFact {
                    path: "a.rs".to_owned(),
                    size: Some(4),
                    digest: None,
                    obstacle: None,
                    stored: None,
                }],
            )],
            record: None,
            rest: None,
        }),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: scan(),
                end: JobEnd::Seen {
                    files: vec![FileFact {
                        path: "a.rs".to_owned(),
                        size: Some(3),
                        digest: None,
                        obstacle: None,
                        stored: None,
                    }],
                    hollow: Some("it says nothing".to_owned()),
                },
            },
        ),
        Event::Work(TASK, WorkEvent::Requested(Job::Finish(0))),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: Job::Finish(0),
                end: JobEnd::Checked(CheckResult {
                    passed: false,
                    message: "exited 1".to_owned(),
                    duration: Millis(3),
                    reruns: 0,
                }),
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::Nudged {
                compilation: true,
                others: false,
                missing: vec![Finding::new(Severity::High, "it does not compile")],
            },
        ),
        Event::Work(TASK, WorkEvent::Requested(Job::Check(0))),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: Job::Check(0),
                end: JobEnd::Checked(CheckResult {
                    passed: false,
                    message: "exit 1".to_owned(),
                    duration: Millis(12),
                    reruns: 0,
                }),
            },
        ),
    ]
}
pub fn review_samples() -> Vec<Event> {
    let replied = |answer| {
        Event::Ask(
            reviewer(),
            AskEvent::Replied(AskReply {
                id: reviewer(),
                purpose: SCORE,
                agent: AgentId(1),
                reply: ReplyRef {
                    reply: file(),
                    model: Some("judge-1".to_owned()),
                    usage: Usage::default(),
                    tools: Some(Box::new(tool_ledger())),
                    judgement: None,
                },
                answer,
            }),
        )
    };
    let score = DimensionScore {
        dimension: "correctness".to_owned(),
        points: Points::from_score(Decimal::from(4)).unwrap(),
        reasoning: "sound".to_owned(),
    };
    vec![
        Event::Ask(
            reviewer(),
            AskEvent::Requested {
                purpose: SCORE,
                agent: rules::domain::AgentId(1),
                strict: Some("no SCORE line".to_owned()),
                not_before: Some(START),
            },
        ),
        replied(Answer::Scores {
            scores: vec![score.clone()],
            findings: vec![Finding::new(Severity::Low, "a typo")],
            prior: vec![PriorAnswer { id: 1, addressed: Addressed::Partly, note: "one is left".to_owned() }],
        }),
        replied(Answer::Evaluation {
            points: Points::whole(72),
            reasoning: "fine".to_owned(),
            findings: Vec::new(),
            prior: Vec::new(),
        }),
        replied(Answer::Unreadable {
            why: "no SCORE line".to_owned(),
            excerpt: "I like it".to_owned(),
            grave: false,
        }),
        Event::Ask(
            reviewer(),
            AskEvent::Failed {
                purpose: SCORE,
                agent: AgentId(1),
                gave_up: true,
                class: FailureClass::ProviderAuth,
                message: "HTTP 401".to_owned(),
                used: Some(Box::new(Used { usage: Usage::default(), tools: tool_ledger() })),
                until: None,
                never_began: false,
            },
        ),
        Event::Turn(turn(), TurnEvent::Progress(TurnUpdate::Activity { summary: "2 of 3".to_owned() })),
        Event::Task(
            TASK,
            TaskEvent::DelegationDrift {
                stored_hash: Digest::of(b"as it was"),
                chain_hash: Digest::of(b"as it is"),
            },
        ),
        Event::Turn(
            turn(),
            TurnEvent::Finished(Box::new(TurnEnd {
                delegate: vec![SubTask {
                    title: "handed down".to_owned(),
                    description: None,
                    assign_to: None,
                    kind: TaskType::Other,
                    depends_on: Vec::new(),
                    priority: None,
                    target_files: Vec::new(),
                    protected: None,
                    acceptance: Vec::new(),
                    verify: None,
                }],
                cues: 1,
                broken: Some(rules::domain::BrokenAssumption {
                    kind: rules::domain::Assumption::DependencyFailed,
                    evidence: "dependency failed".to_owned(),
                }),
                ..TurnEnd::default()
            })),
        ),
        Event::Task(
            TASK,
            TaskEvent::Question { question: "Which one?".to_owned(), detected: true, call: None },
        ),
        Event::Task(
            TASK,
            TaskEvent::Answered { answer: "The second.".to_owned(), by: "ada".to_owned(), number: Some(1) },
        ),
        Event::Task(
            TASK,
            TaskEvent::DependencyFailed {
                dependency: TaskId(1),
                step: DependencyStep::Detected,
                note: String::new(),
            },
        ),
        Event::Work(TASK, WorkEvent::Requested(Job::Artifacts(TaskId(1)))),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: Job::Artifacts(TaskId(1)),
                end: JobEnd::Seen {
                    files: vec![FileFact {
                        path: "a".to_owned(),
                        size: Some(3),
                        digest: None,
                        obstacle: None,
                        stored: None,
                    }],
                    hollow: None,
                },
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::DependencyFailed {
                dependency: TaskId(1),
                step: DependencyStep::Resolved(Way::Absorb),
                note: "do without it".to_owned(),
            },
        ),
        Event::Ask(
            ask(),
            AskEvent::Requested {
                purpose: Purpose::Resolve { dependency: TASK },
                agent: rules::domain::AgentId(1),
                strict: None,
                not_before: Some(START),
            },
        ),
        answered(Answer::Absorb { prompt: "do without it".to_owned() }),
        answered(Answer::DoesNotKnow),
        answered(Answer::Unreadable {
            why: "the reply is empty".to_owned(),
            excerpt: String::new(),
            grave: true,
        }),
        Event::Ask(
            ask(),
            AskEvent::Failed {
                purpose: Purpose::Resolve { dependency: TASK },
                agent: AgentId(1),
                gave_up: true,
                class: FailureClass::ProviderAuth,
                message: "HTTP 401".to_owned(),
                used: None,
                until: Some(START),
                never_began: false,
            },
        ),
        Event::verdict(StageReport {
            points: Some(Points::whole(80)),
            dimensions: vec![score],
            ..report(Stage::Judge, Verdict::Pass, None)
        }),
        Event::Task(TASK, TaskEvent::EvalUnparsed),
        Event::Work(TASK, WorkEvent::Requested(Job::Grade(1))),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: Job::Grade(1),
                end: JobEnd::Graded(Err("the work's output is lost".to_owned())),
            },
        ),
        Event::Work(TASK, WorkEvent::Requested(Job::Stage(StageKey::Own(0), 1))),
        Event::Task(
            TASK,
            TaskEvent::StageFailed {
                stage: StageKey::RED_TEAM,
                message: "its reply could not be read".to_owned(),
            },
        ),
        Event::verdict(StageReport {
            name: Some("licence".to_owned()),
            reason: Some("no licence".to_owned()),
            model: Some("judge-1".to_owned()),
            ..report(Stage::Stages, Verdict::Fail, Some(Cause::Stage))
        }),
        Event::verdict(StageReport {
            grades: vec![CriterionGrade { points: None, evidence: "no rule reads it".to_owned() }],
            confidence: Some(Points::ZERO),
            ..report(Stage::Verification, Verdict::Refer, Some(Cause::Confidence))
        }),
        Event::Task(
            TASK,
            TaskEvent::ForceAccepted {
                points: Some(Points::whole(55)),
                message: "accepted below the quality bar after 2 attempts, score 55".to_owned(),
            },
        ),
        Event::Task(
            TASK,
            TaskEvent::AcceptanceAnswered {
                by: "ada".to_owned(),
                reason: Some("not in this release".to_owned()),
            },
        ),
    ]
}
pub fn notice_samples() -> Vec<Event> {
    let notice = Notice {
        gate: Some(GateId(0)),
        points: Some(Points::whole(55)),
        text: "average score 55 is below 80".to_owned(),
        ..Notice::new(Topic::GateFailed, START)
    };
    let (channel, class, message) = ("ops", FailureClass::ProviderTransient, "HTTP 503 from hooks");
    let operation =
        Operation::Notify { number: 1, channel: channel.into(), notice: Box::new(notice.clone()) };
    let failed = |operation, id: &str| {
        NoticeEvent::Died(Box::new(FailedOperation {
            id: id.to_owned(),
            operation,
            class,
            error: message.to_owned(),
        }))
    };
    let judge = Operation::Judge { agent: AgentId(1), task: TASK, attempt: 1 };
    let events = [
        NoticeEvent::Requested { number: 1, channel: channel.into(), notice: Box::new(notice) },
        NoticeEvent::Tried {
            number: 1,
            channel: channel.into(),
            failure: Some(DeliveryFailure {
                class,
                message: message.to_owned(),
                again: Some(START),
                down_until: None,
            }),
        },
        NoticeEvent::Tried {
            number: 1,
            channel: channel.into(),
            failure: Some(DeliveryFailure {
                class,
                message: message.to_owned(),
                again: None,
                down_until: Some(START),
            }),
        },
        failed(operation, "n1"),
        failed(judge, "j0.1.1"),
        NoticeEvent::Filed(vec!["n1".to_owned(), "j0.1.1".to_owned()]),
        NoticeEvent::Tried { number: 2, channel: channel.into(), failure: None },
    ];
    events.map(|event| Event::Notice(Box::new(event))).into()
}
pub fn task_samples() -> Vec<Event> {
    vec![
        Event::Task(
            TASK,
            TaskEvent::Transition {
                from: Status::Review,
                to: Status::Done,
                phase: Some(Phase::Review),
                mode: Some(FailureMode::Quality),
                flag: Some(QualityFlag::Clean),
                reason: Some("all of its keys".to_owned()),
            },
        ),
        Event::Task(TASK, TaskEvent::MergeBegun { mark: None }),
        Event::Work(
            TASK,
            WorkEvent::Ended {
                job: Job::Merge(1),
                end: JobEnd::Merged(Merged::Conflict {
                    commit: Commit {
                        id: "2f2e3d".into(),
                        files: 1,
                        insertions: 4,
                        deletions: 0,
                        paths: vec!["src/lib.rs".into()],
                        onto: "0a1b2c".into(),
                        left_out: Vec::new(),
                        removed: Vec::new(),
                    },
                    files: vec!["src/lib.rs".to_owned()],
                    with: vec!["second".to_owned()],
                    unmarked: std::collections::BTreeMap::new(),
                }),
            },
        ),
        Event::Hold(
            TASK.into(),
            HoldEvent::Opened {
                number: 1,
                reason: WaitingReason::Refer,
                cause: Some(Cause::NoReviewer),
                stage: None,
                message: "nobody may review this work".to_owned(),
                gate: Some("deployments".to_owned()),
                expires: Some(START),
            },
        ),
        Event::Work(TASK, WorkEvent::Requested(Job::Approver { number: 1, approver: 0 })),
        Event::Hold(
            TASK.into(),
            HoldEvent::Undecided {
                number: 1,
                approver: 0,
                message: "it exited 3".to_owned(),
                again: Some(START),
            },
        ),
        Event::Hold(TASK.into(), HoldEvent::TimedOut { number: 1 }),
        Event::Hold(
            BarrierId(0).into(),
            HoldEvent::Opened {
                number: 1,
                reason: WaitingReason::Checkpoint,
                cause: None,
                stage: None,
                message: "look at the staging site".to_owned(),
                gate: None,
                expires: None,
            },
        ),
        Event::Hold(
            BarrierId(1).into(),
            HoldEvent::Opened {
                number: 1,
                reason: WaitingReason::Delay,
                cause: None,
                stage: None,
                message: "look at the staging site".to_owned(),
                gate: None,
                expires: Some(START),
            },
        ),
        Event::Hold(
            BarrierId(0).into(),
            HoldEvent::Closed {
                number: 1,
                resolution: Resolution::Approved,
                by: "ada".to_owned(),
                reason: None,
            },
        ),
        Event::Hold(
            BarrierId(1).into(),
            HoldEvent::Closed {
                number: 1,
                resolution: Resolution::TimedOut,
                by: "quorum".to_owned(),
                reason: None,
            },
        ),
        Event::Hold(
            BarrierId(0).into(),
            HoldEvent::Closed {
                number: 1,
                resolution: Resolution::Rejected,
                by: "ada".to_owned(),
                reason: Some("not this week".to_owned()),
            },
        ),
        Event::Hold(
            TASK.into(),
            HoldEvent::Closed {
                number: 1,
                resolution: Resolution::Approved,
                by: "ada".to_owned(),
                reason: None,
            },
        ),
        Event::Task(
            TaskId(1),
            TaskEvent::DependencyFailed {
                dependency: TASK,
                step: DependencyStep::Unresolvable(Some(3)),
                note: "dependency 'Build' failed; the orchestrator: nobody else can".to_owned(),
            },
        ),
        Event::Run(RunEvent::Finished {
            outcome: OutcomeClass::TaskFailed,
            conditions: vec![OutcomeClass::TaskFailed, OutcomeClass::BelowThreshold],
            allowed: vec![OutcomeClass::BelowThreshold],
            origin: None,
        }),
    ]
}

fn scan() -> Job {
    Job::Scan { number: 1, then: rules::engine::AfterScan::Repeat }
}
