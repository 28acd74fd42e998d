//! Running a page: its files are written, its commands are typed, in order, in one empty folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;
use wiremock::ResponseTemplate;

use crate::support::model::{Model, says};
use crate::support::{BINARY, Finished, Running, Workspace, makes_namespaces};

use super::shown::what_is_not_printed;
use crate::support::pages::{Page, Use};

/// The server of models that pages name; it stands for one that listens while the page is run.
const MODEL_OF_PAGES: &str = "http://127.0.0.1:8080/v1";

/// The folder that a page is run in.
struct Desk {
    workspace: Workspace,
    model: Option<Model>,
}

/// Runs a page: all that is not as it says.
pub fn run_page(page: &Page) -> Vec<String> {
    let (desk, is_confined) = (Desk::new(page), makes_namespaces());
    let mut wrong = Vec::new();
    // What the commands of the block before printed, if it has commands.
    let mut printed: Option<String> = None;
    for block in page.blocks() {
        match &block.used {
            Ok(Use::File(name)) => desk.write(name, &block.body),
            Ok(Use::Run) => {
                let mut all = String::new();
                for (line, command) in commands(&block.body) {
                    let place = format!("{}:{}", page.path, block.line + line);
                    let (finished, wanted) = (desk.run(&command), wanted(&command));
                    all += &finished.stdout;
                    if finished.code() != Some(wanted) {
                        let (code, output) = (finished.code(), &finished.stdout);
                        wrong
                            .push(format!("{place}: `{command}` exits {code:?} and not {wanted}:\n{output}"));
                    }
                }
                printed = Some(all);
            }
            Ok(Use::Shown) if block.language == "text" && block.is_behind_another => {
                if let Some(printed) = &printed {
                    // Pages show what is printed where agents are confined.
                    let shown = without(is_confined, "refused: ", &block.body);
                    let is_of_page = shown.contains("unconfined: ");
                    let printed = without(is_confined || is_of_page, "unconfined: ", printed);
                    if let Some(missing) = what_is_not_printed(&shown, &printed) {
                        let place = format!("{}:{}", page.path, block.line);
                        wrong.push(format!("{place}: `{missing}` is not printed:\n{printed}"));
                    }
                }
            }
            _ => printed = None,
        }
    }
    wrong
}

impl Desk {
    fn new(page: &Page) -> Self {
        let workspace = Workspace::new().like_users();
        fs::create_dir(workspace.path("bin")).expect("a folder can be made");
        fs::create_dir(workspace.path("desk")).expect("a folder can be made");
        symlink(BINARY, workspace.path("bin/quorum")).expect("a link can be made");
        Self { workspace, model: page.text.contains(MODEL_OF_PAGES).then(|| Model::new(answer)) }
    }

    fn write(&self, name: &str, content: &str) {
        let base = self.model.as_ref().map(Model::base);
        let content = content.replace(MODEL_OF_PAGES, base.as_deref().unwrap_or(MODEL_OF_PAGES));
        let name = format!("desk/{name}");
        self.workspace.write(&name, &content);
        if content.starts_with("#!") {
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(self.workspace.path(&name), executable).expect("the file is ours");
        }
    }

    /// Both outputs, as they come on a screen.
    fn run(&self, line: &str) -> Finished {
        let mut command = self.workspace.other_command("sh");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = vec![self.workspace.path("bin")];
        folders.extend(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).expect("they were joined before");
        command.args(["-c", &format!("exec 2>&1\n{line}")]);
        command.current_dir(self.workspace.path("desk")).env("PATH", path);
        // Somebody who uses git has told it their name.
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada");
            command.env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        Running::start(command).finish()
    }
}

/// A text without what only one kind of machine prints.
fn without(is_confined: bool, word: &str, text: &str) -> String {
    let lines = text.lines().filter(|line| is_confined || !line.trim_start().starts_with(word));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// The models of pages: `llama3.2` judges, everybody else writes.
fn answer(body: &Value) -> ResponseTemplate {
    match body["model"].as_str() {
        Some("llama3.2") => says("It is about rain.\nSCORE: 85"),
        _ => says("Rain, rain,\non the pane,\nit came again,\nand went again."),
    }
}

/// The commands of a block, each with its line from 1. One may go on over lines that end in a backslash.
fn commands(body: &str) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (line, text) in (1..).zip(body.lines()) {
        let (part, more) = match text.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (text, false),
        };
        match commands.last_mut().filter(|_| goes_on) {
            Some((_, command)) => command.push_str(part.trim_start()),
            None => commands.push((line, part.to_owned())),
        }
        goes_on = more;
    }
    commands.retain(|(_, command)| !command.trim().is_empty() && !command.starts_with('#'));
    commands
}

/// What a command exits with: what it says behind it, else 0.
fn wanted(command: &str) -> i32 {
    let said = command.rsplit_once("# exit ");
    said.and_then(|(_, code)| code.trim().parse().ok()).unwrap_or(0)
}
