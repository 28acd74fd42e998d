//! What each process of a session may see and change, as a mount plan (semantics, section 23).
//!
//! All processes of a run have the same protected files, whoever works: what one of them could move would be free for the
//! others. What a task is to make itself is free for all; the looks at protected files say whose it was.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::agents::acp;
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
use crate::executor::runner::{CommandOwner, CommandRequest};
use crate::store::{OperatorKey, RunFolder, StateFolder};
use rules::domain::{AgentId, TaskId, TurnId};
use rules::mission::presets;
use rules::plan::{Confinement, Plan};
use supervisor::{Access, MountPlan, resolve};

use super::git::{folders_of, lenders};
use super::other_mounts::Mounts;
use super::protection::{Protection, ReadOnly, Scratch, shared_builds};

/// The variables whose files and folders in the state folder a process may write.
const WRITTEN: [&str; 2] = ["QUORUM_TASK_DIR", "QUORUM_RESULT_FILE"];

/// Where programs listen that would act for whoever asks them, outside of any confinement: sockets, and folders of them.
const SERVICES: [&str; 16] = [
    "/run/docker.sock",
    "/run/docker",
    "/run/podman",
    "/run/containerd",
    "/run/k3s/containerd",
    "/run/crio",
    "/run/buildkit",
    "/run/libvirt",
    "/run/incus",
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/run/snapd.socket",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/screen",
];

/// Folders of the user that hold nothing but what such programs keep.
const USER_SERVICES: [&str; 5] = [".ssh/agent", ".docker/run", ".docker/desktop", ".orbstack/run", ".screen"];

/// Folders of the user in which their sockets lie beside other files.
const LISTENING: [&str; 4] = [".gnupg", ".rd", ".colima/default", ".colima/docker"];

/// A folder for temporary files in the state folder, which is made only in the namespace of who uses it.
const SCRATCH: &str = "tmp";

/// Where groups of processes are stopped and killed, and settings of the kernel stand.
const SYSTEM: &str = "/sys";

/// More paths than this are not mounted one by one: the looks at protected files hold the rest.
const MOST_MOUNTS: usize = 400;

/// How the processes of a session are confined.
#[derive(Debug, Default)]
pub struct Confiner {
    /// Why the system lets nothing be confined; `None` where it lets everything be.
    pub refused: Option<String>,
    /// The paths that every process has in common, each with its access.
    common: Vec<(PathBuf, Access)>,
    /// The path of the state folder.
    state: PathBuf,
    /// The folder of the user.
    home: Option<PathBuf>,
    /// The folders of git that the workspace belongs to.
    git: Vec<PathBuf>,
    /// The files that only hidden checks see, at each path that leads to them.
    hidden: Vec<PathBuf>,
}

impl Confiner {
    /// Looks at what all processes of a session are kept from. What is protected but not held by mounts, where any process
    /// is confined, and what checks share with turns, one sentence a reason. Blocks.
    pub fn look(&mut self, plan: &Plan, state: &StateFolder, protection: &Protection) -> Vec<String> {
        self.state = real(state.path()).unwrap_or_else(|| state.path().to_owned());
        self.home = env::home_dir().and_then(|home| real(&home));
        let ReadOnly { paths, mut not_held } = protection.read_only(plan, MOST_MOUNTS);
        self.git = folders_of(&plan.rules.workspace);
        if plan.rules.hidden.is_some() {
            self.git.extend(lenders(&self.git));
        }
        self.common = self.common_places();
        // What comes home by it is believed.
        let exchange = plan.rules.workers.exchange.iter();
        let exchange = exchange.filter_map(|path| real(&plan.recipe.options.mission_folder.join(&**path)));
        self.common.extend(exchange.map(|path| (path, Access::Hidden)));
        let read_only = self.settings_of_git().chain(paths);
        let read_only: Vec<_> = read_only.map(|path| (path, Access::Read)).collect();
        self.common.extend(read_only);
        let mounts = Mounts::of_this_process().unwrap_or_else(|error| {
            not_held.push(format!(
                "what is protected may be mounted at other paths too, where it could be written: the system does not tell: {error}"
            ));
            Mounts::default()
        });
        let again = |(path, access): &(PathBuf, Access)| {
            let others = mounts.other_paths(path).into_iter();
            others.map(|other| (other, *access)).collect::<Vec<_>>()
        };
        let again: Vec<_> = self.common.iter().flat_map(again).collect();
        self.common.extend(again);
        let files = plan.rules.hidden.iter().flat_map(|hidden| &hidden.files);
        let files = files.filter_map(|path| real(path));
        let files = files.flat_map(|path| mounts.other_paths(&path).into_iter().chain([path]));
        self.hidden = files.collect();
        let is_refused = self.refused.is_some();
        if is_refused || plan.confinements().all(Confinement::is_off) {
            not_held.clear();
        }
        not_held.extend(shared_builds(plan, is_refused));
        not_held
    }

    /// The confinement of a command of another machine, which works in folders of its own below that of a worker; of the rest of
    /// that folder it sees nothing. Blocks.
    #[cfg(feature = "temporal")]
    pub fn of_carried(
        how: Confinement,
        worker: &Path,
        own: &[(&Path, Access)],
        kept_away: &[PathBuf],
        job: &CommandJob,
    ) -> MountPlan {
        let confiner = Self {
            state: real(worker).unwrap_or_else(|| worker.to_owned()),
            home: env::home_dir().and_then(|home| real(&home)),
            ..Self::default()
        };
        let mut rules = confiner.common_places();
        rules.extend(confiner.settings_of_git().map(|path| (path, Access::Read)));
        let kept_away = kept_away.iter().filter_map(|path| real(path));
        rules.extend(kept_away.map(|path| {
            let access = if path.is_dir() { Access::Hidden } else { Access::Masked };
            (path, access)
        }));
        let own = own.iter().filter_map(|(path, access)| Some((real(path)?, *access)));
        rules.extend(own);
        let elsewhere = if how.only_workspace() {
            rules.extend(confiner.outside_of_workspace(&job.cwd, job));
            Access::Read
        } else {
            Access::Write
        };
        let mut mounts = MountPlan::new(elsewhere, rules);
        mounts.without_network = how.without_network();
        mounts
    }

    /// The state folder and what else of a machine every process is kept from, and what none may change.
    fn common_places(&self) -> Vec<(PathBuf, Access)> {
        let hidden = [self.state.clone()].into_iter().chain(OperatorKey::folder());
        let hidden = hidden.chain(user_services()).filter_map(|path| real(&path));
        let masked = SERVICES
            .iter()
            .map(PathBuf::from)
            .chain(user_sockets())
            .chain(raw_devices())
            .chain(OperatorKey::team_file());
        let masked = masked.filter_map(|path| real(&path));
        let system = real(Path::new(SYSTEM)).map(|path| (path, Access::Read));
        let this_program = env::current_exe().ok().and_then(|path| real(&path));
        hidden
            .map(|path| (path, Access::Hidden))
            .chain(system)
            .chain(masked.map(|path| (path, Access::Masked)))
            .chain(this_program.map(|path| (path, Access::Read)))
            .collect()
    }

    /// The files by which git runs programs for whoever works in the workspace, as far as they are there.
    fn settings_of_git(&self) -> impl Iterator<Item = PathBuf> {
        let own = self.git.iter();
        let own =
            own.flat_map(|git| ["config", "config.worktree", "hooks", "info"].map(|name| git.join(name)));
        let home = self.home.iter();
        let of_user = home.flat_map(|home| [".gitconfig", ".config/git"].map(|name| home.join(name)));
        let named = env::var_os("XDG_CONFIG_HOME").map(|folder| Path::new(&folder).join("git"));
        own.chain(of_user).chain(named).filter_map(|path| real(&path))
    }

    /// A command, confined as the mission says, with what it finds empty.
    pub fn confined(
        &self,
        of: (&Plan, &Protection),
        request: CommandRequest,
        scratch: Option<Scratch>,
    ) -> CommandRequest {
        let owner = request.owner();
        let (plan, _) = of;
        let instead = scratch.iter().flat_map(|scratch| scratch.mounts.clone()).collect();
        let request = request.holding(scratch);
        let how = match owner {
            // The words of the settings on network and files are for those who work and judge.
            CommandOwner::Nobody => Confinement::default(),
            _ => plan.confinement(owner.task(), agent_of(plan, owner)),
        };
        if how.is_off() || request.job().is_free {
            return request;
        }
        if self.refused.is_some() {
            // No mounts; the supervisor may still be able to keep it from others' processes.
            return request.confined(MountPlan::default(), None);
        }
        let mut mounts = self.plan(of, how, owner, request.job());
        mounts.instead = instead;
        let temporary = self.temporary(how, owner, request.job());
        request.confined(mounts, temporary.as_deref())
    }

    /// The folders of earlier work that a command which judges finds empty; `None` for other commands. Blocks.
    ///
    /// # Errors
    ///
    /// Why what work has left cannot be kept from it.
    pub fn scratch(
        &self,
        (plan, protection): (&Plan, &Protection),
        request: &CommandRequest,
        run: &RunFolder,
    ) -> Result<Option<Scratch>, WorkError> {
        let (owner, job) = (request.owner(), request.job());
        if owner.turn().is_some() || owner == CommandOwner::Nobody || job.prepares {
            return Ok(None);
        }
        let mounts = self.holds(plan, owner);
        let own = own_folder(plan, owner.task(), job).map(|(own, _)| own);
        let root = own.as_ref().unwrap_or(&plan.rules.workspace);
        let scratch = protection.scratch((plan, owner, job), root, mounts, run);
        scratch.map(Some)
    }

    /// Whether mounts hold files for a command.
    pub fn holds(&self, plan: &Plan, owner: CommandOwner) -> bool {
        let how = plan.confinement(owner.task(), agent_of(plan, owner));
        self.refused.is_none() && !how.is_off()
    }

    /// The mounts for the tools of a turn, which are no process: as much as a process of its agent gets.
    pub fn of_tools(&self, of: (&Plan, &Protection), turn: TurnId) -> Option<MountPlan> {
        let owner = CommandOwner::Turn(turn);
        let how = of.0.confinement(owner.task(), agent_of(of.0, owner));
        self.holds(of.0, owner).then(|| self.plan(of, how, owner, &CommandJob::default()))
    }

    /// The folder for temporary files of a command that shall have one of its own: who judges may write nowhere else.
    fn temporary(&self, how: Confinement, owner: CommandOwner, job: &CommandJob) -> Option<PathBuf> {
        let is_wanted = matches!(owner, CommandOwner::Ask(..)) || is_kept_in(how, job);
        is_wanted.then(|| self.state.join(SCRATCH))
    }

    /// The mount plan of a command.
    fn plan(
        &self,
        (plan, protection): (&Plan, &Protection),
        how: Confinement,
        owner: CommandOwner,
        job: &CommandJob,
    ) -> MountPlan {
        let task = owner.task();
        let of_workspace = match owner {
            CommandOwner::Ask(..) | CommandOwner::Nobody => Access::Read,
            _ => Access::Write,
        };
        let mut rules = self.common.clone();
        if owner == CommandOwner::Nobody {
            // Who tells of a run may look at it.
            let state = rules.iter_mut().filter(|(path, _)| *path == self.state);
            state.for_each(|(_, access)| *access = Access::Read);
        }
        rules.extend(self.of_hidden(owner, job));
        let sees_all = plan.rules.hidden.is_none() || job.sees_hidden;
        let owned = own_folder(plan, task, job);
        let is_apart = owned.is_some() || of_workspace == Access::Read;
        let mut folders = match owned {
            // The checkout of the user is none of it.
            Some((own, history)) => {
                let workspace = plan.rules.workspace.clone();
                let protected = task.map(|task| protection.read_only_in_folder(plan, task, MOST_MOUNTS));
                rules.extend(protected.into_iter().flatten().map(|path| (path, Access::Read)));
                let history = plan.rules.hidden.is_none().then_some((history, Access::Read));
                let own = [(workspace, Access::Read), (own, of_workspace)].into_iter();
                own.chain(history).collect::<Vec<_>>()
            }
            None => {
                let all = [plan.rules.workspace.clone(), job.cwd.clone()].into_iter();
                let all = all.take(if owner == CommandOwner::Nobody { 1 } else { 2 });
                let all = all.chain(task.map(|task| plan.workspace_of(task)));
                all.map(|path| (path, of_workspace)).collect()
            }
        };
        // Most tasks work in the workspace.
        folders.dedup();
        let folders = folders.into_iter();
        rules.extend(folders.filter_map(|(path, access)| Some((real(&path)?, access))));
        let git = self.git.iter().filter(|_| is_apart);
        let of_git = if sees_all { Access::Read } else { Access::Hidden };
        rules.extend(git.map(|path| (path.clone(), of_git)));
        rules.extend(self.own(owner, job));
        let temporary = self.temporary(how, owner, job);
        rules.extend(temporary.map(|path| (path, Access::Scratch)));
        if let CommandOwner::Ask(_, agent) = owner {
            rules.extend(of_judge(plan, protection, (task, agent), &job.cwd));
        }
        if let CommandOwner::Task(task) = owner
            && job.copy.is_none()
        {
            let left = protection.left_by_checks(plan, task);
            rules.extend(left.into_iter().map(|path| (path, Access::Write)));
        }
        if is_kept_in(how, job) {
            rules.extend(self.outside_of_workspace(&plan.rules.workspace, job));
        }
        let elsewhere = if is_kept_in(how, job) { Access::Read } else { Access::Write };
        let mut mounts = MountPlan::new(elsewhere, rules);
        mounts.without_network = how.without_network();
        mounts
    }

    /// The access of a command to the hidden files.
    fn of_hidden(&self, owner: CommandOwner, job: &CommandJob) -> impl Iterator<Item = (PathBuf, Access)> {
        let access = if job.sees_hidden { Access::Read } else { Access::Masked };
        let hidden = self.hidden.iter().filter(move |_| owner != CommandOwner::Nobody);
        hidden.map(move |path| (path.clone(), access))
    }

    /// The paths of the state folder that a command may use: those that its variables name, and its own folder.
    fn own(&self, owner: CommandOwner, job: &CommandJob) -> Vec<(PathBuf, Access)> {
        // A turn's result lies in the folder of its messages.
        if let (CommandOwner::Ask(..), Some(result)) = (owner, &job.outputs.result) {
            // What is not there cannot be mounted. Where it cannot be made the command says what it misses.
            let _ = fs::OpenOptions::new().write(true).create_new(true).open(result);
        }
        let is_named = |name: &str, value: &str| name.starts_with("QUORUM_") && value.starts_with('/');
        let named = job.variables.iter().filter(|(name, value)| is_named(name, value));
        let shown = job.shown.iter().filter_map(|path| Some(("", real(path)?)));
        let below = named.filter_map(|(name, value)| Some((name.as_str(), real(Path::new(value))?)));
        let below = below.chain(shown);
        let below = below.filter(|(_, path)| path.starts_with(&self.state) && *path != self.state);
        let access = |name: &str| {
            if WRITTEN.contains(&name) { Access::Write } else { Access::Read }
        };
        below.map(|(name, path)| (path, access(name))).collect()
    }

    /// The paths beside the workspace that can be changed where nothing else is to be: folders for temporary
    /// files, and those that known agents keep in the folder of the user.
    fn outside_of_workspace(&self, workspace: &Path, job: &CommandJob) -> Vec<(PathBuf, Access)> {
        let scratch = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let scratch: Vec<PathBuf> = scratch.into_iter().filter_map(|path| real(&path)).collect();
        // What it is started with is there, too, with what lies beside it.
        let worked_in = [workspace, &job.cwd].map(real);
        let is_apart = |path: &Path| {
            let is_below = |above: &PathBuf| path.starts_with(above) && path != above;
            let mut worked_in = worked_in.iter().flatten();
            scratch.iter().any(is_below)
                && !worked_in.any(|folder| folder.starts_with(path) || path.starts_with(folder))
        };
        let path_var = env::var("PATH").unwrap_or_default();
        let named = job
            .argv
            .iter()
            .filter_map(|word| real(&resolve(word, &path_var, &job.cwd).unwrap_or_else(|_| word.into())));
        let named = named.filter(|path| is_apart(path)).map(|path| {
            let beside = path.parent().filter(|beside| is_apart(beside));
            beside.map_or(path.clone(), Path::to_owned)
        });
        let named: Vec<(PathBuf, Access)> = named.map(|path| (path, Access::Read)).collect();
        let program = program_of(job);
        let kept = KEPT.iter().filter(|(name, _)| *name == program).flat_map(|(_, paths)| *paths);
        let kept = self.home.iter().flat_map(|home| kept.clone().filter_map(|path| real(&home.join(path))));
        // What builds keep of the user's they make anew there.
        let cache = self.home.iter().filter(|_| job.copy.is_some());
        let cache = cache.filter_map(|home| real(&home.join(".cache")));
        scratch
            .into_iter()
            .chain(cache)
            .map(|path| (path, Access::Scratch))
            .chain(named)
            .chain(kept.map(|path| (path, Access::Write)))
            .collect()
    }
}

/// The name of the program of a command. Behind ACP the first word is our own client, and the server stands behind its word.
fn program_of(job: &CommandJob) -> &str {
    let is_client = job.argv.get(1).is_some_and(|word| word == acp::WORD);
    let program = job.argv.get(if is_client { 2 } else { 0 });
    let program = program.and_then(|program| Path::new(program).file_name());
    program.and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether a command can write nowhere but in its folder: where that is a copy, what it writes is to be gone with it.
fn is_kept_in(how: Confinement, job: &CommandJob) -> bool {
    how.only_workspace() || job.copy.is_some()
}

/// The folder of its own that a command works in, and the history that its repository borrows: where an
/// isolated task works, or where all accepted work lies together.
fn own_folder(plan: &Plan, task: Option<TaskId>, job: &CommandJob) -> Option<(PathBuf, PathBuf)> {
    if let Some(copy) = &job.copy {
        // Its repository borrows nothing.
        return Some((copy.clone(), PathBuf::new()));
    }
    if let Some(apart) = &job.apart {
        return Some((apart.folder.clone(), apart.objects.clone()));
    }
    let all = plan.rules.worktrees.root.as_ref()?;
    let merged = all.join(Plan::MERGED);
    let own = match task.filter(|task| plan.task(*task).is_isolated()) {
        Some(task) => plan.root_of(task),
        None if job.cwd.starts_with(&merged) => merged,
        None => return None,
    };
    Some((own, all.join("repository.git/objects")))
}

/// The agent at work in a command.
fn agent_of(plan: &Plan, owner: CommandOwner) -> Option<AgentId> {
    match owner {
        CommandOwner::Ask(_, agent) => Some(agent),
        CommandOwner::Turn(turn) | CommandOwner::Tool(turn) => Some(plan.task(turn.task).agent),
        CommandOwner::Task(_) | CommandOwner::Audit | CommandOwner::Nobody => None,
    }
}

/// The paths that a judge's program must not read in its folder, because somebody may have put them there to be
/// believed, and those that it may write for itself: it may not start where it cannot write its own files.
fn of_judge(
    plan: &Plan,
    protection: &Protection,
    (task, agent): (Option<TaskId>, AgentId),
    cwd: &Path,
) -> Vec<(PathBuf, Access)> {
    let masked = protection.masked(plan, task, agent).into_iter();
    let masked = masked.filter_map(|path| real(&path));
    let preset = presets::program_of(&plan.agent(agent).spec);
    let keeps = preset.iter().flat_map(|preset| &preset.keeps);
    let folders = keeps.filter_map(|glob| glob.strip_prefix("**/")?.split_once('/'));
    let own = folders.filter_map(|(folder, _)| real(&cwd.join(folder)));
    let own: BTreeSet<PathBuf> = own.filter(|path| path.is_dir()).collect();
    let all = masked.chain(own.clone());
    let access = |path: PathBuf| match path.is_dir() {
        true if own.contains(&path) => (path, Access::Scratch),
        true => (path, Access::Hidden),
        false => (path, Access::Masked),
    };
    all.map(access).collect()
}

/// The paths in the folder of the user that known agents must still write, by the name of their program
/// (`docs/guides/confinement.md`).
const KEPT: &[(&str, &[&str])] = &[
    ("claude", &[".claude", ".claude.json", ".cache"]),
    ("claude-agent-acp", &[".claude", ".claude.json", ".cache"]),
    ("codex", &[".codex"]),
    ("codex-acp", &[".codex"]),
    ("gemini", &[".gemini"]),
    ("opencode", &[".local/share/opencode", ".local/state/opencode", ".config/opencode", ".cache/opencode"]),
    ("qwen", &[".qwen"]),
    ("aider", &[".aider"]),
    ("pi", &[".pi"]),
];

/// A path without links; `None` where nothing is there.
fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Folders in which programs of the user listen.
fn user_services() -> BTreeSet<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let run = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let tmux = env::var_os("TMUX_TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let all = [
        Some(PathBuf::from(format!("/run/user/{user}"))),
        run,
        Some(tmux.join(format!("tmux-{user}"))),
        env::var_os("SCREENDIR").map(PathBuf::from),
    ];
    let home = env::home_dir().into_iter();
    let own = home.flat_map(|home| USER_SERVICES.map(|folder| home.join(folder)));
    all.into_iter().flatten().chain(own).collect()
}

/// Devices that hold file systems or the memory of the machine, as far as this user can open them: they lead around every
/// mount.
fn raw_devices() -> Vec<PathBuf> {
    let memory = ["/dev/mem", "/dev/kmem", "/dev/port"].map(PathBuf::from);
    let all = fs::read_dir("/dev").into_iter().flatten().flatten();
    let blocks = all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    let devices = blocks.map(|entry| entry.path()).chain(memory);
    devices.filter(|path| rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()).collect()
}

/// Sockets of the user's services, where they usually lie, and wherever a variable of this process names one:
/// `/tmp/agent.7`, `unix:///run/x.sock`, `unix:path=/run/x,guid=1`, `/tmp/x,7,0`.
fn user_sockets() -> impl Iterator<Item = PathBuf> {
    let home = env::home_dir().into_iter();
    let folders = home.flat_map(|home| LISTENING.map(|folder| home.join(folder)));
    let folders = folders.chain(env::var_os("GNUPGHOME").map(PathBuf::from));
    let listed = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let values = env::vars_os().filter_map(|(_, value)| value.into_string().ok());
    let named = values.flat_map(|value| {
        let ends = value.match_indices([',', ';', '=', ':']).map(|(at, _)| at);
        let ends: Vec<usize> = ends.chain([value.len()]).collect();
        let from = |number: usize| {
            let start = number.checked_sub(1).map_or(0, |before| ends[before] + 1);
            // The path may hold such a sign itself.
            let parts = ends[number..].iter().take(4);
            parts.map(|end| PathBuf::from(&value[start..*end])).collect::<Vec<_>>()
        };
        (0..ends.len()).flat_map(from).collect::<Vec<_>>()
    });
    let all = listed.map(|entry| entry.path()).chain(named);
    all.filter(|path| path.is_absolute())
        .filter(|path| fs::metadata(path).is_ok_and(|found| found.file_type().is_socket()))
}
