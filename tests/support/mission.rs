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
    pub fn judge(mut self, name: &str, replies: &[&str]) -> Self {
        let replies = replies.iter().map(|reply| (*reply).to_owned()).collect();
        self.replies.push((name.to_owned(), replies));
        let script = json!(["/bin/sh", "@agents/judge.sh", name]);
        self.agent_with(name, json!({"run": script, "role": "reviewer"}))
    }

    /// A model, with more keys.
    pub fn model(self, name: &str, model: &Model, more: Value) -> Self {
        let mut keys = json!({"adapter": "openai", "model": "m", "baseUrl": model.base()});
        let more = more.as_object().expect("keys").clone();
        keys.as_object_mut().expect("they are keys").extend(more);
        self.agent_with(name, keys)
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

    /// A key of `settings`.
    pub fn setting(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.settings.insert(key.to_owned(), value.into());
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

    /// The mission as YAML, one line for each key, agent and task.
    fn yaml(&self) -> String {
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
        let workspace = Workspace::with(&self.yaml());
        for (name, replies) in &self.replies {
            workspace.judge(name, replies);
        }
        workspace
    }
}

impl Task {
    /// Any key.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
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
