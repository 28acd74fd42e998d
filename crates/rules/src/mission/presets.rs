//! The built-in presets, each a file of data; a `quorum.yaml` may have others, and others of the same names.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::file::keys::{Named, Value};
use super::model::{Agent, CommandLine, Loads, Preset};

/// The file of each preset, by the adapter's name.
const FILES: [(&str, &str); 8] = [
    ("acp", include_str!("presets/acp.yaml")),
    ("aider", include_str!("presets/aider.yaml")),
    ("claude", include_str!("presets/claude.yaml")),
    ("codex", include_str!("presets/codex.yaml")),
    ("gemini", include_str!("presets/gemini.yaml")),
    ("opencode", include_str!("presets/opencode.yaml")),
    ("pi", include_str!("presets/pi.yaml")),
    ("qwen", include_str!("presets/qwen.yaml")),
];

static BUILT_IN: LazyLock<BTreeMap<&str, Arc<Preset>>> = LazyLock::new(|| {
    let read = |text| Preset::of_text(text).expect("a test reads every built-in preset");
    FILES.map(|(name, text)| (name, Arc::new(read(text)))).into()
});

/// Gives each agent its preset: one of `own`, else the built-in one.
pub(super) fn assign(agents: &mut Named<Agent>, own: &Named<Preset>) {
    let own: BTreeMap<&str, Arc<Preset>> =
        own.0.iter().map(|(name, preset)| (&**name, Arc::new(preset.clone()))).collect();
    for (_, agent) in &mut agents.0 {
        let name = agent.adapter.as_str();
        agent.preset = own.get(name).or_else(|| BUILT_IN.get(name)).cloned();
    }
}

/// The preset that says what the program of an agent loads by itself: its own, else the built-in one of the same program.
pub fn program_of(agent: &Agent) -> Option<Arc<Preset>> {
    let own = agent.preset.as_ref().filter(|preset| preset.loads != Loads::default());
    let by_name = || {
        let word = match agent.run.as_ref()? {
            CommandLine::Argv(argv) => argv.first()?.as_str(),
            CommandLine::Shell(script) => script.split_whitespace().next()?,
        };
        let name = word.rsplit('/').next()?;
        let name = name.trim_end_matches("-acp").trim_end_matches("-agent");
        BUILT_IN.get(name).cloned()
    };
    own.cloned().or_else(by_name)
}

/// The built-in preset of this name.
#[cfg(any(test, feature = "testing"))]
pub fn preset_of(name: &str) -> Arc<Preset> {
    BUILT_IN[name].clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mission::model::Adapter;

    #[test]
    fn each_adapter_that_is_a_program_has_a_preset_and_each_preset_an_adapter() {
        for adapter in Adapter::all().filter(|adapter| adapter.has_ledger()) {
            let is_there = FILES.iter().any(|(name, _)| *name == adapter.as_str());
            assert!(is_there, "{}", adapter.as_str());
        }
        for (name, _) in FILES {
            assert!(Adapter::all().any(|adapter| adapter.as_str() == name), "{name}");
            assert!(!preset_of(name).argv.is_empty(), "{name}");
        }
    }
}
