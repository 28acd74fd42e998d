//! Reports that a session leaves behind: files that were asked for, GitHub's summary and annotations.
//!
//! They are written however the run ends. One that cannot be written never changes what the run found out, but it must
//! not pass unnoticed either: an exit code of 0 becomes 1.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::{
    report::{
        count,
        documents::RunDocument,
        formats::{annotations::annotations, markdown::markdown},
    },
    runtime::{
        Ending, ReadBefore, RecoverError, Recovered, part_of_run, recover, settings_files, tidy_worktrees,
    },
    store::{RunFolder, StateFolder},
};
use rules::{
    domain::OutcomeClass,
    engine::{self, Outcome, State},
    plan::RunOptions,
};

use super::command_error::Failure;
use super::project::{current_dir, warn};
use super::report_kind::{ReportTarget, ReportTargets};
use super::report_place::{HeldPlace, ReportPlace, identity, moved, open_stream, write_stream};
use super::screen::{LiveView, Screen};
use super::telemetry::export;

/// The longest summary of a step in bytes: GitHub takes 1 MiB, and drops a longer one whole.
const SUMMARY_BYTES: usize = 900 * 1024;

/// The reports that a session writes at its end.
pub struct Reports {
    targets: Vec<ReportTarget>,
    /// GitHub's summary of the step, and the file that was there when the session began.
    summary: Option<(PathBuf, io::Result<File>)>,
    annotate: bool,
    /// The places of the reports, from which a session has removed earlier ones: what lies there since is
    /// somebody's work.
    held: RefCell<Vec<HeldPlace>>,
}

impl Reports {
    /// The reports of `run` and `resume`: what flags and GitHub ask for. See [`Reports::check`].
    pub fn of_session(targets: &[ReportTargets]) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let targets: Vec<ReportTarget> =
            targets.iter().flat_map(|targets| targets.0.iter().cloned()).collect();
        if let Some(target) = targets.iter().find(|target| target.is_stdout()) {
            let help = format!(
                "nothing was started; name a file, or type `quorum report --to {}=-` afterwards",
                target.kind.as_str()
            );
            return Err(usage!("stdout already has the result of the run").help(help));
        }
        let reports = Self::to(&targets)?;
        Ok(Self {
            summary: variable("GITHUB_STEP_SUMMARY").map(|path| {
                let path = PathBuf::from(path);
                let opened = open_stream(OpenOptions::new().append(true).create(true), &path);
                (path, opened)
            }),
            annotate: variable("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            ..reports
        })
    }

    /// Removes earlier reports, since the session begins: if it is killed before it can write, nobody shall take the old
    /// ones for its result.
    pub fn clear(&self) -> Result<(), Failure> {
        for target in &self.targets {
            let held = HeldPlace::cleared(&target.path).map_err(|error| {
                let path = target.path.display();
                usage!("the earlier report {path} cannot be removed: {error}")
            })?;
            self.held.borrow_mut().push(held);
        }
        Ok(())
    }

    /// Only these: files, and at most one to stdout.
    pub fn to(targets: &[ReportTarget]) -> Result<Self, Failure> {
        if targets.iter().filter(|target| target.is_stdout()).count() > 1 {
            return Err(usage!("only one report can go to stdout").help("name files for the others"));
        }
        Ok(Self { targets: targets.to_vec(), summary: None, annotate: false, held: RefCell::default() })
    }

    /// Refuses a path that cannot be written to, that is a part of the run, or that is another report's.
    pub fn check(
        &self,
        (state, options): (&State, &RunOptions),
        mission: Option<PathBuf>,
        folder: &StateFolder,
    ) -> Result<(), Failure> {
        let settings = settings_files(&current_dir()?).into_iter().map(|file| file.path);
        let read = ReadBefore { mission, settings: settings.collect() };
        let mut taken = Vec::new();
        for target in self.targets.iter().filter(|target| !target.is_stdout()) {
            let path = &target.path;
            let place = ReportPlace::of(path).map_err(|error| unwritable(path, &error))?;
            if let ReportPlace::File(file) = &place {
                let what = if taken.contains(file) {
                    Some("another report".to_owned())
                } else {
                    part_of_run((state, options), &read, folder.path(), file)
                };
                if let Some(what) = what {
                    let failure = usage!("the report {} would replace {what}", path.display());
                    return Err(failure.help("nothing was started; give each report a file of its own"));
                }
                taken.push(file.clone());
            }
            let made = place.try_out().map_err(|error| unwritable(path, &error))?;
            if let Some(folder) = made {
                warn(&format!("the folder {} was not there and was made", folder.display()));
            }
        }
        Ok(())
    }

    /// Checks the targets of a run that has begun.
    pub fn check_against(&self, run: &Recovered, folder: &StateFolder) -> Result<(), Failure> {
        let mission = run.started.mission_path.clone();
        self.check((&run.state, &run.state.options), mission, folder)
    }

    /// Writes all reports. `false` if one that was asked for could not be written, which is said.
    pub fn write(&self, run: &RunFolder, document: &RunDocument<'_>, screen: &Screen) -> bool {
        let mut all = true;
        let held = self.held.borrow();
        for (number, target) in self.targets.iter().enumerate() {
            let rendered = target.kind.render(run, document);
            let written = rendered.and_then(|bytes| {
                if target.is_stdout() {
                    screen.result(&String::from_utf8_lossy(&bytes));
                    return Ok(());
                }
                match held.get(number) {
                    Some(held) => held.write(&target.path, &bytes),
                    None => ReportPlace::of(&target.path)?.write(&bytes),
                }
            });
            if let Err(error) = written {
                all = false;
                screen.error(&format!(
                    "error: the report {} cannot be written: {error}\n",
                    target.path.display()
                ));
            }
        }
        if let Some((path, opened)) = &self.summary
            && let Err(error) = append_summary(path, opened, document)
        {
            all = false;
            screen.error(&format!("error: the summary {} cannot be written: {error}\n", path.display()));
        }
        if self.annotate {
            // GitHub reads both streams; stdout may be one document.
            screen.error(&annotations(document));
        }
        all
    }

    /// Reports the end of a session and returns its exit code.
    pub fn finish(
        &self,
        run: &RunFolder,
        ending: Ending,
        view: Rc<RefCell<LiveView>>,
        screen: &Screen,
    ) -> u8 {
        let view = view.take().into_view(&ending.state);
        let outcome = engine::outcome(&ending.state);
        let document = RunDocument::of_session(&ending.state, &view, Some(&outcome));
        screen.report(&document);
        tell_delivery(&ending.state, screen);
        tidy_worktrees(run, &ending.state);
        for warning in &ending.warnings {
            screen.note(&format!("warning: {warning}"));
        }
        // Last, so that a report that could not be written is the last thing that is said.
        let reported = self.write(run, &document, screen);
        export(run, &ending.state, screen);
        exit_code(ending.outcome.exit_code(), reported)
    }

    /// Tells what can be told after a session that broke off: the state that was durable, and that it broke off. Returns
    /// the failure, which holds it too where one document is asked for.
    pub fn after_failure(&self, run: &RunFolder, failure: Failure, screen: &Screen) -> Failure {
        if !failure.is_internal() {
            return failure;
        }
        let mut view = LiveView::default();
        let recovered = match recover(run, |state, record| view.take(state, record)) {
            Ok(recovered) => recovered,
            // Nothing had begun, and the failure says why.
            Err(RecoverError::NeverStarted { .. }) => return failure,
            Err(error) => {
                screen.error(&format!("what was durable cannot be shown: {error}\n"));
                return failure;
            }
        };
        let outcome = Outcome {
            class: OutcomeClass::Internal,
            conditions: vec![OutcomeClass::Internal],
            allowed: Vec::new(),
        };
        let state = &recovered.state;
        let view = view.into_view(state);
        let document = RunDocument::of_session(state, &view, Some(&outcome));
        let failure = if screen.is_json() {
            match document.to_bytes().and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)) {
                Ok(document) => failure.with_run(document),
                Err(_) => failure,
            }
        } else {
            screen.report(&document);
            failure
        };
        self.write(run, &document, screen);
        failure
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let failure = usage!("the report {} cannot be written: {error}", path.display());
    failure.help("nothing was started; name a file in a folder that can be written to")
}

/// The exit code of a run, given whether its reports were written: never 0 if not.
pub fn exit_code(code: u8, reported: bool) -> u8 {
    match code {
        0 if !reported => OutcomeClass::Internal.exit_code(),
        code => code,
    }
}

/// One write at the end of the file: other steps' words stay.
fn append_summary(path: &Path, opened: &io::Result<File>, run: &RunDocument<'_>) -> io::Result<()> {
    let again = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
    let file = opened.as_ref().map_err(again)?;
    let found = file.metadata()?;
    if identity(&found) != identity(&fs::metadata(path)?) {
        return Err(moved());
    }
    let taken = usize::try_from(found.len()).unwrap_or(usize::MAX);
    let text = markdown(run, SUMMARY_BYTES.saturating_sub(taken)).map_err(io::Error::other)?;
    write_stream(file, text.as_bytes())
}

/// Says what became of the accepted work of isolated tasks.
pub fn tell_delivery(state: &State, screen: &Screen) {
    let Some(delivery) = &state.delivery else {
        if state.landed.is_some() {
            screen.error(
                "accepted and not merged: `quorum resume` goes on, and brings it into your repository\n",
            );
        }
        return;
    };
    if let Some(why) = &delivery.why {
        screen.note(&format!("error: {why}; `quorum resume` tries it again"));
    }
    let what = match delivery.waits {
        None => "merged",
        Some(_) => "accepted and not merged",
    };
    if delivery.commits > 0 {
        screen.error(&format!("{what}: {}\n", count(delivery.commits as usize, "commit")));
    }
}
