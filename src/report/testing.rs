//! Scenes for tests: plans made by hand, and events made by the engine itself from scripted inputs.

use std::sync::Arc;

use rust_decimal::Decimal;

use rules::domain::{
    Addressed, AgentId, Answer, Bar, BarOrigin, BeforeWork, Digest, Dimension, DimensionScore, FailureClass,
    Millis, Points, PriorAnswer, RunId, TaskId, Timestamp,
};
use rules::engine::{
    AskFailure, AskReply, BaselineResult, CheckResult, Event, Exit, Fact, FileFact, FileRef, Job, JobEnd,
    Prompt, ReplyRef, RunStarted, State, StopCause, SupervisorRef, TurnEnd, TurnEvent, TurnUpdate, Usage,
    apply, decide,
};
use rules::judging::baseline_checks::items;
use rules::mission::model::{self, Adapter, Check, CommandCheck, Consensus, PanelMode, Review};
use rules::plan::{
    AgentPlan, GatePlan, Judge, Panel, PanelSeats, Part, Plan, Rules, RunOptions, StagePlan, TaskPlan,
    VerificationPlan,
};

use super::folds::view::RunView;
use super::progress::Observer;
use super::screens::style::{Style, TextLayout};

/// The moment 2026-11-21T21:59:00Z.
pub const START: Timestamp = Timestamp(1_795_298_340_000);

/// Columns, and whether there are colours and symbols: what every screen is shown in.
pub const SCREENS: [(&str, TextLayout); 4] = [
    ("80", screen(Some(80), false, true)),
    ("120", screen(Some(120), false, true)),
    ("80_color_ascii", screen(Some(80), true, false)),
    ("pipe_ascii", screen(None, false, false)),
];

const fn screen(width: Option<usize>, color: bool, unicode: bool) -> TextLayout {
    TextLayout { width, style: Style { color, unicode } }
}

/// Every line fits the screen, and holds no control characters but our own colours where there are any.
pub fn assert_fits(text: &str, screen: &TextLayout) {
    for line in text.split('\n') {
        let bare = anstream::adapter::strip_str(line).to_string();
        assert!(screen.style.color || line == bare, "{line:?}");
        assert!(!bare.contains(char::is_control) && !bare.contains("[31m"), "{line:?}");
        assert!(screen.style.unicode || bare.is_ascii(), "{line:?}");
        let width = super::screens::text::width(&bare);
        assert!(screen.width.is_none_or(|columns| width <= columns), "{width}: {line}");
    }
}

/// Builds a plan. Tasks and gates name others by position.
pub struct Mission {
    pub plan: Plan,
    dependencies: Vec<(u32, TaskId)>,
}

impl Mission {
    /// No tasks yet; three agents: `worker` (a command), `critic` and `lead` (able to judge).
    pub fn new(name: &str) -> Self {
        let agent = |name: &str, adapter: Adapter| AgentPlan {
            name: name.into(),
            removed: false,
            reports_to: None,
            spec: model::Agent {
                adapter: adapter.into(),
                input: model::Input::None,
                ..model::Agent::default()
            },
        };
        let agents = vec![
            agent("worker", Adapter::Command),
            agent("critic", Adapter::Openai),
            agent("lead", Adapter::Anthropic),
        ];
        let mut rules = Rules { concurrency: 4, workspace: "/site".into(), ..Rules::plain() };
        rules.settings.judge_breaker = 0;
        let plan = Plan::new(name.to_owned(), agents, Vec::new(), Vec::new(), &[], rules);
        Self { plan, dependencies: Vec::new() }
    }

    /// Adds a task of `worker` that is judged by evaluation.
    pub fn task(mut self, title: &str, depends_on: &[u32]) -> Self {
        let id = TaskId::from_index(self.plan.tasks.len());
        self.dependencies.extend(depends_on.iter().map(|on| (id.0, TaskId(*on))));
        self.plan.tasks.push(TaskPlan::plain(title, AgentId(0)));
        self
    }

    /// The last task is accepted by these criteria, which plain facts grade.
    pub fn accepted_by(mut self, criteria: &[&str]) -> Self {
        self.last().acceptance = criteria.iter().map(|criterion| Box::from(*criterion)).collect();
        self.last().declare(StagePlan::Verification(VerificationPlan {
            grader: None,
            decomposer: None,
            decomposer_barred: None,
            rubric: None,
            criteria: criteria.iter().map(|criterion| (*criterion).to_owned()).collect(),
            on_refer: rules::mission::model::OnRefer::Human,
            bar: Bar::default_bar(),
            min_confidence: Points::whole(70),
            before: None,
        }));
        self
    }

    /// The last task is judged by nobody.
    pub fn unreviewed(mut self) -> Self {
        self.last().review = Review::None;
        self
    }

    /// The last task is also held by one `test` check.
    pub fn check(mut self, command: &str) -> Self {
        let mut checks = self.last().checks().to_vec();
        checks.push(Check::Command {
            kind: CommandCheck::Test,
            command: command.to_owned(),
            timeout: Millis::from_secs(60),
            cwd: None,
            before: None,
            reruns: 0,
            hidden: false,
        });
        let others = self.last().pipeline.iter().filter(|stage| !matches!(stage, StagePlan::Checks(_)));
        let others: Vec<StagePlan> = others.cloned().collect();
        self.last().pipeline = [StagePlan::Checks(checks)].into_iter().chain(others).collect();
        self
    }

    /// The last task is judged by a panel of critic and lead on two dimensions, bar 3.5 of 5.
    pub fn panel(mut self) -> Self {
        let dimension = |name: &str, weight: i64| Dimension {
            name: name.to_owned(),
            weight: Decimal::new(weight, 2),
            description: None,
            rubric: Vec::new(),
        };
        self.last().declare(StagePlan::Judge(Judge::Panel(Panel {
            seats: Vec::new(),
            people: Vec::new(),
            judge_breaker: None,
            criteria: None,
            dimensions: vec![dimension("correctness", 75), dimension("style", 25)],
            bar: Bar { points: Points::whole(70), origin: BarOrigin::Mission },
            reviewers: PanelSeats::Named(vec![AgentId(1), AgentId(2)]),
            independence: rules::mission::model::Independence::Identity,
            consensus: Consensus::Median,
            mode: PanelMode::Parallel,
            names_bar: true,
            calibrated: None,
            refer_below: None,
            verify_prior_feedback: true,
        })));
        self
    }

    /// The last task may be tried so often.
    pub fn attempts(mut self, max: u32) -> Self {
        self.last().limits.max_attempts = Some(max);
        self
    }

    /// The last task must produce this file.
    pub fn target(mut self, path: &str) -> Self {
        self.last().target_files.push(path.into());
        self
    }

    /// Adds a gate behind `after` and before `blocks`.
    pub fn gate(mut self, name: &str, after: &[u32], blocks: &[u32], min_score: Option<u8>) -> Self {
        Arc::make_mut(&mut self.plan.gates).push(GatePlan {
            name: name.into(),
            part: Part::Selected,
            after: after.iter().copied().map(TaskId).collect(),
            blocks: blocks.iter().copied().map(TaskId).collect(),
            min_score: min_score.map(Points::whole),
            require_all_passed: true,
            accept_below_threshold: false,
            halt_on_fail: false,
            notify: None,
        });
        self
    }

    fn last(&mut self) -> &mut TaskPlan {
        let last = self.plan.tasks.len() - 1;
        &mut self.plan.tasks[last]
    }

    /// Makes the plan with its edges.
    pub fn build(self) -> Arc<Plan> {
        let Plan { name, agents, tasks, gates, rules, .. } = self.plan;
        Arc::new(Plan::new(
            name,
            agents.to_vec(),
            tasks.iter().cloned().collect(),
            gates.to_vec(),
            &self.dependencies,
            rules,
        ))
    }
}

/// One decision, as the journal would hold it.
pub struct Recorded {
    pub seq: u64,
    pub at: Timestamp,
    pub events: Vec<Event>,
}

/// A run under way: the engine's own decisions on scripted inputs, by a clock that only the test moves.
pub struct Scene<'o> {
    pub plan: Arc<Plan>,
    pub state: State,
    pub view: RunView,
    pub now: Timestamp,
    pub records: Vec<Recorded>,
    observers: Vec<&'o mut dyn Observer>,
    seq: u64,
}

impl<'o> Scene<'o> {
    /// A run of the mission that has started, watched by nobody.
    pub fn start(mission: Mission) -> Self {
        Self::watched(mission, Vec::new())
    }

    /// A run of the mission that has started, watched by these.
    pub fn watched(mission: Mission, observers: Vec<&'o mut dyn Observer>) -> Self {
        let plan = mission.build();
        let mut scene = Self {
            state: State::new(plan.clone()),
            view: RunView::new(&plan),
            plan,
            now: START,
            records: Vec::new(),
            observers,
            seq: 0,
        };
        for observer in &mut scene.observers {
            observer.on_start(&scene.state);
        }
        scene.input(&Fact::Start(Box::new(run_started())));
        scene.advance();
        scene
    }

    /// Lets `seconds` pass.
    pub fn after(&mut self, seconds: u64) -> &mut Self {
        self.now = self.now.plus(Millis::from_secs(seconds));
        self
    }

    /// The engine decides on an input.
    pub fn input(&mut self, input: &Fact) {
        let events = decide(&self.state, input, self.now);
        self.commit(events);
    }

    /// Events happen, whoever decided them.
    pub fn commit(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let (seq, at) = (self.seq, self.now);
        for (seq, event) in (seq..).zip(&events) {
            apply(&mut self.state, event);
            self.view.apply(&self.plan, seq, at, event);
        }
        self.seq += events.len() as u64;
        for observer in &mut self.observers {
            observer.on_events(&self.state, seq, at, &events);
        }
        self.records.push(Recorded { seq, at, events });
    }

    /// The engine does what is due, until nothing is.
    pub fn advance(&mut self) {
        let mut seen = usize::MAX;
        while seen != self.records.len() {
            seen = self.records.len();
            self.input(&Fact::Advance);
            self.look_before();
            let noted = self.plan.every_task_id().filter(|id| self.state.must_note(*id));
            for task in noted.collect::<Vec<_>>() {
                self.prompted(task.0);
            }
        }
    }

    /// Every check failed before the work.
    fn look_before(&mut self) {
        let looked = self.plan.every_task_id();
        let looked: Vec<TaskId> = looked.filter(|id| self.state.task(*id).is_looked_at_before()).collect();
        for task in looked {
            let seen = items(self.plan.task(task)).into_iter().map(|item| BaselineResult {
                key: item.key,
                before: BeforeWork::Red,
                reason: String::new(),
                never_ran: false,
                duration: Millis(100),
                lacks: Vec::new(),
            });
            let (on, checks) = (None, seen.collect());
            self.input(&Fact::JobEnded {
                turn: self.state.current_turn(task),
                job: Job::Baseline,
                end: JobEnd::Baseline { on, checks },
            });
        }
    }

    /// A minute has passed.
    pub fn heartbeat(&mut self) {
        for observer in &mut self.observers {
            observer.on_heartbeat(&self.state, self.now);
        }
    }

    /// The session is over.
    pub fn end(mut self) -> Self {
        for observer in &mut self.observers {
            observer.on_end(&self.state);
        }
        self.observers.clear();
        self
    }

    /// The task's agent is at work.
    pub fn spawned(&mut self, task: u32) -> &mut Self {
        let turn = self.state.current_turn(TaskId(task));
        self.input(&Fact::TurnProgress(turn, TurnUpdate::Spawned { process: None }));
        self
    }

    /// The task's agent finishes as it should.
    pub fn works(&mut self, task: u32) -> &mut Self {
        self.spawned(task).ends(task, Exit::default())
    }

    /// The task's agent fails.
    pub fn fails(&mut self, task: u32, class: FailureClass, message: &str) -> &mut Self {
        let exit = Exit {
            code: Some(1),
            signal: None,
            failure: Some(class),
            message: Some(message.to_owned()),
            retry_after: None,
        };
        self.spawned(task).ends(task, exit)
    }

    fn ends(&mut self, task: u32, exit: Exit) -> &mut Self {
        self.input(&Fact::TurnEnded(Box::new(TurnEnd {
            exit,
            output: Some(file()),
            duration: Millis(2_500),
            // Scenes know no connections that time out.
            killed: true,
            ..TurnEnd::clean(self.state.current_turn(TaskId(task)))
        })));
        self.advance();
        // Prompts are written as soon as they are asked for.
        self.prompted(task);
        self
    }

    /// The prompt of a fix or retry is ready; does nothing where none is asked for.
    pub fn prompted(&mut self, task: u32) {
        let current = self.state.current_turn(TaskId(task));
        let turn = rules::domain::TurnId { turn: current.turn + 1, ..current };
        if self.state.waits_for_turn(turn) && self.state.must_note(turn.task) {
            self.input(&Fact::FilesNoted {
                turn,
                starts: 0,
                shared: false,
                result: Ok(FileRef { length: 2, digest: Digest::of(b"{}") }),
            });
        }
        self.input(&Fact::PromptReady(Prompt { turn, digest: None, cues: 0 }));
    }

    /// A check of the task comes back.
    pub fn checked(&mut self, task: u32, check: u32, passed: bool, message: &str) -> &mut Self {
        self.input(&Fact::JobEnded {
            turn: self.state.current_turn(TaskId(task)),
            job: Job::Check(check),
            end: JobEnd::Checked(CheckResult {
                passed,
                message: message.to_owned(),
                duration: Millis(300),
                reruns: 0,
            }),
        });
        self.settled(task)
    }

    /// The task's files were looked at; `None` is missing.
    pub fn scanned(&mut self, task: u32, path: &str, size: Option<u64>) -> &mut Self {
        let scan = self.state.task(TaskId(task)).jobs().next();
        let file = FileFact { path: path.to_owned(), size, digest: None, obstacle: None, stored: None };
        self.input(&Fact::JobEnded {
            turn: self.state.current_turn(TaskId(task)),
            job: scan.expect("it was asked for"),
            end: JobEnd::Seen { files: vec![file], hollow: None },
        });
        self.settled(task)
    }

    /// The reviewer of an evaluation gives so many points.
    pub fn evaluated(&mut self, task: u32, points: u8, reasoning: &str) -> &mut Self {
        self.replied(
            task,
            0,
            Answer::Evaluation {
                points: Points::whole(points),
                reasoning: reasoning.to_owned(),
                findings: Vec::new(),
                prior: Vec::new(),
            },
        )
    }

    /// A seat of the panel gives a score from 1 to 5 for each dimension.
    pub fn scored(&mut self, task: u32, seat: usize, correctness: u8, style: u8) -> &mut Self {
        let score = |dimension: &str, score: u8| DimensionScore {
            dimension: dimension.to_owned(),
            points: Points::from_score(score.into()).expect("tests score from 1 to 5"),
            reasoning: format!("{dimension} {score} says seat {seat}"),
        };
        let dimensions = vec![score("correctness", correctness), score("style", style)];
        self.replied(
            task,
            seat,
            Answer::Scores { scores: dimensions, findings: Vec::new(), prior: Vec::new() },
        )
    }

    /// A seat's reply cannot be read.
    pub fn unreadable(&mut self, task: u32, seat: usize) -> &mut Self {
        self.replied(
            task,
            seat,
            Answer::Unreadable {
                why: "no SCORE line".to_owned(),
                excerpt: "I like it".to_owned(),
                grave: false,
            },
        )
    }

    fn replied(&mut self, task: u32, seat: usize, mut answer: Answer) -> &mut Self {
        let asked = self.seat(task, seat);
        let id = TaskId(task);
        let points = rules::engine::prior_points(&self.state.plan, id, self.state.task(id)).len();
        if let Answer::Scores { prior, .. } | Answer::Evaluation { prior, .. } = &mut answer {
            let answer = |point| PriorAnswer { id: point, addressed: Addressed::Yes, note: String::new() };
            *prior = (1..=u32::try_from(points).expect("tests find few")).map(answer).collect();
        }
        self.input(&Fact::AskReplied(AskReply {
            id: asked.id,
            purpose: asked.purpose,
            agent: asked.agent,
            reply: ReplyRef {
                reply: file(),
                model: Some("judge-1".to_owned()),
                usage: Usage { input_tokens: Some(1000), output_tokens: Some(50), cost: None },
                tools: None,
                judgement: None,
            },
            answer,
        }));
        self.settled(task)
    }

    /// A seat cannot be asked.
    pub fn unreachable(&mut self, task: u32, seat: usize, class: FailureClass) -> &mut Self {
        let id = self.seat(task, seat).id;
        self.input(&Fact::AskFailed(Box::new(AskFailure {
            id,
            class,
            message: "HTTP 401".to_owned(),
            retry_after: None,
            jitter: 0,
            used: None,
            ours: false,
            never_began: false,
        })));
        self.settled(task)
    }

    /// The session is told to stop, and what ran is lost.
    pub fn stopped(&mut self, cause: StopCause) -> &mut Self {
        self.input(&Fact::Stop(cause));
        for task in self.plan.every_task_id() {
            if self.state.task(task).work.turn.is_some() {
                self.commit(vec![Event::Turn(self.state.current_turn(task), TurnEvent::Lost)]);
            }
        }
        self.advance();
        self
    }

    fn seat(&self, task: u32, seat: usize) -> rules::engine::Ask {
        let seat = u32::try_from(seat).expect("a panel is small");
        let asked = self.state.task(TaskId(task)).ask_of_seat(seat);
        asked.expect("the seat was asked").clone()
    }

    fn settled(&mut self, task: u32) -> &mut Self {
        self.advance();
        self.prompted(task);
        self
    }
}

/// The run of every scene.
pub fn run_id() -> RunId {
    RunId::new("20261121-215900-ab12").expect("it is one")
}

/// The first event of every scene.
pub fn run_started() -> RunStarted {
    RunStarted {
        format: rules::engine::FORMAT,
        rules: rules::engine::RULES,
        version: "0.1.0".to_owned(),
        run_id: run_id(),
        mission_digest: Digest::of(b"mission"),
        mission_path: Some("/home/ada/mission.yaml".into()),
        options: RunOptions::default(),
        supervisor: SupervisorRef::default(),
        origin: None,
    }
}

/// A file that nobody opens.
pub fn file() -> FileRef {
    FileRef { length: 7, digest: Digest::of(b"content") }
}

/// One run that has everything a reader can meet: clean, reworked, below the bar, unreviewed, failed, skipped, parked,
/// a passed gate, a failed gate and a warning. Titles are hostile on purpose.
pub fn eventful() -> Mission {
    let mut mission = Mission::new("release 2.0")
        .task("design", &[])
        .panel()
        .task("implement-api", &[0])
        .check("cargo test")
        .panel()
        .task("write the manual\n\u{1b}[31mquickly", &[])
        .task("translate", &[])
        .unreviewed()
        .task("benchmark on a machine with a rather long name that will not fit", &[])
        .unreviewed()
        .attempts(1)
        .task("publish numbers", &[4])
        .task("audit", &[])
        .panel()
        .task("announce", &[2])
        .gate("design-done", &[0], &[1], Some(60))
        .gate("release gate", &[1, 2], &[7], None);
    mission.plan.rules.concurrency = 8;
    mission.plan.rules.quality_threshold = Some(Points::whole(60));
    mission
}

/// Plays [`eventful`] to the end of its session.
pub fn play_eventful(scene: &mut Scene<'_>) {
    scene.input(&Fact::Warn("the workspace is shared by 4 tasks".to_owned()));
    scene.after(3).works(3);
    scene.after(2).works(0);
    scene.scored(0, 0, 5, 4).after(4).scored(0, 1, 4, 3);
    scene.after(1).fails(4, FailureClass::Timeout, "killed after 30m");
    scene.after(2).works(2);
    scene.unreadable(2, 0).evaluated(2, 40, "the examples do not run");
    scene.after(9).works(1);
    scene.checked(1, 0, false, "cargo test: 2 tests failed");
    scene.after(20).works(1);
    scene.checked(1, 0, true, "");
    scene.scored(1, 0, 4, 4).scored(1, 1, 4, 1);
    scene.after(5).works(6);
    for _ in 0..2 {
        scene.unreachable(6, 0, FailureClass::ProviderAuth);
        scene.unreachable(6, 1, FailureClass::ProviderAuth);
    }
    scene.after(60).heartbeat();
    scene.after(7).works(2).evaluated(2, 55, "better, but step 3 is wrong");
    scene.advance();
}
