//! The files of each template. Missions to learn from in `missions/` are templates too, so there is one of each.

use rules::mission::{FileKind, json_schema};

use super::InitTemplate;

/// A file to be written.
pub struct File {
    /// The path below the folder.
    pub path: &'static str,
    pub content: String,
    pub executable: bool,
}

/// The first line of a mission, which tells an editor its schema; that lies beside it, so that no network is
/// needed.
const MODELINE: &str = "# yaml-language-server: $schema=./mission.schema.json";
const SCHEMA: &str = "mission.schema.json";

/// A path and the text of a file.
type TemplateFile = (&'static str, &'static str);

const MINIMAL: [TemplateFile; 2] = [
    ("agents/writer.sh", include_str!("minimal/writer.sh")),
    ("agents/reviewer.sh", include_str!("minimal/reviewer.sh")),
];
const CODE_REVIEW: [TemplateFile; 4] = [
    ("code-review/collect.sh", include_str!("../../../../missions/code-review/collect.sh")),
    ("code-review/review.sh", include_str!("../../../../missions/code-review/review.sh")),
    ("code-review/judge.sh", include_str!("../../../../missions/code-review/judge.sh")),
    ("code-review/decide.sh", include_str!("../../../../missions/code-review/decide.sh")),
];
const CI: [TemplateFile; 3] = [
    ("ci/notes.sh", include_str!("../../../../missions/ci/notes.sh")),
    ("ci/judge.sh", include_str!("../../../../missions/ci/judge.sh")),
    ("ci/publish.sh", include_str!("../../../../missions/ci/publish.sh")),
];

/// The files of a template, the mission first.
pub fn files(template: InitTemplate) -> Vec<File> {
    let (mission, scripts): (&str, &[TemplateFile]) = match template {
        InitTemplate::Minimal => (include_str!("minimal/mission.yaml"), &MINIMAL),
        InitTemplate::AgentClis => (include_str!("agent-clis/mission.yaml"), &[]),
        InitTemplate::CodeReview => (include_str!("../../../../missions/code-review.yaml"), &CODE_REVIEW),
        InitTemplate::CiGithub | InitTemplate::CiGitlab => {
            (include_str!("../../../../missions/ci.yaml"), &CI)
        }
    };
    let pipeline: &[TemplateFile] = match template {
        InitTemplate::Minimal | InitTemplate::AgentClis | InitTemplate::CodeReview => &[],
        InitTemplate::CiGithub => &[(".github/workflows/quorum.yml", include_str!("pipelines/github.yml"))],
        InitTemplate::CiGitlab => &[
            (".gitlab-ci.yml", include_str!("pipelines/gitlab.yml")),
            (".gitlab/quorum.yml", include_str!("../../../../integrations/gitlab.yml")),
        ],
    };
    let plain = |path, content: String| File { path, content, executable: false };
    let script = |(path, text): &TemplateFile| File { path, content: (*text).to_owned(), executable: true };
    let mut files = vec![
        plain("mission.yaml", at_home(mission)),
        plain(SCHEMA, format!("{:#}\n", json_schema(FileKind::Mission))),
    ];
    files.extend(scripts.iter().map(script));
    files.extend(pipeline.iter().map(|(path, text)| plain(path, (*text).to_owned())));
    files
}

/// The files that tell agents how to use quorum: as a skill, and as a plug-in.
pub fn for_agents(skill: bool, plugin: bool) -> Vec<File> {
    const SKILL: &str = include_str!("skill/SKILL.md");
    let of_skill = [(".claude/skills/quorum/SKILL.md", SKILL), (".agents/skills/quorum/SKILL.md", SKILL)];
    let of_plugin = [
        (".claude-plugin/plugin.json", include_str!("skill/plugin.json")),
        (".mcp.json", include_str!("skill/mcp.json")),
        ("skills/quorum/SKILL.md", SKILL),
    ];
    let wanted = of_skill.iter().filter(|_| skill).chain(of_plugin.iter().filter(|_| plugin));
    let file = |(path, text): &TemplateFile| {
        let content = text.replace("VERSION", env!("CARGO_PKG_VERSION"));
        File { path, content, executable: false }
    };
    wanted.map(file).collect()
}

/// A mission of `missions/` as it stands in a project of its own: with the editor's line, the usual name, and a
/// workspace below its folder instead of this project's playground.
fn at_home(mission: &str) -> String {
    let mut text = format!("{MODELINE}\n");
    for line in mission.lines() {
        let line = match line {
            "workspace: ../playground/review" => "workspace: .review",
            "workspace: ../playground/pipeline" => "workspace: .pipeline",
            other => other,
        };
        let line = line
            .replace("missions/code-review.yaml", "mission.yaml")
            .replace("missions/ci.yaml", "mission.yaml");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The paths that git must not see.
pub fn ignored(template: InitTemplate) -> &'static [&'static str] {
    match template {
        InitTemplate::Minimal | InitTemplate::AgentClis => &[".polpo/", "work/"],
        InitTemplate::CodeReview => &[".polpo/", ".review/"],
        InitTemplate::CiGithub | InitTemplate::CiGitlab => &[".polpo/", ".pipeline/", ".quorum/"],
    }
}
