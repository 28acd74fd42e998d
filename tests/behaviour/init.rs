//! `quorum init`: what it writes is right and runs, and nothing that was there is touched.

use serde_json::Value;

use crate::support::{Says, Workspace, standing};

const TEMPLATES: [&str; 4] = ["minimal", "code-review", "ci-github", "ci-gitlab"];

/// A git repository with one commit on `main` and one more on `topic`, which adds this to a file.
fn repository(added: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("notes.txt", "one\n");
    let git = "git -c user.name=n -c user.email=e@example.org";
    let begin = format!(
        "git init -q -b main . && git add notes.txt && {git} commit -qm 'The first commit' && git checkout -q -b topic"
    );
    workspace.bash(&begin).exits(0);
    workspace.write("notes.txt", format!("one\n{added}\n"));
    let change = format!("{git} commit -qam 'The second commit'");
    workspace.bash(&change).exits(0);
    workspace
}

fn init(workspace: &Workspace, template: &str) -> Value {
    workspace.quorum(&["init", "--yes", "--template", template, "--json"]).exits(0).json()
}

#[test]
fn every_template_passes_validate_and_doctor() {
    for template in TEMPLATES {
        let workspace = Workspace::new();
        let document = init(&workspace, template);
        assert_eq!(document["schema"], "quorum.init/v1");
        for file in document["files"].as_array().expect("a list") {
            let file = file.as_str().expect("a path");
            assert!(workspace.exists(file), "{template}: {file}");
        }
        let mission = workspace.read("mission.yaml");
        let first = mission.lines().next().unwrap_or_default();
        assert_eq!(first, "# yaml-language-server: $schema=./mission.schema.json");
        assert!(!mission.contains("playground"), "{template}:\n{mission}");
        let checked = workspace.quorum(&["validate", "mission.yaml"]).exits(0);
        assert_eq!(checked.stderr, "", "{template}");
        workspace.quorum(&["doctor"]).exits(0);
        assert!(workspace.lines(".gitignore").contains(&".polpo/".to_owned()));
        let schema: Value = serde_json::from_str(&workspace.read("mission.schema.json")).expect("a schema");
        assert_eq!(schema, workspace.quorum(&["schema"]).exits(0).json());
    }
}

#[test]
fn what_agents_are_told_is_one_text_and_a_plug_in_names_the_tools() {
    let workspace = Workspace::new();
    let told = workspace.quorum(&["init", "--skill", "--plugin", "--yes", "--json"]).exits(0).json();
    let files = [
        ".claude/skills/quorum/SKILL.md",
        ".agents/skills/quorum/SKILL.md",
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "skills/quorum/SKILL.md",
    ];
    assert_eq!(told["files"], serde_json::json!(files));
    let skill = workspace.read(files[0]);
    assert!(skill.starts_with("---\nname: quorum\ndescription: "), "{skill}");
    assert_eq!((&workspace.read(files[1]), &workspace.read(files[4])), (&skill, &skill));
    let read = |path: &str| serde_json::from_str::<Value>(&workspace.read(path)).expect("it is JSON");
    assert_eq!(read(files[2])["name"], "quorum");
    let server = &read(files[3])["mcpServers"]["quorum"];
    assert_eq!((&server["command"], &server["args"]), (&"quorum".into(), &serde_json::json!(["mcp"])));
    assert!(!workspace.exists("mission.yaml") && !workspace.exists(".gitignore"));
    // Nothing that is there is touched, and a template is something else.
    workspace.quorum(&["init", "--skill", "--yes"]).exits(2);
    workspace.quorum(&["init", "--plugin", "--template", "minimal", "other"]).exits(2);
    workspace.quorum(&["init", "--skill", "below"]).exits(0);
    assert!(!workspace.exists("below/.mcp.json"));
}

#[test]
fn the_template_of_agent_clis_is_valid_and_doctor_says_what_is_missing() {
    let workspace = Workspace::new();
    init(&workspace, "agent-clis");
    assert_eq!(workspace.quorum(&["validate", "mission.yaml"]).exits(0).stderr, "");
    let told = workspace.quorum(&["doctor", "--json"]).json();
    let checks = told["checks"].as_array().expect("a list");
    for name in ["agent builder", "login of builder", "login of critic", "login of second"] {
        assert!(checks.iter().any(|check| check["name"] == name), "{name}: {told:#}");
    }
}

#[test]
fn minimal_runs_as_written() {
    let workspace = Workspace::new();
    init(&workspace, "minimal");
    let document = workspace.run_json(0, &[]);
    for title in ["Write a greeting", "Say goodbye"] {
        assert_eq!(standing(&document, title), ("done", "clean"), "{document:#}");
    }
    assert!(workspace.exists("work/greeting.txt"));
}

/// What may be around a template when it is written: a script, and whether what is written is committed then.
const PLACES: [(&str, bool); 4] = [
    ("true", false),
    ("git init -q .", false),
    ("git init -q . && git -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m One", false),
    ("git init -q .", true),
];

#[test]
fn every_template_runs_as_written_wherever_it_is_and_again() {
    for template in TEMPLATES {
        for (place, is_committed) in PLACES {
            let workspace = Workspace::new();
            workspace.bash(place).exits(0);
            init(&workspace, template);
            if is_committed {
                let git = "git -c user.name=n -c user.email=e@example.org";
                workspace.bash(&format!("git add -A && {git} commit -qm Template")).exits(0);
            }
            for time in 1..=2 {
                let ended = workspace.quorum(&["run"]);
                let told =
                    format!("{template} after `{place}`, time {time}:\n{}{}", ended.stderr, ended.stdout);
                assert_eq!(ended.code(), Some(0), "{told}");
            }
        }
    }
}

#[test]
fn a_change_that_nothing_is_committed_of_yet_is_reviewed_all_the_same() {
    for place in ["true", "git init -q ."] {
        let workspace = Workspace::new();
        workspace.bash(place).exits(0);
        workspace.write("notes.txt", "<<<<<<< HEAD\n");
        init(&workspace, "code-review");
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "Decide").0, "failed");
        workspace.read(".review/review.md").says(&["- [high] notes.txt:1: "]);
        // Nothing of it is left in the repository of the user.
        workspace.bash("test -z \"$(git diff --cached --name-only 2>/dev/null)\"").exits(0);
    }
    let workspace = Workspace::new();
    init(&workspace, "ci-github");
    workspace.run_json(0, &[]);
    workspace.read(".pipeline/release.md").says(&["Nothing is committed yet."]);
}

#[test]
fn what_git_is_needed_for_is_said_where_it_is_missing() {
    let workspace = Workspace::new();
    init(&workspace, "ci-github");
    workspace.quorum(&["doctor"]).exits(0).shows(&["this folder is in no git repository"]);
    let script = "mkdir bin; for file in /bin/* /usr/bin/*; do case $file in */git*) ;; *) ln -sf $file bin/ ;; esac; done";
    workspace.bash(script).exits(0);
    let without = workspace.path("bin").display().to_string();
    let without = [("PATH", without.as_str())];
    workspace.quorum_with(&without, &["run"]).exits(3).says(&["git is needed"]);
    workspace.bash("git init -q .").exits(0);
    workspace.quorum(&["doctor"]).exits(0).shows(&["has no commit yet"]);
}

#[test]
fn code_review_passes_harmless_changes_and_stops_blocking_ones() {
    let workspace = repository("two TODO\nthree");
    init(&workspace, "code-review");
    workspace.run_json(0, &[]);
    let review = workspace.read(".review/review.md");
    assert!(review.starts_with("- [medium] notes.txt:2: "), "{review}");

    let workspace = repository("two\n<<<<<<< HEAD");
    init(&workspace, "code-review");
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "Review the change"), ("done", "clean"));
    assert_eq!(standing(&document, "Decide").0, "failed");
    let review = workspace.read(".review/review.md");
    assert!(review.starts_with("- [high] notes.txt:3: "), "{review}");
}

#[test]
fn the_pipeline_mission_runs_in_a_repository() {
    let workspace = repository("two");
    init(&workspace, "ci-gitlab");
    workspace.run_json(0, &["--report", "junit=junit.xml"]);
    assert!(workspace.exists("junit.xml"));
    let notes = workspace.lines(".pipeline/release.md");
    let expected = ["# Changes since the beginning", "", "- The second commit", "- The first commit"];
    assert_eq!(notes, expected);
}

#[test]
fn pipelines_are_yaml_and_name_only_commands_that_exist() {
    for (template, file) in [("ci-github", ".github/workflows/quorum.yml"), ("ci-gitlab", ".gitlab-ci.yml")] {
        let workspace = Workspace::new();
        init(&workspace, template);
        let text = workspace.read(file);
        let _: Value = serde_saphyr::from_str(&text).expect("the pipeline is YAML");
        assert!(
            !text.contains("cargo install"),
            "nothing is installed that could be somebody else's:\n{text}"
        );
        for line in text.lines().filter(|line| !line.trim().starts_with('#')) {
            let Some((_, command)) = line.split_once(" quorum ") else {
                continue;
            };
            let command = command.split_whitespace().next().unwrap_or_default();
            workspace.quorum(&[command, "--help"]).exits(0);
        }
    }
}

#[test]
fn pipelines_say_to_the_action_and_to_the_include_only_what_these_know() {
    let root = env!("CARGO_MANIFEST_DIR");
    let yaml = |text: &str| -> Value { serde_saphyr::from_str(text).expect("it is YAML") };
    let own = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).expect("the file is there");
    let workspace = Workspace::new();
    init(&workspace, "ci-github");
    let workflow = yaml(&workspace.read(".github/workflows/quorum.yml"));
    let steps = workflow["jobs"]["mission"]["steps"].as_array().expect("a list");
    let used = steps.iter().find(|step| step["uses"] == "./.quorum");
    let inputs = used.expect("the action is used")["with"].as_object().expect("it is told something");
    let action = yaml(&own("action.yml"));
    for input in inputs.keys() {
        assert!(action["inputs"][input].is_object(), "the action has no input {input}");
    }
    let workspace = Workspace::new();
    init(&workspace, "ci-gitlab");
    let pipeline = yaml(&workspace.read(".gitlab-ci.yml"));
    let included = pipeline["include"][0]["local"].as_str().expect("a path");
    assert_eq!(workspace.read(included), own("integrations/gitlab.yml"));
    let extended = pipeline["mission"]["extends"].as_str().expect("a name");
    assert!(yaml(&workspace.read(included))[extended].is_object());
}

#[test]
fn what_is_there_is_never_overwritten() {
    for (template, file) in [
        ("minimal", "mission.yaml"),
        ("minimal", "agents/writer.sh"),
        ("ci-github", ".github/workflows/quorum.yml"),
        ("ci-gitlab", ".gitlab-ci.yml"),
    ] {
        let workspace = Workspace::new();
        workspace.write(file, "mine\n");
        workspace.quorum(&["init", "--yes", "--template", template]).exits(2).says(&["already there", file]);
        assert_eq!(workspace.read(file), "mine\n");
        assert!(!workspace.exists(".gitignore"), "something was written before the refusal");
    }
}

#[test]
fn a_gitignore_is_added_to_once_and_another_folder_can_be_named() {
    let workspace = Workspace::new();
    workspace.write("new/.gitignore", "mine\n/.polpo");
    workspace.quorum(&["init", "new"]).exits(0);
    assert_eq!(workspace.read("new/.gitignore"), "mine\n/.polpo\nwork/\n");
    workspace.quorum(&["run", "new/mission.yaml"]).exits(0);
    workspace.write("file", "");
    workspace.quorum(&["init", "file"]).exits(2).says(&["not a folder"]);
}
