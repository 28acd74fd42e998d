//! One event of every variant, with everything that it can hold.

use rust_decimal::Decimal;

use crate::domain::{
    Addressed, Advice, AgentId, AskId, AttemptKind, Cause, CriterionGrade, Digest, DimensionScore, Edge,
    FailureClass, FailureMode, Finding, GateId, HoldId, Millis, OutcomeClass, Phase, Points, PriorAnswer,
    Probe, Purpose, QualityFlag, SeatPlace, Severity, Stage, Status, Step, TaskId, TurnId, Verdict,
    WaitingReason,
};
use crate::engine::{
    Call, CallId, Ceiling, CheckResult, DeadlineEvent, DeadlineStep, DeferralReason, Event, Exit,
    FailedOperation, FileFact, GateResult, Grounds, Notice, NoticeEvent, Operation, ProcessRef, ReplyRef,
    StageReport, StopCause, SupervisorRef, ToolCalls, ToolLedgerRef, Topic, TurnFiles, Usage, Used, Way,
};
use crate::engine::{JudgingPlace, VoidedStage};
use crate::mission::model::TaskType;
use crate::mission::{AddedTask, Addition, Origin, RunOptions, SubTask};
use crate::report::testing::{START, file, run_started};

pub(super) const TASK: TaskId = TaskId(0);
pub(super) fn turn() -> TurnId {
    TurnId {
        task: TASK,
        attempt: 1,
        turn: 1,
    }
}
const SCORE: Purpose = Purpose::Score(SeatPlace {
    attempt: 1,
    round: 1,
    seat: 0,
});
fn reviewer() -> AskId {
    AskId {
        task: TASK,
        number: 7,
        attempt_try: 1,
    }
}
pub(super) fn consult() -> AskId {
    AskId {
        task: TASK,
        number: 1,
        attempt_try: 1,
    }
}
pub(super) fn tool_ledger() -> ToolLedgerRef {
    ToolLedgerRef {
        file: Some(file()),
        calls: 3,
        failed: 1,
        requests: 2,
        unanswered: 1,
        asked_again: true,
    }
}
pub(super) fn advised(advice: Advice) -> Event {
    Event::AskReplied {
        id: consult(),
        purpose: Purpose::Resolve { dependency: TASK },
        agent: AgentId(1),
        reply: ReplyRef {
            file: file(),
            model: Some("m-1".to_owned()),
            usage: Usage::default(),
            tools: Some(Box::new(tool_ledger())),
            judgement: None,
        },
        advice,
    }
}
pub(super) fn report(stage: Stage, verdict: Verdict, cause: Option<Cause>) -> StageReport {
    StageReport::new(TASK, 1, stage, verdict, cause)
}
pub(super) fn run_samples() -> Vec<Event> {
    vec![
        Event::RunStarted(Box::new(run_started())),
        Event::RunResumed {
            options: Box::new(RunOptions::default()),
            supervisor: SupervisorRef::default(),
        },
        Event::RunMoved {
            from: "/home/ada/one".into(),
            to: "/home/ada/two".into(),
        },
        Event::Stopping {
            cause: StopCause::TimeLimit,
        },
        Event::StateForeign {
            what: "the supervisor of the run was killed".to_owned(),
        },
        Event::Warning {
            message: "mind the gap".to_owned(),
        },
        Event::Salvaged {
            by: "ada".to_owned(),
            line: 7,
            bytes: 420,
            records: 3,
            file: "journal.damaged-1.jsonl".to_owned(),
        },
        Event::GateEvaluated {
            gate: GateId(0),
            result: GateResult {
                passed: true,
                avg: Some(Points::whole(85)),
                reason: None,
            },
        },
        Event::GateEvaluated {
            gate: GateId(0),
            result: GateResult {
                passed: false,
                avg: None,
                reason: Some("failed: a".to_owned()),
            },
        },
        Event::Paused { by: "ada".to_owned() },
        Event::Waiting { until: START },
        Event::CommandTaken {
            id: "c-1".to_owned(),
            result: crate::engine::CommandResult::Applied,
            by: "ada".to_owned(),
        },
        Event::GateOverridden {
            gate: GateId(0),
            reason: "known".to_owned(),
            by: "ada".to_owned(),
        },
        Event::ThresholdFailed {
            points: Points::whole(55),
            threshold: Points::whole(60),
        },
        Event::DelegationRequested {
            task: TASK,
            sub_tasks: vec![SubTask {
                title: "handed down".to_owned(),
                description: None,
                assign_to: None,
                kind: TaskType::Other,
                depends_on: Vec::new(),
                priority: None,
                target_files: Vec::new(),
                acceptance: Vec::new(),
                verify: None,
            }],
        },
        Event::Probed {
            task: TASK,
            probes: vec![Probe {
                criterion: 1,
                text: "Is it short?".to_owned(),
            }],
        },
        Event::HandedOver {
            id: consult(),
            agent: AgentId(0),
            file: file(),
        },
        Event::FellBack {
            task: TASK,
            from: AgentId(0),
            to: AgentId(0),
            class: FailureClass::ProviderAuth,
            message: "401".to_owned(),
        },
        Event::EdgeTaken {
            task: TASK,
            edge: Edge::Fail,
            to: TASK,
            visit: 1,
            left: vec![TASK],
            stopped: vec![TASK],
            kept: vec![(TASK, 1)],
        },
        Event::DelegationRefused {
            task: TASK,
            title: "another".to_owned(),
            reason: "there is no agent \"x\"".to_owned(),
        },
        Event::TasksAdded(Box::new(Addition {
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
        })),
        Event::TasksWithdrawn {
            tasks: vec![TaskId(2)],
        },
        Event::AgentStale {
            turn: turn(),
            idle: Millis(300_000),
            killed: true,
        },
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
        Event::LimitReached {
            ceiling: Ceiling::UnknownCost(AgentId(0)),
        },
        Event::CallHeld {
            call: CallId {
                task: TASK,
                call: Call::Ask(7, 1),
            },
            agent: AgentId(0),
        },
        Event::CallReleased {
            call: CallId {
                task: TASK,
                call: Call::Turn(1, 2),
            },
        },
        Event::SessionLimit { until: START },
        Event::TaskDeferred {
            task: TASK,
            why: DeferralReason::Window,
            until: START.plus(Millis(60_000)),
            since: START,
            message: "your limit resets at 2pm".to_owned(),
            stage: None,
            step: None,
        },
        Event::TaskDeferred {
            task: TASK,
            why: DeferralReason::BackOff,
            until: START.plus(Millis(5_000)),
            since: START,
            message: String::new(),
            stage: None,
            step: None,
        },
        Event::TaskDeferred {
            task: TASK,
            why: DeferralReason::Slot,
            until: START,
            since: START,
            message: "its judging goes on once a slot is free".to_owned(),
            stage: Some(Stage::Outcome),
            step: None,
        },
        Event::TaskReleased { task: TASK },
        Event::BudgetClock {
            since: START,
            used: Millis(60_000),
            until: START.plus(Millis(60_000)),
        },
        Event::Superseded {
            task: TASK,
            by: TaskId(1),
        },
    ]
}
pub(super) fn turn_samples() -> Vec<Event> {
    vec![
        Event::AttemptPlanned {
            task: TASK,
            attempt: 1,
            kind: AttemptKind::Execute,
        },
        Event::TurnStarted {
            turn: turn(),
            prompt: Some(Digest::of(b"prompt")),
        },
        Event::AgentSpawned {
            turn: turn(),
            process: Some(ProcessRef {
                pid: 4242,
                start_time: 1,
            }),
        },
        Event::TurnRequestFailed {
            turn: turn(),
            class: FailureClass::RateLimited,
            message: "HTTP 429".to_owned(),
            not_before: START,
            of: 4,
        },
        Event::TurnFinished {
            turn: turn(),
            exit: Exit {
                code: None,
                signal: Some(15),
                failure: Some(FailureClass::Timeout),
                message: Some("killed after 30m".to_owned()),
                retry_after: Some(Millis(30_000)),
            },
            output: Some(file()),
            stderr: None,
            result: None,
            duration: Millis(1_800_001),
            usage: Usage {
                input_tokens: Some(10),
                output_tokens: None,
                cost: "0.0125".parse().ok(),
            },
            model: Some("m-1".to_owned()),
            files: Some(TurnFiles {
                protected: vec!["tests/a.rs was changed".to_owned()],
                changed: Some(1),
                written: Some(2),
                shared: true,
            }),
            tool_calls: Some(ToolCalls { calls: 3, writes: 1 }),
            tools: Some(Box::new(tool_ledger())),
            asked: None,
        },
        Event::ProtectionNoted {
            files: vec![("/w/judge.sh".to_owned(), None)],
        },
        Event::StageVoided(Box::new(VoidedStage {
            place: JudgingPlace::Check {
                task: TASK,
                attempt: 1,
                check: 0,
            },
            changed: vec!["tests/a.rs was changed".to_owned()],
            restored: Vec::new(),
            shared: true,
        })),
        Event::FilesNoted {
            turn: turn(),
            file: file(),
            shared: true,
        },
        Event::TurnLost { turn: turn() },
        Event::TurnAdopted { turn: turn() },
        Event::ScanRequested {
            task: TASK,
            then: crate::engine::AfterScan::Repeat,
        },
        Event::FilesChanged {
            task: TASK,
            paths: vec!["a.rs".to_owned()],
            files: Vec::new(),
        },
        Event::AcceptanceRecorded {
            task: TASK,
            files: vec![FileFact {
                path: "a.rs".to_owned(),
                size: Some(3),
                digest: None,
                obstacle: None,
            }],
            checks: vec![0, 1],
        },
        Event::AuditRequested { number: 1 },
        Event::Regressed {
            task: TASK,
            reason: "a.rs was removed after it was accepted".to_owned(),
        },
        Event::Audited {
            number: 1,
            checked: vec![TASK],
            files: vec![(
                TASK,
                vec![FileFact {
                    path: "a.rs".to_owned(),
                    size: Some(4),
                    digest: None,
                    obstacle: None,
                }],
            )],
        },
        Event::FilesScanned {
            task: TASK,
            files: vec![FileFact {
                path: "a.rs".to_owned(),
                size: Some(3),
                digest: None,
                obstacle: None,
            }],
            hollow: Some("it says nothing".to_owned()),
        },
        Event::FinishRequested {
            task: TASK,
            command: 0,
        },
        Event::FinishChecked {
            task: TASK,
            command: 0,
            result: CheckResult {
                passed: false,
                message: "exited 1".to_owned(),
                duration: Millis(3),
            },
        },
        Event::Nudged {
            task: TASK,
            compilation: true,
            others: false,
            missing: vec![Finding::new(Severity::High, "it does not compile")],
        },
        Event::CheckRequested { task: TASK, check: 0 },
        Event::CheckFinished {
            task: TASK,
            check: 0,
            result: CheckResult {
                passed: false,
                message: "exit 1".to_owned(),
                duration: Millis(12),
            },
        },
    ]
}
pub(super) fn review_samples() -> Vec<Event> {
    let replied = |advice| Event::AskReplied {
        id: reviewer(),
        purpose: SCORE,
        agent: AgentId(1),
        reply: ReplyRef {
            file: file(),
            model: Some("judge-1".to_owned()),
            usage: Usage::default(),
            tools: Some(Box::new(tool_ledger())),
            judgement: None,
        },
        advice,
    };
    let score = DimensionScore {
        dimension: "correctness".to_owned(),
        points: Points::from_score(Decimal::from(4)).unwrap(),
        reasoning: "sound".to_owned(),
    };
    vec![
        Event::AskRequested {
            id: reviewer(),
            purpose: SCORE,
            agent: crate::domain::AgentId(1),
            strict: Some("no SCORE line".to_owned()),
            not_before: Some(START),
        },
        replied(Advice::Scores {
            dimensions: vec![score.clone()],
            findings: vec![Finding::new(Severity::Low, "a typo")],
            prior: vec![PriorAnswer {
                point: 1,
                addressed: Addressed::Partly,
                note: "one is left".to_owned(),
            }],
        }),
        replied(Advice::Evaluation {
            points: Points::whole(72),
            reasoning: "fine".to_owned(),
            findings: Vec::new(),
            prior: Vec::new(),
        }),
        replied(Advice::Unreadable {
            why: "no SCORE line".to_owned(),
            excerpt: "I like it".to_owned(),
            grave: false,
        }),
        Event::AskFailed {
            id: reviewer(),
            purpose: SCORE,
            agent: AgentId(1),
            gave_up: true,
            class: FailureClass::ProviderAuth,
            message: "HTTP 401".to_owned(),
            used: Some(Box::new(Used {
                usage: Usage::default(),
                tools: tool_ledger(),
            })),
            until: None,
        },
        Event::AgentActivity {
            turn: turn(),
            summary: "2 of 3".to_owned(),
        },
        Event::AuthorityCues {
            turn: turn(),
            cues: 2,
            result: false,
        },
        Event::AuthorityCues {
            turn: turn(),
            cues: 1,
            result: true,
        },
        Event::DelegationDrift {
            task: TASK,
            stored: Digest::of(b"as it was"),
            now: Digest::of(b"as it is"),
        },
        Event::NoProgress { task: TASK, waves: 3 },
        Event::Escalated {
            turn: turn(),
            broken: crate::domain::BrokenAssumption {
                kind: crate::domain::Assumption::DependencyFailed,
                evidence: "dependency failed".to_owned(),
            },
        },
        Event::Question {
            task: TASK,
            question: "Which one?".to_owned(),
            detected: true,
            call: None,
        },
        Event::Answered {
            task: TASK,
            answer: "The second.".to_owned(),
            by: "ada".to_owned(),
            number: Some(1),
        },
        Event::DeadlockDetected {
            task: TASK,
            dependency: TaskId(1),
        },
        Event::ArtifactsRequested {
            task: TASK,
            dependency: TaskId(1),
        },
        Event::ArtifactsScanned {
            task: TASK,
            dependency: TaskId(1),
            files: vec![FileFact {
                path: "a".to_owned(),
                size: Some(3),
                digest: None,
                obstacle: None,
            }],
        },
        Event::DependencyResolved {
            task: TASK,
            dependency: TaskId(1),
            way: Way::Absorb,
            note: "do without it".to_owned(),
        },
        Event::AskRequested {
            id: consult(),
            purpose: Purpose::Resolve { dependency: TASK },
            agent: crate::domain::AgentId(1),
            strict: None,
            not_before: Some(START),
        },
        advised(Advice::Absorb {
            prompt: "do without it".to_owned(),
        }),
        advised(Advice::NoAnswer),
        advised(Advice::Unreadable {
            why: "the reply is empty".to_owned(),
            excerpt: String::new(),
            grave: true,
        }),
        Event::AskFailed {
            id: consult(),
            purpose: Purpose::Resolve { dependency: TASK },
            agent: AgentId(1),
            gave_up: true,
            class: FailureClass::ProviderAuth,
            message: "HTTP 401".to_owned(),
            used: None,
            until: Some(START),
        },
        Event::StageVerdict(Box::new(StageReport {
            points: Some(Points::whole(80)),
            dimensions: vec![score],
            ..report(Stage::Judge, Verdict::Pass, None)
        })),
        Event::EvalUnparsed { task: TASK },
        Event::GradingRequested {
            task: TASK,
            round: 1,
            unreviewed: false,
        },
        Event::GradingFailed {
            task: TASK,
            round: 1,
            message: "the work's output is lost".to_owned(),
        },
        Event::StepRequested {
            task: TASK,
            step: Step::RedTeam,
            round: 1,
            plain: false,
            grounds: Grounds::Reviewed,
        },
        Event::StepFailed {
            task: TASK,
            step: Step::RedTeam,
            round: 1,
            message: "its reply could not be read".to_owned(),
        },
        Event::StageVerdict(Box::new(StageReport {
            name: Some("licence".to_owned()),
            reason: Some("no licence".to_owned()),
            model: Some("judge-1".to_owned()),
            ..report(Stage::Stages, Verdict::Fail, Some(Cause::Stage))
        })),
        Event::StageVerdict(Box::new(StageReport {
            grades: vec![CriterionGrade {
                points: None,
                evidence: "no rule reads it".to_owned(),
            }],
            confidence: Some(Points::ZERO),
            ..report(Stage::Verification, Verdict::Refer, Some(Cause::Confidence))
        })),
        Event::ForceAccepted {
            task: TASK,
            points: Some(Points::whole(55)),
            message: "accepted below the quality bar after 2 attempts, score 55".to_owned(),
        },
    ]
}
pub(super) fn notice_samples() -> Vec<Event> {
    let notice = Notice {
        gate: Some(GateId(0)),
        points: Some(Points::whole(55)),
        text: "average score 55 is below 80".to_owned(),
        ..Notice::new(Topic::GateFailed, START)
    };
    let (channel, class, message) = ("ops", FailureClass::ProviderTransient, "HTTP 503 from hooks");
    let operation = Operation::Notify {
        number: 1,
        channel: channel.into(),
        notice: Box::new(notice.clone()),
    };
    let failed = |operation, id: &str| {
        NoticeEvent::Died(Box::new(FailedOperation {
            id: id.to_owned(),
            operation,
            class,
            error: message.to_owned(),
        }))
    };
    let judge = Operation::Judge {
        agent: AgentId(1),
        task: TASK,
        attempt: 1,
    };
    let events = [
        NoticeEvent::Requested {
            number: 1,
            channel: channel.into(),
            notice: Box::new(notice),
        },
        NoticeEvent::Retried {
            number: 1,
            channel: channel.into(),
            class,
            message: message.to_owned(),
            not_before: START,
        },
        NoticeEvent::Failed {
            number: 1,
            channel: channel.into(),
            class,
            message: message.to_owned(),
            down_until: Some(START),
        },
        failed(operation, "n1"),
        failed(judge, "j0.1.1"),
        NoticeEvent::Filed {
            ids: vec!["n1".to_owned(), "j0.1.1".to_owned()],
        },
        NoticeEvent::Sent {
            number: 2,
            channel: channel.into(),
        },
    ];
    events.map(|event| Event::Notice(Box::new(event))).into()
}
pub(super) fn task_samples() -> Vec<Event> {
    vec![
        Event::Transition {
            task: TASK,
            from: Status::Review,
            to: Status::Done,
            phase: Some(Phase::Review),
            mode: Some(FailureMode::Quality),
            flag: Some(QualityFlag::Clean),
            reason: Some("all of its keys".to_owned()),
        },
        Event::ApprovalRequested {
            task: TASK,
            number: 1,
            reason: WaitingReason::Refer,
            cause: Some(Cause::NoReviewer),
            stage: None,
            step: None,
            message: "nobody may review this work".to_owned(),
            gate: Some("deployments".to_owned()),
            expires: Some(START),
        },
        Event::ApproverAsked {
            task: TASK,
            number: 1,
            approver: 0,
        },
        Event::ApproverUndecided {
            task: TASK,
            number: 1,
            approver: 0,
            message: "it exited 3".to_owned(),
            again: Some(START),
        },
        Event::ApprovalTimedOut {
            task: TASK,
            number: 1,
        },
        Event::RetryBlocked {
            task: TASK,
            reason: "the last attempt failed (checks)".to_owned(),
        },
        Event::HoldReached {
            hold: HoldId(0),
            number: 1,
            until: None,
        },
        Event::HoldReached {
            hold: HoldId(1),
            number: 1,
            until: Some(START),
        },
        Event::HoldPassed {
            hold: HoldId(0),
            by: Some("ada".to_owned()),
        },
        Event::HoldPassed {
            hold: HoldId(1),
            by: None,
        },
        Event::HoldRejected {
            hold: HoldId(0),
            reason: "not this week".to_owned(),
            by: "ada".to_owned(),
        },
        Event::ApprovalResolved {
            task: TASK,
            number: 1,
            resolution: "approved".to_owned(),
            by: "ada".to_owned(),
        },
        Event::DependencyFailed {
            task: TaskId(1),
            dependency: TASK,
        },
        Event::RunFinished {
            outcome: OutcomeClass::TaskFailed,
            conditions: vec![OutcomeClass::TaskFailed, OutcomeClass::BelowThreshold],
            allowed: vec![OutcomeClass::BelowThreshold],
            origin: None,
        },
    ]
}
