//! Further stages and the red team: who judges, by what, and never the own work.

use std::collections::HashMap;
use std::slice::from_ref;

use super::{Names, quoted};
use crate::mission::{
    file::{
        codes::Code,
        violation::{Path, Violation, Violations},
    },
    model::{
        Adapter, BeforeRule, Expected, ExtraStage, Mission, OnMissing, Stakes, Task, TaskType, Vision,
        VisionKind,
    },
};

/// Pictures of one check.
const MOST_SCREENSHOTS: usize = 10;

pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    let mut checker = StageChecker { mission, names, problems };
    let all = &*mission.tasks;
    checker.stages(&mission.stages, (&[], all), || Path::of("stages"));
    if let Some(red_team) = &mission.red_team {
        let place = || Path::of("redTeam").key("agent");
        checker.agent(&red_team.agent, (false, all), place);
    }
    if let Some(vision) = &mission.vision {
        checker.vision(vision);
    }
    let looks = looks(mission);
    // A mission without stages must not pay for them.
    for (index, task) in mission.tasks.iter().enumerate() {
        let path = || Path::of("tasks").item(index).key("stages");
        if !task.stages.is_empty() {
            checker.stages(&task.stages, (&mission.stages, from_ref(task)), path);
        }
        if task.stages.is_empty() && mission.stages.is_empty() && looks.is_empty() {
            continue;
        }
        let Some(author) = mission.assignee(task) else {
            continue;
        };
        let stakes = task.stakes.unwrap_or_else(|| mission.stakes());
        for (key, agent, least) in &looks {
            if *agent == author && stakes >= *least && task.kind != TaskType::Verification {
                let (author, title) = (quoted(author), quoted(&task.title));
                checker.problems.refuse(
                    Code::OwnReviewer,
                    Path::of(key).key("agent"),
                    format!("the agent {author} would judge its own work on {title} by `{key}`"),
                    "name an agent that does none of the work that it looks at",
                );
            }
        }
        let own = (0..).zip(&task.stages).map(|(item, stage)| (path().item(item), stage));
        let of_all = (0..).zip(&mission.stages).filter(|_| task.kind != TaskType::Verification);
        let of_all = of_all.map(|(item, stage)| (Path::of("stages").item(item), stage));
        for (path, stage) in of_all.chain(own) {
            if stage.agent.as_deref() == Some(author) {
                checker.problems.refuse(
                    Code::OwnReviewer,
                    path.key("agent"),
                    format!(
                        "the agent {} would judge its own work on {} in the stage {}",
                        quoted(author),
                        quoted(&task.title),
                        quoted(&stage.name)
                    ),
                    "name another agent, or give the stage only to tasks of other agents",
                );
            }
        }
    }
}

/// The agents that look at every task, each with its key and with the least stakes of a task at which it does.
fn looks(mission: &Mission) -> Vec<(&'static str, &str, Stakes)> {
    let red_team = mission.red_team.iter().filter(|red_team| red_team.on_missing == OnMissing::Block);
    let red_team = red_team.map(|red_team| ("redTeam", &*red_team.agent, red_team.min_stakes()));
    let vision = mission.vision.iter().filter(|vision| vision.kind == VisionKind::LlmVision);
    let vision = vision.filter_map(|vision| Some(("vision", vision.agent.as_deref()?, Stakes::Low)));
    red_team.chain(vision).collect()
}

/// The agents that may be asked instead of one: those in its `fallback`, and their own fallbacks.
pub fn stand_ins<'m>(mission: &'m Mission, name: &'m str) -> Vec<&'m str> {
    let mut found = vec![name];
    let mut next = 0;
    while let Some(agent) = found.get(next).map(|name| mission.agents.get(name)) {
        let named = agent.into_iter().flat_map(|agent| &agent.fallback);
        for other in named {
            if !found.contains(&&**other) {
                found.push(other);
            }
        }
        next += 1;
    }
    found.split_off(1)
}

struct StageChecker<'a, 'm> {
    mission: &'m Mission,
    names: &'a Names<'m>,
    problems: &'a mut Violations,
}

impl StageChecker<'_, '_> {
    fn stages(
        &mut self,
        stages: &[ExtraStage],
        (before, about): (&[ExtraStage], &[Task]),
        path: impl Fn() -> Path,
    ) {
        let mut seen: HashMap<&str, ()> = before.iter().map(|stage| (&*stage.name, ())).collect();
        for (item, stage) in stages.iter().enumerate() {
            let at = |key: &'static str| path().item(item).key(key);
            let name = quoted(&stage.name);
            if !stage.name.is_empty() && seen.insert(&stage.name, ()).is_some() {
                self.problems.refuse(
                    Code::Repeated,
                    at("name"),
                    format!("two stages of a task are called {name}"),
                    "rename one of them",
                );
            }
            match (&stage.agent, &stage.command) {
                (None, None) => {
                    let message =
                        format!("the stage {name} says neither which agent judges nor by which command");
                    self.problems.push(
                        Violation::error(Code::MissingKey, path().item(item), message)
                            .help("add `agent: NAME` or `command: ...`")
                            .unless_wrong(path().item(item).key("agent")),
                    );
                }
                (Some(_), Some(_)) => {
                    self.problems.refuse(
                        Code::KeyDoesNotApply,
                        at("command"),
                        format!("the stage {name} has an agent and a command; only one can judge"),
                        "make two stages of it: they run one after the other",
                    );
                }
                (Some(agent), None) => self.agent(agent, (true, about), || at("agent")),
                (None, Some(_)) if stage.criteria.is_some() => {
                    self.problems.refuse(
                        Code::KeyDoesNotApply,
                        at("criteria"),
                        format!("`criteria` are for an agent, and the stage {name} has a command"),
                        "remove `criteria`",
                    );
                }
                (None, Some(_)) => {}
            }
            let wrong = match stage.before {
                Some(_) if stage.agent.is_some() => {
                    format!("`before` is for a command, and the stage {name} has an agent")
                }
                Some(BeforeRule::NewTests) => "`before: newTests` is for checks of type `test`".to_owned(),
                _ => continue,
            };
            self.problems.refuse(Code::KeyDoesNotApply, at("before"), wrong, "remove `before`");
        }
    }

    /// Checks the keys of `vision` against each other.
    fn vision(&mut self, vision: &Vision) {
        let at = |key: &'static str| Path::of("vision").key(key);
        let mut wrong = |key, code, message: String, help: &str| {
            let problem = Violation::error(code, at(key), message);
            self.problems.push(problem.help(help.to_owned()));
        };
        let looks = vision.kind == VisionKind::LlmVision;
        if vision.agent.is_some() && !looks {
            let message = format!("`kind: {}` asks no agent", vision.kind.as_str());
            wrong("agent", Code::KeyDoesNotApply, message, "remove `agent`, or write `kind: llm_vision`");
        }
        if vision.agent.is_none() && looks {
            let message = "`kind: llm_vision` needs an agent that looks".to_owned();
            wrong("agent", Code::MissingKey, message, "add `agent: NAME`, an agent with `vision: true`");
        }
        if vision.screenshots.len() > MOST_SCREENSHOTS {
            let message = format!("at most {MOST_SCREENSHOTS} screenshots are looked at");
            wrong("screenshots", Code::BadValue, message, "name those that matter most");
        }
        let has_colour = vision.expectations.iter().all(|expected| expected.color.is_some());
        if vision.kind == VisionKind::Heuristic && (vision.expectations.is_empty() || !has_colour) {
            let message =
                "the heuristic check looks at colours, and not every expectation has one".to_owned();
            let help = "write for example `{description: the header, color: \"#1a73e8\", region: {width: 800, height: 60}}`";
            wrong("expectations", Code::MissingKey, message, help);
        }
        let says_something = |expected: &Expected| expected.description.is_some() || expected.color.is_some();
        if looks && !vision.expectations.iter().all(says_something) {
            let message = "an expectation of the vision check does not say what must be seen".to_owned();
            let help = "give each a `description`, or a `color`";
            wrong("expectations", Code::MissingKey, message, help);
        }
        if looks && vision.tolerance.is_some() {
            let message =
                "`tolerance` is for colours that are measured, and `kind: llm_vision` measures none";
            let help = "remove `tolerance`, or write `kind: heuristic`";
            wrong("tolerance", Code::KeyDoesNotApply, message.to_owned(), help);
        }
        if let Some(name) = vision.agent.as_deref().filter(|_| looks) {
            self.onlooker(name);
        }
    }

    /// The agent of `vision`, and whoever would look instead, can see pictures.
    fn onlooker(&mut self, name: &str) {
        let at = || Path::of("vision").key("agent");
        let mission = self.mission;
        self.agent(name, (false, &mission.tasks), at);
        let is_blind = |name: &str| mission.agents.get(name).is_some_and(|agent| !agent.vision);
        if is_blind(name) {
            self.problems.refuse(
                Code::BadValue,
                at(),
                format!("the agent {} is not known to see pictures", quoted(name)),
                "name an agent whose model can look at pictures, and give it `vision: true`",
            );
        }
        for instead in stand_ins(mission, name).into_iter().filter(|name| is_blind(name)) {
            self.problems.refuse(Code::BadValue, at(), format!(
                "the agent {} would look instead of {}, and is not known to see pictures",
                quoted(instead),
                quoted(name)
            ), "give it `vision: true` if its model can look at pictures, or name an agent for `vision` whose \
                        `fallback` does");
        }
    }

    /// Checks that the agent exists, and that it can give the reply that is wanted.
    fn agent(&mut self, name: &str, (may_be_person, about): (bool, &[Task]), place: impl Fn() -> Path) {
        self.names.check_asked(name, &place, about, self.problems);
        let found = self.mission.agents.get(name);
        if found.is_some_and(|agent| agent.adapter == Adapter::Human && !may_be_person) {
            self.problems.refuse(
                Code::BadValue,
                place(),
                format!("the agent {} is a person, who is asked for a yes or no", quoted(name)),
                "name an agent that replies with findings; a person can judge as one of the `stages`",
            );
        }
    }
}
