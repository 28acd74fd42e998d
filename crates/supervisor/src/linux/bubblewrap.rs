//! Confining a child by bubblewrap, where only that may make namespaces: an AppArmor profile may name it, or the kernel may be
//! older than the calls that `namespaces` needs.
//!
//! The same mount plan becomes its arguments. Bubblewrap mounts, and then starts this very program as process 1 of the
//! namespace, which does from there on what the first process of a confined child always does: it cannot be traced, tells
//! how the program ended, and lets SIGTERM pass by. Bubblewrap itself, which waits outside, ignores that signal; else it
//! would end at once, and everything with it. What it says of its own failures comes by the pipe of the report, so that it is
//! never taken for the program's word.
//!
//! It is looked for where systems put it and nowhere else: a `PATH` may name folders that agents write to.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, MemfdFlags, fstat, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::namespaces::{ExitReport, Processes, failure_of_probe, live_in_anothers, open_place};
use super::starter::Starter;
use crate::mount_plan::{Access, MountPlan};
use crate::posix;
use crate::protocol::{Frames, encode};
use crate::start::{NotStarted, Start};

/// The paths at which bubblewrap may be.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The argument that makes this program the first process of a namespace.
const FIRST: &str = "--first-of-a-namespace";

/// The path of bubblewrap, if it is installed.
pub fn installed() -> Option<PathBuf> {
    let is_program = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    PLACES.map(PathBuf::from).into_iter().find(is_program)
}

/// The program that the first process of a namespace starts; the numbers are descriptors.
#[derive(Debug, Serialize, Deserialize)]
struct Inside {
    /// The program and its arguments; nothing, where the start is only a try.
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    marker: String,
    folder: PathBuf,
    standard: [Option<RawFd>; 3],
}

/// Starts a program in namespaces that bubblewrap makes.
///
/// # Errors
/// See [`NotStarted`]; then there is no process.
pub fn start(
    bubblewrap: &Path,
    starter: &mut Starter,
    start: &Start<'_>,
    plan: (&MountPlan, Processes),
) -> Result<(Pid, ExitReport), NotStarted> {
    let system = |error: io::Error| NotStarted::Confinement(format!("bubblewrap: {error}"));
    let inside = Inside {
        arguments: start.arguments.to_vec(),
        environment: start.environment.to_vec(),
        marker: start.marker.to_owned(),
        folder: start.folder.to_owned(),
        standard: start.standard.each_ref().map(|file| file.as_ref().map(AsRawFd::as_raw_fd)),
    };
    let mut told = Vec::new();
    encode(&inside, &mut told).map_err(system)?;
    let mounts = arguments(plan, kind_of, rustix::process::getuid().is_root()).map_err(system)?;
    begin(bubblewrap, starter, (&mounts, &told), start).map_err(system)?
}

/// Tries to confine a process that does nothing: why it cannot be done here, `None` where it can.
pub fn probe(bubblewrap: &Path, starter: &mut Starter, processes: Processes) -> Option<String> {
    let nothing = Start {
        arguments: &[],
        environment: &[],
        marker: "",
        folder: Path::new("/"),
        standard: [None, None, None],
    };
    failure_of_probe(|plan| start(bubblewrap, starter, &nothing, (plan, processes)))
}

fn begin(
    bubblewrap: &Path,
    starter: &mut Starter,
    (mounts, inside): (&[OsString], &[u8]),
    of: &Start<'_>,
) -> io::Result<Result<(Pid, ExitReport), NotStarted>> {
    let (report, writer) = io::pipe()?;
    let mut list = Vec::new();
    for argument in mounts {
        list.extend_from_slice(argument.as_bytes());
        list.push(0);
    }
    let (list, inside) = (in_memory(&list)?, in_memory(inside)?);
    // Under this name it is the program that runs now, whatever became of its file.
    let itself = File::open("/proc/self/exe")?;
    let passed = [list.as_fd(), inside.as_fd(), itself.as_fd()];
    let standard = of.standard.iter().flatten().map(AsFd::as_fd);
    for descriptor in passed.into_iter().chain(standard) {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let words = [
        bubblewrap.to_string_lossy().into_owned(),
        "--args".to_owned(),
        list.as_raw_fd().to_string(),
        "--".to_owned(),
        format!("/proc/self/fd/{}", itself.as_raw_fd()),
        FIRST.to_owned(),
        inside.as_raw_fd().to_string(),
    ];
    let outer = Start {
        arguments: &words,
        // Nothing that a mission says may change what happens outside of the namespace.
        environment: &[],
        marker: of.marker,
        folder: Path::new("/"),
        standard: [None, None, Some(File::from(OwnedFd::from(writer)))],
    };
    let pid = starter.start_deaf(&outer)?;
    drop(outer);
    Ok(ExitReport::of(pid, report))
}

/// Makes a file in memory with these bytes, at its beginning.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"bubblewrap", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

/// The kind of the thing at a path, without following a link: whether it is a folder; `None` for nothing.
fn kind_of(path: &Path) -> io::Result<Option<bool>> {
    match open_place(path) {
        Ok(place) => Ok(Some(FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The arguments that carry out a plan, as `namespaces` does. `kind` says whether there is a folder at a path, or nothing.
fn arguments(
    (plan, processes): (&MountPlan, Processes),
    kind: impl Fn(&Path) -> io::Result<Option<bool>>,
    is_root: bool,
) -> io::Result<Vec<OsString>> {
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        all.extend(words.iter().map(|word| (*word).as_ref().to_owned()));
    };
    add(&[&"--unshare-user", &"--unshare-pid", &"--unshare-ipc", &"--cap-drop", &"ALL"]);
    add(&[&"--die-with-parent", &"--as-pid-1", &"--chdir", &"/"]);
    if plan.without_network {
        add(&[&"--unshare-net"]);
    }
    if plan.read_only_elsewhere {
        // Bubblewrap makes nothing read-only in which devices can still be opened: a `/dev` of its own is nobody else's.
        add(&[&"--ro-bind", &"/", &"/", &"--dev", &"/dev"]);
    } else {
        add(&[&"--dev-bind", &"/", &"/"]);
    }
    if processes == Processes::Own {
        add(&[&"--proc", &"/proc"]);
    }
    if is_root {
        add(&[&"--ro-bind", &"/proc/sys", &"/proc/sys"]);
    }
    let mut made_anew: Vec<&Path> = Vec::new();
    for (path, access) in plan.entries() {
        let in_new = made_anew.iter().any(|above| path.starts_with(above));
        let (mount, source) = match (access, kind(path)?) {
            // Bubblewrap would make it, outside.
            (Access::Scratch, None) if !in_new => return Err(missing(path)),
            (Access::Write, None) => return Err(missing(path)),
            (Access::Read | Access::Masked | Access::Hidden, None) => continue,
            (Access::Write, Some(_)) => ("--dev-bind", Some(path)),
            (Access::Read, Some(_)) => ("--ro-bind", Some(path)),
            (Access::Masked, Some(false)) => ("--dev-bind", Some(Path::new("/dev/null"))),
            (Access::Hidden | Access::Scratch | Access::Masked, _) => ("--tmpfs", None),
        };
        match source {
            Some(source) => add(&[&mount, &source, &path]),
            None => {
                add(&[&mount, &path]);
                made_anew.push(path);
            }
        }
    }
    for (path, own) in &plan.instead {
        add(&[&"--dev-bind", own, path]);
    }
    // What is hidden was writable so far, for the places of what is mounted below it.
    for (path, _) in plan.entries().filter(|(_, access)| *access == Access::Hidden) {
        if made_anew.contains(&path) {
            add(&[&"--remount-ro", &path]);
        }
    }
    Ok(all)
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("cannot open {}", path.display()))
}

/// Whether this program was started as the first process of a namespace: then it is that until its end. To be asked before
/// anything else is done.
pub fn live_as_first_of_a_namespace(words: &[OsString]) {
    let [_, word, descriptor] = words else { return };
    let number = descriptor.to_str().and_then(|number| number.parse::<RawFd>().ok());
    let Some(number) = number.filter(|number| word == FIRST && posix::is_handed_over(*number)) else {
        return;
    };
    // SAFETY: it is open, and nothing was opened yet, so that nobody owns what was handed over.
    let told = unsafe { File::from_raw_fd(number) };
    let Err(error) = live(told);
    // Whoever reads the report takes it for bubblewrap's word.
    eprintln!("the first process of the namespace: {error}");
    posix::exit_now(1)
}

fn live(mut told: File) -> io::Result<Infallible> {
    let mut bytes = Vec::new();
    told.read_to_end(&mut bytes)?;
    drop(told);
    let mut frames = Frames::default();
    frames.extend(&bytes);
    let inside: Inside = frames.next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
    // Its standard error is the report, and must not be the program's.
    let report = rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?;
    posix::silence_errors()?;
    let standard = inside.standard.map(|number| {
        // SAFETY: these were handed over with the numbers, and nobody else owns them.
        number.map(|number| unsafe { File::from_raw_fd(number) })
    });
    for file in standard.iter().flatten() {
        fcntl_setfd(file, FdFlags::CLOEXEC)?;
    }
    // What the standard library and whoever started bubblewrap made of them is not the program's.
    for signal in [libc::SIGTERM, libc::SIGPIPE] {
        posix::handle(signal, libc::SIG_DFL)?;
    }
    let mut starter = Starter::new();
    let kept = standard.iter().flatten().map(AsRawFd::as_raw_fd).collect();
    let start = Start {
        arguments: &inside.arguments,
        environment: &inside.environment,
        marker: &inside.marker,
        folder: &inside.folder,
        standard,
    };
    live_in_anothers(kept, report, || match start.arguments {
        [] => Ok(None),
        _ => starter.start_in_group(&start).map(Some),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Hidden, Masked, Read, Scratch, Write};

    /// The arguments behind those that are always the same. What ends in `.d` is a folder, `gone` is not there.
    fn mounts(plan: &MountPlan) -> io::Result<Vec<String>> {
        let kind = |path: &Path| {
            let name = path.to_string_lossy();
            Ok((!name.ends_with("gone")).then(|| name.ends_with(".d")))
        };
        let all = arguments((plan, Processes::Own), kind, false)?;
        let behind = all.iter().position(|word| word == "/proc").expect("there is a /proc");
        let words = all[behind + 1..].iter().map(|word| word.to_string_lossy().into_owned());
        Ok(words.collect())
    }

    fn plan(rules: &[(&str, Access)]) -> MountPlan {
        MountPlan::new(Access::Write, rules.iter().map(|(path, access)| (PathBuf::from(path), *access)))
    }

    #[test]
    fn each_rule_is_a_mount_and_what_is_hidden_is_closed_at_the_end() {
        let plan = plan(&[
            ("/w.d", Write),
            ("/w.d/t.sh", Read),
            ("/w.d/s.d", Hidden),
            ("/w.d/s.d/own", Write),
            ("/w.d/s.d/gone", Scratch),
            ("/w.d/m", Masked),
            ("/w.d/n.d", Masked),
        ]);
        let expected = "--dev-bind /w.d /w.d --dev-bind /dev/null /w.d/m --tmpfs /w.d/n.d --tmpfs /w.d/s.d \
            --tmpfs /w.d/s.d/gone --dev-bind /w.d/s.d/own /w.d/s.d/own --ro-bind /w.d/t.sh /w.d/t.sh --remount-ro /w.d/s.d";
        assert_eq!(mounts(&plan).expect("it can be written").join(" "), expected);
    }

    #[test]
    fn what_is_not_there_is_neither_mounted_nor_made_outside() {
        let left_out = plan(&[("/read-gone", Read), ("/mask-gone", Masked), ("/hide-gone", Hidden)]);
        assert_eq!(mounts(&left_out).expect("it can be written"), Vec::<String>::new());
        for access in [Write, Scratch] {
            assert!(mounts(&plan(&[("/gone", access)])).is_err(), "{access:?}");
        }
    }

    #[test]
    fn the_network_and_everything_else_are_kept_where_the_plan_says_so() {
        let words = |plan: &MountPlan, is_root| {
            let all =
                arguments((plan, Processes::Own), |_| Ok(Some(true)), is_root).expect("it can be written");
            let all: Vec<_> = all.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            all.join(" ")
        };
        let mut plan = plan(&[]);
        let open = words(&plan, false);
        assert!(open.contains("--dev-bind / / --proc /proc") && !open.contains("--unshare-net"), "{open}");
        (plan.without_network, plan.read_only_elsewhere) = (true, true);
        let closed = words(&plan, true);
        for part in ["--unshare-net", "--ro-bind / / --dev /dev", "--ro-bind /proc/sys /proc/sys"] {
            assert!(closed.contains(part), "{closed}");
        }
    }
}
