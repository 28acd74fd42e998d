//! Installing without compiling: the script of a release, the action and the include that call it, against a folder
//! served on loopback.
//!
//! The archive is made by the script that makes a release. The program in it is a script that starts the tested binary.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{BINARY, Finished, Running, Workspace, skipped};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const ARCHIVE: &str = "quorum-x86_64-unknown-linux-musl.tar.gz";
/// Where a release of the tag `v0.1.0` lies.
const AT: &str = "owner/quorum/releases/download/v0.1.0";
/// What the installed program says of itself.
const VERSION: &str = concat!("quorum ", env!("CARGO_PKG_VERSION"));
/// All that the script needs, but for one of the two that download.
const TOOLS: &str = "sh awk cat chmod cp cut gzip mkdir mktemp mv rm sed sha256sum tar uname";

/// A server of files. A file whose name ends in `.half` beside it breaks off in the middle.
struct Server {
    url: String,
}

impl Server {
    /// Serves a folder until the test process ends.
    fn of(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Who goes away early misses the rest.
                let _ = answer(stream, &folder);
            }
        });
        Self { url: format!("http://{address}") }
    }
}

fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let Ok(body) = fs::read(folder.join(path)) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let breaks_off = folder.join(format!("{path}.half")).exists();
    let sent = if breaks_off { &body[..body.len() / 2] } else { &body };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(sent)
}

/// A workspace with a release in `served`.
struct Release {
    workspace: Workspace,
    server: Server,
}

impl Release {
    /// A release of the tested binary.
    fn new() -> Self {
        Self::with(&format!("exec '{BINARY}' \"$@\""))
    }

    /// A release whose program is this line of a shell.
    fn with(program: &str) -> Self {
        let workspace = Workspace::new();
        let server = Server::of(workspace.path("served"));
        workspace.write("program", format!("#!/bin/sh\n{program}\n"));
        workspace.write("tmp/.keep", "");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(workspace.path("program"), executable).expect("it is ours");
        let release = Self { workspace, server };
        let folder = format!("served/{AT}");
        release.script("release.sh", &["archive", "program", "x86_64-unknown-linux-musl", &folder]).exits(0);
        let url = release.url();
        release.script("release.sh", &["publish", &url, &folder]).exits(0);
        release
    }

    /// The address of its folder.
    fn url(&self) -> String {
        format!("{}/{AT}", self.server.url)
    }

    /// The path of one of its files in the workspace.
    fn file(&self, name: &str) -> PathBuf {
        self.workspace.path(&format!("served/{AT}/{name}"))
    }

    /// Gives a file another content.
    fn change(&self, name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let before = fs::read(self.file(name)).expect("the release has it");
        fs::write(self.file(name), change(before)).expect("it can be written");
    }

    /// Corrects SHA256SUMS after an archive was changed.
    fn sum_again(&self) {
        let archive = fs::read(self.file(ARCHIVE)).expect("it is there");
        fs::write(self.file("SHA256SUMS"), format!("{}  {ARCHIVE}\n", hex(&archive)))
            .expect("it can be written");
    }

    /// Runs a script of `scripts` in the workspace.
    fn script(&self, name: &str, arguments: &[&str]) -> Finished {
        let mut command = self.workspace.other_command("sh");
        command.arg(format!("{ROOT}/scripts/{name}")).args(arguments);
        command.env("TMPDIR", self.workspace.path("tmp"));
        Running::start(command).finish()
    }

    /// Installs the static build into `bin`.
    fn install(&self, more: &[&str]) -> Finished {
        let url = self.url();
        let fixed = ["--release", &url, "--target", "x86_64-unknown-linux-musl", "--to", "bin"];
        self.script("install.sh", &[&fixed, more].concat())
    }

    /// What lies in a folder of the workspace.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.workspace.path(folder)).into_iter().flatten();
        entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".keep")
            .collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a program lies on this machine.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether anything can be downloaded here.
fn can_download() -> bool {
    let can = found("curl").or_else(|| found("wget")).is_some();
    if !can {
        skipped("neither curl nor wget is there");
    }
    can
}

/// Whether this machine runs what the release of these tests is named after.
fn is_built_for() -> bool {
    let is = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !is {
        skipped("a release is only looked for on Linux and x86_64");
    }
    is
}

#[test]
fn a_release_is_installed_by_each_shell_with_each_program_that_downloads() {
    for download in ["curl", "wget"] {
        for shell in ["sh", "dash", "bash"] {
            let (Some(program), Some(shell)) = (found(download), found(shell)) else {
                skipped(format!("{shell} with {download} is not there"));
                continue;
            };
            let release = Release::new();
            let tools = release.workspace.path("tools");
            fs::create_dir_all(&tools).expect("folders can be made");
            for (name, path) in TOOLS.split(' ').filter_map(|name| Some((name, found(name)?))) {
                symlink(path, tools.join(name)).expect("a link can be made");
            }
            symlink(program, tools.join(download)).expect("a link can be made");
            // The copy in the release knows where its release lies.
            let mut command = release.workspace.other_command(&shell.to_string_lossy());
            command.arg(release.file("install.sh"));
            command.args(["--to", "bin", "--target", "x86_64-unknown-linux-musl"]);
            command.env("PATH", &tools).env("TMPDIR", release.workspace.path("tmp"));
            let installed = Running::start(command).finish().exits(0);
            assert!(installed.stdout.starts_with(&format!("installed {VERSION}")), "{installed:?}");
            assert_eq!(release.names("tmp"), Vec::<String>::new());
            assert_eq!(release.names("bin"), ["quorum"]);
            let says = Command::new(release.workspace.path("bin/quorum")).arg("--version").output();
            let says = says.expect("the program starts").stdout;
            assert_eq!(String::from_utf8_lossy(&says).trim(), VERSION);
        }
    }
}

#[test]
fn a_release_holds_what_belongs_to_the_program() {
    let release = Release::new();
    let listed = release.workspace.bash(&format!("tar -tzf served/{AT}/{ARCHIVE}")).exits(0);
    for file in ["quorum", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "completions/quorum.zsh"] {
        let path = format!("quorum-x86_64-unknown-linux-musl/{file}\n");
        assert!(listed.stdout.contains(&path), "no {file} in\n{}", listed.stdout);
    }
}

/// Breaks a release.
type Break = fn(&Release);

#[test]
fn what_is_not_whole_is_refused_and_leaves_nothing_behind() {
    if !can_download() {
        return;
    }
    let broken: [(Break, &str); 7] = [
        (
            |release| release.change(ARCHIVE, |bytes| [bytes, vec![0]].concat()),
            "the checksum of quorum-x86_64-unknown-linux-musl.tar.gz is wrong",
        ),
        (|release| release.change(ARCHIVE, |bytes| bytes[..bytes.len() / 2].to_vec()), "the checksum"),
        (|release| fs::remove_file(release.file(ARCHIVE)).expect("it is there"), "cannot download"),
        (|release| fs::remove_file(release.file("SHA256SUMS")).expect("it is there"), "SHA256SUMS"),
        (
            |release| release.change("SHA256SUMS", |_| b"00  quorum-other.tar.gz\n".to_vec()),
            "has no build for x86_64-unknown-linux-musl",
        ),
        (
            |release| fs::write(release.file(&format!("{ARCHIVE}.half")), "").expect("it can be written"),
            "cannot download",
        ),
        (
            |release| {
                release.change(ARCHIVE, |bytes| bytes[..bytes.len() / 2].to_vec());
                release.sum_again();
            },
            "it is damaged",
        ),
    ];
    for (breaks, message) in broken {
        let release = Release::new();
        release.workspace.write("bin/quorum", "the one before\n");
        breaks(&release);
        release.install(&[]).exits(1).says(&["install.sh: error: ", message]);
        assert_eq!(release.names("tmp"), Vec::<String>::new(), "{message}");
        assert_eq!(release.names("bin"), ["quorum"], "{message}");
        assert_eq!(release.workspace.read("bin/quorum"), "the one before\n", "{message}");
    }
}

#[test]
fn a_program_that_does_not_start_is_not_installed() {
    if !can_download() {
        return;
    }
    let release = Release::with("test \"$1\" != --version");
    release.install(&[]).exits(1).says(&["does not start on this machine"]);
    assert_eq!(release.names("bin"), Vec::<String>::new());
}

#[test]
fn a_pinned_checksum_outweighs_that_of_the_server() {
    if !can_download() {
        return;
    }
    let release = Release::new();
    let archive = fs::read(release.file(ARCHIVE)).expect("it is there");
    let pinned = hex(&archive);
    release.install(&["--sha256", &pinned]).exits(0);
    // Somebody changed the archive and its checksum on the server.
    release.change(ARCHIVE, |bytes| [bytes, vec![0]].concat());
    release.sum_again();
    release.install(&[]).exits(0);
    release.install(&["--sha256", &pinned]).exits(1).says(&["the checksum", &pinned]);
}

#[test]
fn nothing_is_guessed() {
    let release = Release::new();
    for (arguments, words) in [
        (&["--to", "bin"][..], "there is nothing to install from"),
        (&["--release"], "--release needs a value"),
        (&["--relese", "x"], "there is no option --relese"),
        (&["--source", "nowhere", "--to", "bin"], "there is no Cargo.toml in nowhere"),
        (&["--source", ROOT, "--sha256", "0", "--to", "bin"], "--sha256 is the checksum of a release"),
    ] {
        release.script("install.sh", arguments).exits(1).says(&[words]);
    }
    assert_eq!(release.names("bin"), Vec::<String>::new());
}

/// A file of this project, as YAML.
fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(format!("{ROOT}/{path}")).expect("the file is there");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_release_has_every_build_that_the_script_asks_for() {
    let workflow = yaml(".github/workflows/release.yml");
    let builds = workflow["jobs"]["archive"]["strategy"]["matrix"]["include"].as_array();
    let builds: Vec<&str> =
        builds.into_iter().flatten().filter_map(|build| build["target"].as_str()).collect();
    let script = fs::read_to_string(format!("{ROOT}/scripts/install.sh")).expect("it is there");
    let mut asked = 0;
    for line in script.lines() {
        let Some((_, rest)) = line.split_once("echo \"$cpu-") else {
            continue;
        };
        let rest = rest.split('"').next().unwrap_or_default();
        for cpu in ["x86_64", "aarch64"] {
            asked += 1;
            assert!(builds.contains(&&*format!("{cpu}-{rest}")), "{cpu}-{rest} is not in {builds:?}");
        }
    }
    assert_eq!(asked, 4);
    yaml(".github/workflows/ci.yml");
}

/// The action of this project, whose shell steps are run as a hosted machine would.
struct Action<'a> {
    release: &'a Release,
    /// The tag, branch or commit that a workflow names behind `@`.
    used_at: &'static str,
    inputs: BTreeMap<&'static str, String>,
    outputs: BTreeMap<String, String>,
}

impl Action<'_> {
    /// What `${{ … }}` stands for.
    fn value(&self, action: &Value, expression: &str) -> String {
        match expression {
            "github.action_path" => ROOT.to_owned(),
            "github.action_ref" => self.used_at.to_owned(),
            "github.server_url" => self.release.server.url.clone(),
            "github.action_repository" => "owner/quorum".to_owned(),
            other => match (other.strip_prefix("inputs."), self.outputs.get(other)) {
                (Some(input), _) => self.inputs.get(input).cloned().unwrap_or_else(|| {
                    let default = action["inputs"][input]["default"].as_str();
                    default.unwrap_or_else(|| panic!("there is no input {input}")).to_owned()
                }),
                (None, value) => value.unwrap_or_else(|| panic!("nothing is known of {other}")).clone(),
            },
        }
    }

    /// A text of the action with its expressions replaced.
    fn filled(&self, action: &Value, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{ ") {
            let (expression, after) = after.split_once(" }}").expect("an expression ends");
            filled = filled + before + &self.value(action, expression);
            rest = after;
        }
        filled + rest
    }

    /// Runs the shell steps and gives the last one's end.
    fn run(&mut self) -> Finished {
        let action = yaml("action.yml");
        let workspace = &self.release.workspace;
        let mut path = std::env::var("PATH").unwrap_or_default();
        let mut last = None;
        for step in action["runs"]["steps"].as_array().expect("it has steps") {
            let Some(script) = step["run"].as_str() else {
                continue;
            };
            assert!(
                !script.contains("${{"),
                "an expression inside a script lets its value be a command:\n{script}"
            );
            workspace.write("output", "");
            workspace.write("path", "");
            let mut command = workspace.other_command("bash");
            command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                let value = value.as_str().expect("a variable is a text");
                command.env(name, self.filled(&action, value));
            }
            command.env("PATH", &path).env("GITHUB_OUTPUT", workspace.path("output"));
            command.env("GITHUB_PATH", workspace.path("path"));
            let finished = Running::start(command).finish();
            let id = step["id"].as_str().unwrap_or_default();
            for line in workspace.lines("output") {
                let (name, value) = line.split_once('=').expect("an output has a name");
                self.outputs.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
            path = workspace.lines("path").into_iter().chain([path]).collect::<Vec<_>>().join(":");
            let failed = finished.code() != Some(0);
            last = Some(finished);
            if failed {
                break;
            }
        }
        last.expect("there is a shell step")
    }
}

fn action<'a>(release: &'a Release, inputs: &[(&'static str, &str)]) -> Action<'a> {
    Action {
        release,
        used_at: "v0.1.0",
        inputs: inputs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        outputs: BTreeMap::new(),
    }
}

/// A mission of one task that takes a moment, and one behind it.
const MISSION: &str = "
name: Pipeline
workspace: work
settings: {concurrency: 1}
agents:
  worker: {run: 'cat > /dev/null; sleep 1; echo done > \"$QUORUM_TASK\"'}
tasks:
  - {title: one, assignTo: worker, description: x, targetFiles: [one]}
  - {title: two, assignTo: worker, description: x, targetFiles: [two], dependsOn: [one]}
";

#[test]
fn the_action_installs_the_release_it_is_used_at_and_passes_on_what_the_mission_exits_with() {
    if !can_download() || !is_built_for() {
        return;
    }
    let release = Release::new();
    release.workspace.mission(MISSION);
    // The first job runs out of time, which is left to the next one.
    let mut first = action(&release, &[("flags", "--timeout 500ms"), ("green", "7 8")]);
    first.run().exits(0);
    assert_eq!(first.outputs["steps.run.outputs.code"], "7");
    assert!(!release.workspace.exists("work/two"));
    let mut second = action(&release, &[("resume", "true")]);
    second.run().exits(0);
    assert_eq!(second.outputs["steps.run.outputs.code"], "0");
    assert!(release.workspace.exists("work/two"));
    for report in ["quorum.json", "junit.xml", "summary.md"] {
        assert!(!release.workspace.read(report).is_empty(), "no {report}");
    }
    // Not green: the step ends as the mission does.
    let mut third = action(&release, &[("flags", "--fresh --timeout 500ms")]);
    third.run().exits(7);
    assert_eq!(third.outputs["steps.run.outputs.code"], "7");
}

#[test]
fn the_action_runs_nothing_where_a_release_cannot_be_trusted() {
    if !can_download() || !is_built_for() {
        return;
    }
    let release = Release::new();
    release.workspace.mission(MISSION);
    let wrong = "0".repeat(64);
    let mut pinned = action(&release, &[("sha256", &wrong)]);
    pinned.run().exits(1).says(&["the checksum"]);
    release.workspace.assert_nothing_started();
}

#[test]
fn the_action_refuses_a_pinned_checksum_where_it_would_build_from_source() {
    let release = Release::new();
    release.workspace.mission(MISSION);
    let mut pinned = action(&release, &[("sha256", &"0".repeat(64))]);
    pinned.used_at = "main";
    pinned.run().exits(1).says(&["sha256 is the checksum of a release"]);
    release.workspace.assert_nothing_started();
}

#[test]
fn a_source_is_built_where_there_is_no_release() {
    let release = Release::new();
    release.workspace.mission(MISSION);
    // A cargo that puts the program where the real one would, and says what it was asked for.
    let cargo = "#!/bin/sh\necho \"$@\" > asked\nmkdir -p \"$6/bin\" && cp program \"$6/bin/quorum\"\n";
    release.workspace.write("home/cargo/cargo", cargo);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(release.workspace.path("home/cargo/cargo"), executable).expect("it is ours");
    let mut command = release.workspace.other_command("sh");
    command.arg(format!("{ROOT}/scripts/install.sh")).args(["--source", ROOT, "--to", "bin"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", release.workspace.path("home/cargo").display()));
    Running::start(command).finish().exits(0);
    let asked = release.workspace.read("asked");
    assert!(asked.starts_with(&format!("install --locked --path {ROOT} --root ")), "{asked}");
    assert_eq!(release.names("bin"), ["quorum"]);
}

#[test]
fn the_include_installs_a_release_and_keeps_what_was_reported() {
    if !can_download() || !is_built_for() {
        return;
    }
    let include = yaml("integrations/gitlab.yml");
    let lines = |key: &str| {
        let lines = include[".quorum"][key].as_array().expect("it is a list");
        lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    };
    let release = Release::new();
    release.workspace.mission(MISSION);
    let job = |script: &str| {
        let mut command = release.workspace.other_command("sh");
        command.args(["-e", "-c", script]).env("QUORUM_RELEASE_URL", release.url());
        Running::start(command).finish()
    };
    let script = format!("{}\nquorum run mission.yaml --report junit=junit.xml", lines("before_script"));
    job(&script).exits(0);
    job(&lines("after_script")).exits(0);
    for report in ["quorum.json", "junit.xml"] {
        assert!(!release.workspace.read(report).is_empty(), "no {report}");
    }
    // A release that cannot be had starts nothing.
    fs::remove_file(release.file(ARCHIVE)).expect("it is there");
    fs::remove_dir_all(release.workspace.path(".polpo")).expect("there was a run");
    job(&script).exits(1).says(&["cannot download"]);
    release.workspace.assert_nothing_started();
}
