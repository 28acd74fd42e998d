//! Where things are: the project's `quorum.yaml`, the user's, the state folder, the runs in it.

use std::fs::{self, Metadata};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::{
    runtime::{
        CheckedOrigin, RecoverError, Recovered, RunOrigin, SettingsError, is_whole, newest, operator_key,
        origin, recover, settings_files, vouched,
    },
    store::{DamagedJournal, FolderError, Record, RunFolder, StateFileError, StateFolder},
};
use rules::{domain::RunId, engine::State, mission::ConfigLayer};
use supervisor::files::is_unfit;

use super::args::{LATEST, OfRun, OutputArgs, Trust};
use super::command_error::Failure;
use super::screen::Screen;
use super::variables::check_config;

/// The name of the state folder where nobody names one.
const STATE: &str = ".polpo";
/// The advice about something that has no place in a state folder.
const MISPLACED: &str = "nothing was started, and nothing was touched; remove it, or name another state folder with \
                         --state-dir";
/// The advice about a state folder that cannot be written.
pub const WRITABLE: &str = "make the folder writable, or name another one with --state-dir";

/// The project's settings and the user's, each with what the file is called and its text; `None` where there is none.
pub fn settings_texts() -> Result<[Option<(String, String)>; 2], Failure> {
    check_config()?;
    let here = current_dir()?;
    let mut texts = [None, None];
    for file in settings_files(&here) {
        let text = file.read().map_err(unreadable_settings)?;
        let name = file.path.strip_prefix(&here).unwrap_or(&file.path);
        let text = text.map(|text| (name.display().to_string(), text));
        let layer = usize::from(file.layer == ConfigLayer::User);
        texts[layer] = texts[layer].take().or(text);
    }
    Ok(texts)
}

/// Where the nearest `quorum.yaml` is, which must be a regular file.
pub fn project_config_path() -> Result<Option<PathBuf>, Failure> {
    let mut places = settings_files(&current_dir()?).into_iter();
    let Some(file) = places.find(|place| place.exists && place.layer == ConfigLayer::Project) else {
        return Ok(None);
    };
    file.check().map_err(unreadable_settings)?;
    Ok(Some(file.path))
}

fn unreadable_settings(error: SettingsError) -> Failure {
    Failure::usage(error).help("nothing was started; put a regular file there, or take away what is there")
}

fn project_folder() -> Result<Option<PathBuf>, Failure> {
    let file = project_config_path()?;
    Ok(file.and_then(|path| path.parent().map(Path::to_owned)))
}

/// The path of the current folder.
pub fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| environment!("there is no current folder: {error}"))
}

/// The state folder that a run begins in: the one that the flags, the project or the current folder name. It may not exist.
pub fn own_state_folder(output: &OutputArgs) -> Result<StateFolder, Failure> {
    let folder = state_folder_at(output.state_dir.as_deref(), false)?;
    folder.check().map_err(unusable)?;
    Ok(folder)
}

/// The state folder of a command that reads what is there or goes on with it: where there is none here, the nearest above.
pub fn state_folder(output: &OutputArgs) -> Result<StateFolder, Failure> {
    let folder = unchecked_state_folder(output)?;
    folder.check().map_err(unusable)?;
    Ok(folder)
}

/// A state folder that cannot be used as it is.
pub fn unusable(error: FolderError) -> Failure {
    match error {
        FolderError::Misplaced(_) => Failure::environment(error).help(MISPLACED),
        FolderError::Io { ref source, .. } if is_unfit(source) => Failure::environment(error).help(MISPLACED),
        FolderError::Io { .. } => Failure::environment(error).help(WRITABLE),
        error => Failure::environment(error),
    }
}

/// Tells that a file of the state folder cannot be used.
pub fn unusable_file(error: StateFileError) -> Failure {
    let is_io = matches!(error, StateFileError::Io { .. });
    let failure = Failure::environment(error);
    if is_io { failure.help(WRITABLE) } else { failure }
}

/// Opens the state folder whatever is in it.
pub fn unchecked_state_folder(output: &OutputArgs) -> Result<StateFolder, Failure> {
    state_folder_at(output.state_dir.as_deref(), true)
}

/// The state folder that is named, or the usual one; where there is none, the nearest above if that is wanted.
pub fn state_folder_at(named: Option<&Path>, looks_above: bool) -> Result<StateFolder, Failure> {
    let folder = match named {
        Some(path) => StateFolder::named(path),
        None => {
            let here = current_dir()?;
            let usual = project_folder()?.unwrap_or_else(|| here.clone()).join(STATE);
            let is_missing = fs::symlink_metadata(&usual).is_err();
            let above = (looks_above && is_missing).then(|| nearest_state(&here)).flatten();
            StateFolder::at(&above.unwrap_or(usual))
        }
    };
    folder.map_err(Failure::environment)
}

/// The state folder nearest to a folder, as git looks for a repository: upwards, to the border of the file system or a folder of
/// another owner.
fn nearest_state(here: &Path) -> Option<PathBuf> {
    let begin = fs::metadata(here).ok()?;
    let owners = [begin.uid(), rustix::process::geteuid().as_raw()];
    let is_ours = |found: &Metadata| found.dev() == begin.dev() && owners.contains(&found.uid());
    here.ancestors()
        .take_while(|folder| fs::metadata(folder).is_ok_and(|found| is_ours(&found)))
        .map(|folder| folder.join(STATE))
        .find(|place| fs::symlink_metadata(place).is_ok_and(|found| found.is_dir() && is_ours(&found)))
}

/// All runs, the one that began first at first.
pub fn all_runs(folder: &StateFolder) -> Result<Vec<RunFolder>, Failure> {
    folder.runs().map_err(|error| unlisted(folder, &error))
}

fn unlisted(folder: &StateFolder, error: &std::io::Error) -> Failure {
    let place = folder.path().display();
    let failure = environment!("cannot read the runs in {place}: {error}");
    if is_unfit(error) { failure.help(MISPLACED) } else { failure }
}

/// The run that is meant: by its id, by a beginning or an end of one that no other run has, or the one that began last. What
/// was passed over because nobody vouches for it is named on standard error.
pub fn find_run(folder: &StateFolder, wanted: Option<&RunId>) -> Result<RunFolder, Failure> {
    vouched_run(folder, wanted).map(|(run, _)| run)
}

/// Finds a run, and checks it by this machine's key.
pub fn vouched_run(
    folder: &StateFolder,
    wanted: Option<&RunId>,
) -> Result<(RunFolder, CheckedOrigin), Failure> {
    let (run, vouched) = match wanted.filter(|id| id.as_str() != LATEST) {
        Some(id) => {
            let run = named_run(folder, id)?;
            let vouched = vouched(&run, operator_key().as_ref());
            (run, vouched)
        }
        None => latest_run(folder)?,
    };
    // Who made a record that cannot be read is no question.
    if let Some(note) = vouched.origin.note(run.id()).filter(|_| is_whole(&run)) {
        warn(&note);
    }
    Ok((run, vouched))
}

/// Finds a run that a machine or a person goes by: this machine's key must vouch for it where there is one, or
/// `trust` a person who does.
pub fn trusted_run(of: &OfRun, trust: &Trust, screen: &Screen) -> Result<(StateFolder, RunFolder), Failure> {
    let folder = state_folder(screen.output())?;
    let (run, vouched) = vouched_run(&folder, of.id())?;
    trust.holds(&run, vouched.origin)?;
    Ok((folder, run))
}

impl Trust {
    /// Refuses a run that nobody vouches for, where this machine has a key.
    pub fn holds(&self, run: &RunFolder, origin: RunOrigin) -> Result<(), Failure> {
        let is_trusted = self.trust_origin || origin == RunOrigin::Verified || operator_key().is_none();
        if is_trusted {
            return Ok(());
        }
        // Of what cannot be read that is what matters.
        recover(run, |_, _| {}).map_err(refuse)?;
        Err(environment!(
            "this machine's key does not vouch for run {}: somebody else may have put it there, or its end",
            run.id()
        )
        .help("look at it with `quorum status`; if you know where it comes from, add --trust-origin"))
    }
}

/// Says something beside the result. Whoever read it may be gone: that is silent.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "warning: {text}");
}

/// The run that a command is about, with the state folder in which it is.
pub fn run_of(of: &OfRun, screen: &Screen) -> Result<(StateFolder, RunFolder), Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, of.id())?;
    Ok((folder, run))
}

/// Whether a text that stands in the place of a name is the id of a run.
pub fn is_run(folder: &StateFolder, text: &str) -> bool {
    RunId::new(text).is_ok_and(|id| folder.run(&id).journal().is_file())
}

fn named_run(folder: &StateFolder, wanted: &RunId) -> Result<RunFolder, Failure> {
    let exact = folder.run(wanted);
    if exact.journal().is_file() {
        return Ok(exact);
    }
    let mut runs = all_runs(folder)?;
    let place = folder.path().display();
    if runs.is_empty() {
        return Err(no_run(folder));
    }
    let names = |runs: &[RunFolder]| {
        let names: Vec<&str> = runs.iter().rev().take(5).map(|run| run.id().as_str()).collect();
        names.join(", ")
    };
    let latest = names(&runs);
    let is_meant = |run: &RunFolder| {
        let (id, part) = (run.id().as_str(), wanted.as_str());
        id.starts_with(part) || id.ends_with(part)
    };
    runs.retain(is_meant);
    match runs.as_slice() {
        [run] => Ok(run.clone()),
        [] => Err(usage!("there is no run '{wanted}' in {place}").help(format!(
            "the latest runs are: {latest}; a title comes before the run, in quotes where it has blanks"
        ))),
        several => Err(usage!("'{wanted}' begins or ends the ids of {} runs in {place}", several.len())
            .help(format!("write more of the id; it may be one of: {}", names(several)))),
    }
}

fn latest_run(folder: &StateFolder) -> Result<(RunFolder, CheckedOrigin), Failure> {
    let runs = folder.known_runs().map_err(|error| unlisted(folder, &error))?;
    let found = newest(runs, operator_key().as_ref());
    let ids: Vec<&str> = found.passed_over.iter().map(|run| run.id().as_str()).collect();
    match found.run {
        Some(run) => {
            if !ids.is_empty() {
                warn(&passed_over(&ids));
            }
            Ok(run)
        }
        None if ids.is_empty() => Err(no_run(folder)),
        None => {
            Err(internal!(passed_over(&ids))
                .help("name a run to look at it all the same: `quorum status RUN`"))
        }
    }
}

fn passed_over(ids: &[&str]) -> String {
    format!(
        "passed over, because this machine's key does not vouch for it and somebody else may have put it there: {}",
        ids.join(", ")
    )
}

fn no_run(folder: &StateFolder) -> Failure {
    usage!("there is no run in {}", folder.path().display()).help("start one with `quorum run MISSION`")
}

/// Folds a run's journal.
pub fn open_run(run: &RunFolder, watch: impl FnMut(&State, &Record)) -> Result<Recovered, Failure> {
    let mut recovered = recover(run, watch).map_err(refuse)?;
    let notes = &mut recovered.state.notes;
    notes.extend(origin(run, operator_key().as_ref()).note(run.id()));
    notes.extend(recovered.unsaid.map(str::to_owned));
    Ok(recovered)
}

/// The failure of a command whose run cannot be read: the user changed something, or the state is damaged.
pub fn refuse(error: RecoverError) -> Failure {
    match error {
        RecoverError::MissionChanged { .. } | RecoverError::NeverStarted { .. } => {
            Failure::usage(error).help("restore the file, or start a new run with `quorum run`")
        }
        // Everything before it can be read: a prefix would say nothing of where the record came from.
        RecoverError::Journal(DamagedJournal::NotOfMission { .. }) => Failure::internal(error),
        RecoverError::Journal(ref damage) if damage.place().is_some() => {
            let run = damage.path().parent().and_then(Path::file_name).unwrap_or_default();
            let run = run.to_string_lossy().into_owned();
            Failure::internal(error).help(format!(
                "`quorum doctor state {run}` looks at the whole run; `quorum doctor state --keep-good-prefix {run}` keeps \
                 what stands before the damage and moves the rest aside. A run that is moved out of the state folder is in \
                 nobody's way"
            ))
        }
        RecoverError::Newer { .. } | RecoverError::MissionRefused { .. } => Failure::environment(error),
        // Nothing of the state is in the place of something of the state.
        RecoverError::Misplaced(_) => Failure::environment(error).help(MISPLACED),
        RecoverError::Journal(DamagedJournal::Io { ref source, .. })
        | RecoverError::Mission { ref source, .. }
        | RecoverError::Runs { ref source, .. }
            if is_unfit(source) =>
        {
            Failure::environment(error).help(MISPLACED)
        }
        RecoverError::Journal(_)
        | RecoverError::Foreign { .. }
        | RecoverError::Mission { .. }
        | RecoverError::Runs { .. } => Failure::internal(error),
    }
}
