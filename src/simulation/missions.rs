//! Missions and options that change while a run goes on, as `runtime::Missions` and `runtime::recover` treat them.

use std::cell::RefCell;
use std::sync::Arc;

use rules::domain::{Digest, Millis};
use rules::engine::simulation::plan_of;
use rules::engine::simulation::random::Random;
use rules::engine::{Event, Fact, MissionChange, RunEvent, State, apply};
use rules::plan::{Plan, PlanStep, RunOptions, migrate_plan};

use super::reference_model::ReferenceModel;

/// The frozen missions of a run.
pub struct Missions {
    texts: Vec<String>,
    /// The steps that made the plan, the oldest first.
    steps: Vec<Step>,
    /// The options that the run started with.
    first: RunOptions,
    /// Plans that were made before: a history reads them over and over.
    known: RefCell<Vec<Known>>,
}

type Known = (Vec<Step>, RunOptions, Arc<Plan>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Mission(String),
    Changed(PlanStep),
}

impl Missions {
    pub fn new(text: String, first: &RunOptions) -> Self {
        Self {
            texts: vec![text.clone()],
            steps: vec![Step::Mission(text)],
            first: first.clone(),
            known: RefCell::default(),
        }
    }

    pub fn first_options(&self) -> &RunOptions {
        &self.first
    }

    /// The plan of the mission that holds, with these options.
    pub fn plan_with(&self, options: &RunOptions) -> Arc<Plan> {
        let mut known = self.known.borrow_mut();
        let found = known.iter().find(|(steps, with, _)| *steps == self.steps && with == options);
        if let Some((_, _, plan)) = found {
            return plan.clone();
        }
        let plan = plan_of_all(&self.steps, options);
        // Every task that comes makes another plan: only those that are asked for again are worth keeping.
        if !matches!(self.steps.last(), Some(Step::Changed(_))) {
            known.push((self.steps.clone(), options.clone(), plan.clone()));
        }
        plan
    }

    /// Follows what changes the plan.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Run(RunEvent::MissionChanged(change)) => {
                let text = self.texts[change.number as usize - 1].clone();
                self.steps.push(Step::Mission(text));
            }
            _ => self.steps.extend(event.plan_step().map(Step::Changed)),
        }
    }

    /// A person accepts another mission. `None` if the run would be left with nothing to do.
    pub fn change(&mut self, text: String, state: &State) -> Option<Fact> {
        let new = plan_of(&text, &state.options);
        new.selected_ids().next()?;
        let digest = |text: &str| Digest::of(text.as_bytes());
        let input = Fact::ChangeMission {
            number: u32::try_from(self.texts.len() + 1).unwrap(),
            from: digest(self.texts.last().unwrap()),
            to: digest(&text),
            mission: Some(new),
        };
        self.texts.push(text);
        Some(input)
    }

    /// Reads a journal anew. The state is that of recovery, which knows the options of the start alone until it has read
    /// everything; the reference model sees each record with the plan that held when it was decided.
    pub fn fold(&mut self, records: &mut [Vec<Event>]) -> (State, ReferenceModel) {
        let texts = std::mem::take(&mut self.texts);
        self.texts = vec![texts[0].clone()];
        self.steps.truncate(1);
        let plan = self.plan_with(&self.first);
        let mut state = State::new(plan.clone());
        let mut lived = state.clone();
        let mut model = ReferenceModel::new(&plan);
        for record in records {
            for event in record.iter_mut() {
                match event {
                    Event::Run(RunEvent::MissionChanged(change)) => {
                        self.follow(&texts, change);
                        change.mission = Some(plan_of(&texts[change.number as usize - 1], &self.first));
                    }
                    Event::Run(RunEvent::Resumed(resume)) => lived.plan = self.plan_with(&resume.options),
                    _ => {}
                }
            }
            model.take(&lived, record);
            for event in record.iter() {
                self.note(event);
                apply(&mut state, event);
                apply(&mut lived, event);
            }
        }
        let tasks = |state: &State| format!("{:?} {:?} {:?}", state.tasks, state.gates, state.sums.counts);
        assert_eq!(tasks(&state), tasks(&lived), "options change more than rules");
        state.plan = self.plan_with(&state.options);
        model.agrees_with(&state);
        (state, model)
    }

    /// The change is on record, so its mission was frozen before it.
    fn follow(&mut self, texts: &[String], change: &MissionChange) {
        let text = &texts[self.texts.len()];
        assert_eq!(
            (change.number as usize, change.mission_digest),
            (self.texts.len() + 1, Digest::of(text.as_bytes()))
        );
        self.texts.push(text.clone());
    }
}

fn plan_of_all(steps: &[Step], options: &RunOptions) -> Arc<Plan> {
    let mut plan: Option<Plan> = None;
    for step in steps {
        match step {
            Step::Mission(text) => {
                let next = Arc::unwrap_or_clone(plan_of(text, options));
                plan = Some(match &plan {
                    Some(before) => migrate_plan(before, next),
                    None => next,
                });
            }
            Step::Changed(step) => plan.as_mut().unwrap().follow(step),
        }
    }
    Arc::new(plan.unwrap())
}

/// Other options that a person may give on the command line of `resume`.
pub fn other_options(random: &mut Random, options: &mut RunOptions) {
    match random.below(6) {
        0 => options.strict = true,
        1 => options.fail_fast = true,
        2 => options.jobs = Some(1 + u32::try_from(random.below(4)).unwrap()),
        3 => options.max_attempts = Some(1 + u32::try_from(random.below(4)).unwrap()),
        4 => options.no_eval = true,
        _ => options.wait_approvals = Some(Millis(1 + random.next() % 2_000)),
    }
}
