//! Missions as values: agents, judges and tasks with their keys, written out as YAML. No test has to escape braces, to
//! indent a script, or to say more than what it is about.

use serde_json::{Map, Value, json};

use super::Workspace;
use super::model::Model;

/// A mission in the making. Its tasks are assigned to the agent that was named first, but where they say otherwise.
#[must_use]
pub struct Mission {
    /// The keys of the mission itself, in order, but for `agents`, `settings` and `tasks`.
    keys: Map<String, Value>,
    agents: Map<String, Value>,
    settings: Map<String, Value>,
    tasks: Vec<Value>,
    /// Scripted judges with their replies.
    replies: Vec<(String, Vec<String>)>,
}

/// A task in the making.
#[must_use]
pub struct Task(Map<String, Value>);

impl Mission {
    pub fn new() -> Self {
        Self {
            keys: Map::from_iter([("name".to_owned(), json!("mission"))]),
            agents: Map::new(),
            settings: Map::new(),
            tasks: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// The agent `worker`, which runs a script of the shell.
    pub fn worker(self, script: impl Into<String>) -> Self {
        self.agent("worker", script)
    }

    /// An agent that runs a script of the shell.
    pub fn agent(self, name: &str, script: impl Into<String>) -> Self {
        self.agent_with(name, json!({"run": script.into()}))
    }

    /// A reviewer that runs a script of the shell.
    pub fn reviewer(self, name: &str, script: impl Into<String>) -> Self {
        self.agent_with(name, json!({"run": script.into(), "role": "reviewer"}))
    }

    /// A worker that keeps each prompt it gets as FOLDER/prompt.ATTEMPT.TURN.
    pub fn keeps_prompts(self, name: &str, folder: &str) -> Self {
        self.agent_with(name, json!({"run": ["/bin/sh", "@agents/keep-prompt.sh", folder]}))
    }

    /// A reviewer with these replies: one a call, the last one for ever. See [`Workspace::judge`].
    pub fn judge(self, name: &str, replies: &[&str]) -> Self {
        self.answerer(name, replies).change_agent(name, json!({"role": "reviewer"}))
    }

    /// A model, with more keys.
    pub fn model(self, name: &str, model: &Model, more: impl Into<Keys>) -> Self {
        let mut keys = json!({"adapter": "openai", "model": "m", "baseUrl": model.base()});
        extend(keys.as_object_mut().expect("they are keys"), more);
        self.agent_with(name, keys)
    }

    /// A reviewer without the role, for whatever names it, with these replies as [`Self::judge`] has them.
    pub fn answerer(mut self, name: &str, replies: &[&str]) -> Self {
        let replies = replies.iter().map(|reply| (*reply).to_owned()).collect();
        self.replies.push((name.to_owned(), replies));
        self.agent_with(name, json!({"run": ["/bin/sh", "@agents/judge.sh", name]}))
    }

    /// A person, who is asked and does not work.
    pub fn person(self, name: &str) -> Self {
        self.agent_with(name, json!({"adapter": "human"}))
    }

    /// More keys of an agent that is there.
    pub fn change_agent(mut self, name: &str, more: impl Into<Keys>) -> Self {
        let agent = self.agents.get_mut(name).expect("it has this agent");
        extend(agent.as_object_mut().expect("they are keys"), more);
        self
    }

    /// There is no such agent.
    pub fn without_agent(mut self, name: &str) -> Self {
        self.agents.shift_remove(name);
        self
    }

    /// An agent with these keys.
    pub fn agent_with(mut self, name: &str, keys: Value) -> Self {
        self.agents.insert(name.to_owned(), keys);
        self
    }

    /// A key of the mission itself.
    pub fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// More keys of the mission itself, `settings` and `agents` among them.
    pub fn keys(mut self, more: impl Into<Keys>) -> Self {
        extend(&mut self.keys, more);
        for (key, place) in [("settings", &mut self.settings), ("agents", &mut self.agents)] {
            if let Some(more) = self.keys.shift_remove(key) {
                extend(place, more);
            }
        }
        self
    }

    /// A gate, with its rule: `"minScore: 80"`.
    pub fn gate<const N: usize, const M: usize>(
        mut self,
        name: &str,
        after: [&str; N],
        blocks: [&str; M],
        rule: impl Into<Keys>,
    ) -> Self {
        let after = after.as_slice();
        let mut gate = Map::from_iter([("name".to_owned(), json!(name))]);
        extend(&mut gate, json!({"afterTasks": after, "blocksTasks": blocks.as_slice()}));
        extend(&mut gate, rule);
        let gates = self.keys.entry("qualityGates").or_insert_with(|| json!([]));
        gates.as_array_mut().expect("it is a list").push(Value::Object(gate));
        self
    }

    /// A key of `settings`.
    pub fn setting(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.settings.insert(key.to_owned(), value.into());
        self
    }

    /// More keys of `settings`.
    pub fn settings(mut self, more: impl Into<Keys>) -> Self {
        extend(&mut self.settings, more);
        self
    }

    /// Tasks that have nothing but a title.
    pub fn tasks<const N: usize>(self, titles: [&str; N]) -> Self {
        let add = |mission: Self, title| mission.task(title, |task| task);
        titles.into_iter().fold(self, add)
    }

    /// A task with its keys.
    pub fn task(mut self, title: &str, keys: impl FnOnce(Task) -> Task) -> Self {
        let mut task = Task(Map::from_iter([("title".to_owned(), json!(title))]));
        if let Some(first) = self.agents.keys().next() {
            task = task.by(&first.clone());
        }
        self.tasks.push(Value::Object(keys(task).0));
        self
    }

    /// The task of this title is changed.
    pub fn change(mut self, title: &str, keys: impl FnOnce(Task) -> Task) -> Self {
        let found = self.tasks.iter_mut().find(|task| task["title"] == title).expect("it has this task");
        let Value::Object(task) = found.take() else { unreachable!("tasks are keys") };
        *found = Value::Object(keys(Task(task)).0);
        self
    }

    /// The mission as YAML, one line for each key, agent and task.
    pub fn yaml(&self) -> String {
        let line = |(key, value): (&String, &Value)| format!("{key}: {value}\n");
        let mut text: String = self.keys.iter().map(line).collect();
        if !self.settings.is_empty() {
            text += &format!("settings: {}\n", Value::Object(self.settings.clone()));
        }
        text += "agents:\n";
        let agents = self.agents.iter();
        text.extend(agents.map(|(name, keys)| format!("  {name}: {keys}\n")));
        text += "tasks:\n";
        text.extend(self.tasks.iter().map(|task| format!("  - {task}\n")));
        text
    }

    /// A workspace with the mission in `mission.yaml`, and with the replies of its judges.
    pub fn workspace(self) -> Workspace {
        Workspace::new().with_mission(self)
    }

    /// Writes the mission, and the replies of its judges.
    pub fn write(&self, workspace: &Workspace) {
        workspace.mission(&self.yaml());
        for (name, replies) in &self.replies {
            workspace.judge(name, replies);
        }
    }
}

/// Keys as a value, or as YAML in one line: `json!({"retries": 1})`, `"retries: 1, review: none"`.
pub struct Keys(Value);

impl Keys {
    pub fn value(self) -> Value {
        self.0
    }
}

impl From<Value> for Keys {
    fn from(keys: Value) -> Self {
        Self(keys)
    }
}

impl From<&Value> for Keys {
    fn from(keys: &Value) -> Self {
        Self(keys.clone())
    }
}

impl From<&str> for Keys {
    fn from(line: &str) -> Self {
        let line = line.trim().trim_matches(',');
        Self(serde_saphyr::from_str(&format!("{{{line}}}")).expect("it is YAML"))
    }
}

impl From<String> for Keys {
    fn from(line: String) -> Self {
        Self::from(line.as_str())
    }
}

impl From<&String> for Keys {
    fn from(line: &String) -> Self {
        Self::from(line.as_str())
    }
}

/// Adds keys to those that are there.
fn extend(keys: &mut Map<String, Value>, more: impl Into<Keys>) {
    let Value::Object(more) = more.into().0 else { panic!("these are no keys") };
    keys.extend(more);
}

impl Task {
    /// Any key.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// More keys.
    pub fn with(mut self, more: impl Into<Keys>) -> Self {
        extend(&mut self.0, more);
        self
    }

    fn add(mut self, key: &str, value: Value) -> Self {
        let list = self.0.entry(key).or_insert_with(|| json!([]));
        list.as_array_mut().expect("it is a list").push(value);
        self
    }

    /// Who does it.
    pub fn by(self, agent: &str) -> Self {
        self.set("assignTo", agent)
    }

    /// It has no such key; `without("assignTo")`: the mission names nobody for it.
    pub fn without(mut self, key: &str) -> Self {
        self.0.shift_remove(key);
        self
    }

    /// Judges score it in one dimension.
    pub fn scored<const N: usize>(self, reviewers: [&str; N], dimension: &str) -> Self {
        let reviewers = reviewers.as_slice();
        let dimensions = json!([{"name": dimension, "weight": 1}]);
        self.expects(json!({"type": "llm_review", "reviewers": reviewers, "dimensions": dimensions}))
    }

    /// More keys of its last expectation.
    pub fn change_expectation(mut self, more: impl Into<Keys>) -> Self {
        let list = self.0.get_mut("expectations").and_then(Value::as_array_mut);
        let last = list.and_then(|list| list.last_mut()?.as_object_mut());
        extend(last.expect("it has an expectation"), more);
        self
    }

    /// It depends on another task.
    pub fn needs(self, title: &str) -> Self {
        self.add("dependsOn", json!(title))
    }

    /// A command that must exit with 0.
    pub fn check(self, command: impl Into<String>) -> Self {
        self.expects(json!({"type": "test", "command": command.into()}))
    }

    /// An expectation.
    pub fn expects(self, expectation: Value) -> Self {
        self.add("expectations", expectation)
    }

    /// The files that it is about.
    pub fn files<const N: usize>(self, names: [&str; N]) -> Self {
        self.set("targetFiles", names)
    }

    /// How many attempts it has at most.
    pub fn attempts(self, most: u32) -> Self {
        self.set("maxAttempts", most)
    }

    /// Nobody reviews it.
    pub fn unreviewed(self) -> Self {
        self.set("review", "none")
    }

    /// A person must approve it before it begins.
    pub fn approved(self) -> Self {
        self.set("requiresApproval", true)
    }
}
