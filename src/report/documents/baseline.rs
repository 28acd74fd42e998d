//! `quorum.baseline/v1`: what the checks of a mission say before any work on it.

use schemars::JsonSchema;
use serde::Serialize;

use rules::{
    domain::{BeforeWork, OutcomeClass, TaskId},
    engine::State,
    judging::baseline_checks::{BaselineCheck, CheckPlace, is_wanted, items, wrongly_green},
    mission::model::{BeforeRule, Check},
    plan::Plan,
};

/// What the checks of a mission say before any work on it: `quorum plan --baseline`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.baseline/v1")]
pub struct BaselineDocument<'a> {
    /// The name of the mission.
    mission: &'a str,
    /// The tasks, in file order.
    tasks: Vec<LookedAt<'a>>,
    #[serde(skip)]
    class: OutcomeClass,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LookedAt<'a> {
    /// The title of the task.
    title: &'a str,
    /// The tasks, gates, checkpoints and delays before the task; while there are any, nobody can tell what its
    /// checks say.
    not_before: Vec<&'a str>,
    /// The checks of the task.
    checks: Vec<LookRow<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LookRow<'a> {
    /// The check, in a few words.
    label: String,
    /// What the mission declares that the check says before the work; `null` where it declares nothing.
    declared: Option<&'static str>,
    /// What the check says before the work; `null` where it was not looked at.
    before: Option<BeforeWork>,
    /// Why the check is red or unknown.
    reason: Option<&'a str>,
    /// The time that the check took, in milliseconds.
    duration_ms: Option<u64>,
}

/// The names of what comes before a task.
fn before(plan: &Plan, id: TaskId) -> Vec<&str> {
    let gates = plan.gates_before.of(id).iter().map(|gate| &*plan.gate(*gate).name);
    let holds = plan.barriers_before.of(id).iter();
    let holds = holds.map(|hold| &*plan.barrier(*hold).name);
    let tasks = plan.titles(plan.dependencies.of(id)).into_iter();
    tasks.chain(gates).chain(holds).collect()
}

/// The tasks that depend on nothing and whose checks are looked at before their work.
pub fn first_looked_at(plan: &Plan) -> Vec<TaskId> {
    let is_first = |id: &TaskId| before(plan, *id).is_empty() && is_wanted(plan, *id);
    plan.selected_ids().filter(is_first).collect()
}

impl<'a> BaselineDocument<'a> {
    /// Makes the document of what was seen of the tasks of a plan.
    pub fn of(plan: &'a Plan, seen: &'a State) -> Self {
        let mut document = Self { mission: &plan.name, tasks: Vec::new(), class: OutcomeClass::Ok };
        for id in plan.selected_ids() {
            let (items, not_before) = (items(plan.task(id)), before(plan, id));
            if not_before.is_empty() && is_wanted(plan, id) {
                document.weigh(&items, |item| seen.before(id, item).result);
            }
            let is_looked_at = not_before.is_empty();
            let checks = plan.task(id).checks();
            // People are told what workers are not.
            let label = |item: &BaselineCheck| match item.place {
                CheckPlace::Check(at) => checks.get(at as usize).map(Check::label),
                _ => None,
            };
            let row = |item| LookRow {
                label: label(item).unwrap_or_else(|| item.label.clone()),
                ..LookRow::of(item, is_looked_at.then_some((seen, id)))
            };
            document.tasks.push(LookedAt {
                title: plan.title(id),
                checks: items.iter().map(row).collect(),
                not_before,
            });
        }
        document
    }

    /// Whether what the mission says of these checks holds: what does not comes before what nobody could tell.
    fn weigh(&mut self, items: &[BaselineCheck], before: impl Fn(&BaselineCheck) -> BeforeWork) {
        let is_wrong = |item: &BaselineCheck| {
            item.declared == Some(BeforeRule::Green) && item.list.is_none() && before(item) == BeforeWork::Red
        };
        let is_open = |item: &BaselineCheck| {
            let is_written = item.is_to_be_red() || item.declared == Some(BeforeRule::Green);
            is_written && before(item) == BeforeWork::Unknown
        };
        if items.iter().any(is_wrong) || !wrongly_green(items, &before).is_empty() {
            self.class = OutcomeClass::BelowThreshold;
        } else if self.class == OutcomeClass::Ok && items.iter().any(is_open) {
            self.class = OutcomeClass::Indeterminate;
        }
    }

    /// The outcome that gives the exit code.
    pub fn class(&self) -> OutcomeClass {
        self.class
    }
}

impl<'a> LookRow<'a> {
    fn of(item: &BaselineCheck, seen: Option<(&'a State, TaskId)>) -> Self {
        let before = seen.map(|(state, id)| state.before(id, item));
        let duration = before.map(|before| before.duration.0).filter(|took| *took > 0);
        Self {
            label: item.label.clone(),
            declared: item.declared.map(BeforeRule::as_str),
            before: before.map(|before| before.result),
            reason: before.map(|before| before.reason).filter(|why| !why.is_empty()),
            duration_ms: duration,
        }
    }
}
