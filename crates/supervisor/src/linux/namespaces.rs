//! Confining a child on Linux: namespaces of its own for users, mounts, processes and System V IPC, with a mount plan carried
//! out before its program begins (semantics, section 23).
//!
//! The child of the supervisor is process 1 of the new namespace: it carries out the plan, gives up all rights, starts the
//! program and waits for it. Everything in the namespace dies with it, however it hid. It cannot be traced or read, for it is a
//! copy of the supervisor, and it ignores SIGTERM, so that the program has its grace while its process group is asked to end.
//!
//! What it must do is what only root of a user namespace may do, in this order: map the user, detach the mounts, open every
//! path that the plan names, mount, and only then enter the working folder by its path. A descriptor or a folder that was
//! entered before would lead around the mounts.

use std::ffi::c_long;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getgid, getuid, set_dumpable_behavior,
    set_parent_process_death_signal, setpgid, wait,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use super::scope;
use super::starter::Starter;
use crate::mount_plan::{Access, MountPlan};
use crate::posix;
use crate::start::{NotStarted, Start};

/// The messages of the first process of a namespace to the supervisor, over a pipe that closes with it: one of
/// these bytes, then four of an error number or a status; behind [`NOT_CONFINED`] words up to the end.
const STARTED: u8 = 0;
const PROGRAM_REFUSED: u8 = 1;
const NOT_CONFINED: u8 = 2;
/// How the program ended, as `wait` gives it: the last thing that is told.
const ENDED: u8 = 3;

/// The numbers of a user and of its group.
type UserIds = (u32, u32);

/// The processes that a confined child finds in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Processes {
    /// The processes of its own namespace.
    Own,
    /// Everybody's: where parts of `/proc` are masked, as in containers, the system lets nobody mount another.
    Everybodys,
}

/// Where the supervisor reads how the program of a confined child ended.
pub struct ExitReport(io::PipeReader);

impl ExitReport {
    /// How the program ended, once the first process of its namespace has. `None` where that was killed: then its own end is
    /// the program's.
    pub fn status(mut self) -> Option<ExitStatus> {
        let (kind, number) = decoded(read_word(&mut self.0)?);
        (kind == ENDED).then(|| ExitStatus::from_raw(number))
    }

    /// The report of a process that was just made, which begins with whether the program began. On error it has ended.
    pub fn of(pid: Pid, mut reader: io::PipeReader) -> Result<(Pid, Self), NotStarted> {
        let system = |what: &str, error: io::Error| NotStarted::Confinement(format!("{what}: {error}"));
        let word = read_word(&mut reader);
        if word.is_some_and(|word| word[0] == STARTED) {
            return Ok((pid, Self(reader)));
        }
        let mut rest = Vec::new();
        // Without words there is still the error.
        let _ = reader.read_to_end(&mut rest);
        let words = String::from_utf8_lossy(&rest);
        let failed = match word.map(|word| (word, decoded(word))) {
            None => NotStarted::Confinement("it ended before its program began".to_owned()),
            Some((_, (PROGRAM_REFUSED, number))) => NotStarted::Program(io::Error::from_raw_os_error(number)),
            Some((_, (NOT_CONFINED, number))) => system(&words, io::Error::from_raw_os_error(number)),
            // What is said by others, as people read it.
            Some((begin, _)) => {
                let said = format!("{}{words}", String::from_utf8_lossy(&begin));
                NotStarted::Confinement(said.trim().replace('\n', "; "))
            }
        };
        posix::wait_for(pid).map_err(|error| system("cannot wait", error))?;
        Err(failed)
    }
}

/// Starts a program in namespaces of its own.
///
/// # Errors
/// See [`NotStarted`]; then there is no process.
pub fn start(
    starter: &mut Starter,
    start: &Start<'_>,
    plan: (&MountPlan, Processes),
) -> Result<(Pid, ExitReport), NotStarted> {
    // The supervisor's sockets and files are not the child's: who waits for their end would wait for it.
    let kept = start.standard.iter().flatten().map(AsRawFd::as_raw_fd);
    begin(plan, kept.collect(), || starter.start_in_group(start).map(Some))
}

/// Makes namespaces and carries out a plan in them, for nothing: why that cannot be done here.
pub fn probe(processes: Processes) -> Option<String> {
    failure_of_probe(|plan| begin((plan, processes), Vec::new(), || Ok(None)))
}

/// Why a process that does nothing cannot be confined by a plan that hides a folder; `None` where it can.
pub fn failure_of_probe(
    start: impl FnOnce(&MountPlan) -> Result<(Pid, ExitReport), NotStarted>,
) -> Option<String> {
    let plan = MountPlan::new(Access::Write, [(PathBuf::from("/tmp"), Access::Hidden)]);
    match start(&plan) {
        Ok((pid, _)) => posix::wait_for(pid).err().map(|error| error.to_string()),
        Err(NotStarted::Confinement(why)) => Some(why),
        Err(NotStarted::Program(error)) => Some(error.to_string()),
    }
}

fn begin(
    (plan, processes): (&MountPlan, Processes),
    kept: Vec<RawFd>,
    program: impl FnOnce() -> io::Result<Option<Pid>>,
) -> Result<(Pid, ExitReport), NotStarted> {
    let system = |what: &str, error: io::Error| NotStarted::Confinement(format!("{what}: {error}"));
    let (reader, writer) = io::pipe().map_err(|error| system("cannot make a pipe", error))?;
    let mut namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if plan.without_network {
        namespaces |= libc::CLONE_NEWNET;
    }
    // In the namespace nobody has a number before it is mapped.
    let ids = (getuid().as_raw(), getgid().as_raw());
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM this is a fork: the child has a copy of everything, and the supervisor has one thread.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(NotStarted::Confinement(no_namespaces(&io::Error::last_os_error()))),
        0 => live_as_first(|| confine(plan, processes, ids), kept, writer, program),
        pid => {
            drop(writer);
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            ExitReport::of(pid.ok_or_else(|| system("cannot start", io::ErrorKind::Other.into()))?, reader)
        }
    }
}

/// One word of the first process of a namespace; `None` where it has gone without one.
fn read_word(pipe: &mut io::PipeReader) -> Option<[u8; 5]> {
    let mut word = [0; 5];
    pipe.read_exact(&mut word).ok()?;
    Some(word)
}

/// Reads a message: its kind, and its number.
fn decoded([kind, number @ ..]: [u8; 5]) -> (u8, i32) {
    (kind, i32::from_ne_bytes(number))
}

/// Why the system gives no namespaces, in words that say what to change.
fn no_namespaces(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::ENOSPC) => "user namespaces are switched off (`user.max_user_namespaces`)",
        Some(libc::EPERM) => "user namespaces are forbidden here (in a container: its seccomp profile)",
        Some(libc::EINVAL | libc::ENOSYS) => "this kernel has no user namespaces",
        _ => return format!("cannot make namespaces: {error}"),
    };
    why.to_owned()
}

/// The step of the plan that failed, and the system's error.
struct SetupError {
    what: String,
    errno: Errno,
}

trait OrRefused<T> {
    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T, SetupError>;
}

impl<T, E: Into<io::Error>> OrRefused<T> for Result<T, E> {
    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T, SetupError> {
        self.map_err(|error| SetupError {
            what: what(),
            errno: Errno::from_io_error(&error.into()).unwrap_or(Errno::IO),
        })
    }
}

/// The life of the first process of a namespace that somebody else has made and mounted. `program` starts what it waits for;
/// nothing, where it was only a try.
pub fn live_in_anothers(
    kept: Vec<RawFd>,
    report: OwnedFd,
    program: impl FnOnce() -> io::Result<Option<Pid>>,
) -> ! {
    live_as_first(withdraw, kept, report.into(), program)
}

/// The life of the first process of a namespace, which begins with its confinement.
fn live_as_first(
    confine: impl FnOnce() -> Result<(), SetupError>,
    mut kept: Vec<RawFd>,
    mut report: io::PipeWriter,
    program: impl FnOnce() -> io::Result<Option<Pid>>,
) -> ! {
    let pipe = report.as_raw_fd();
    kept.extend([0, 1, 2, pipe]);
    posix::close_others(kept);
    let mut tell = |kind: u8, number: i32, words: &str| {
        let mut told = vec![kind];
        told.extend(number.to_ne_bytes());
        told.extend(words.bytes());
        report.write_all(&told)
    };
    // Whether it is heard matters only where the program has begun.
    if let Err(SetupError { what, errno }) = confine() {
        let _ = tell(NOT_CONFINED, errno.raw_os_error(), &what);
        posix::exit_now(1);
    }
    let program = match program() {
        Ok(program) => program,
        Err(error) => {
            let _ = tell(PROGRAM_REFUSED, error.raw_os_error().unwrap_or(libc::EIO), "");
            posix::exit_now(1);
        }
    };
    if tell(STARTED, 0, "").is_err() {
        // The supervisor had gone before this process could be told to follow it; everything in here ends with this.
        posix::exit_now(1);
    }
    let Some(program) = program else {
        posix::exit_now(0);
    };
    // What it prints ends with the program and what that started, not with this process.
    posix::close_others([pipe]);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let _ = tell(ENDED, status.as_raw(), "");
                posix::exit_now(status.exit_status().unwrap_or(1));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => posix::exit_now(1),
        }
    }
}

fn confine(plan: &MountPlan, processes: Processes, ids: UserIds) -> Result<(), SetupError> {
    setpgid(None, None).or_refused(|| "cannot begin a process group".into())?;
    map_user(ids)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .or_refused(|| "cannot detach the mounts".into())?;
    carry_out(plan)?;
    let settings = settings_of_the_kernel()?;
    if processes == Processes::Own {
        mount_processes()?;
    }
    if let Some(settings) = settings {
        attach_at(&settings, Path::new("/proc/sys")).or_refused(|| "cannot close /proc/sys".into())?;
    }
    if plan.without_network {
        posix::raise_loopback().or_refused(|| "cannot start the loopback network".into())?;
    }
    withdraw()
}

/// Gives up all rights, and becomes a process that nobody in the namespace can read, and that ends with the one outside.
fn withdraw() -> Result<(), SetupError> {
    give_up_rights()?;
    // Abstract sockets belong to the network, which is shared. A kernel without such domains leaves them within reach.
    if let Some(domain) = scope::domain()
        && !scope::enter(domain.as_raw_fd())
    {
        return Err(io::Error::last_os_error()).or_refused(|| "cannot close abstract sockets".into());
    }
    // Whoever reads this process would read the supervisor's memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).or_refused(|| "cannot hide".into())?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .or_refused(|| "cannot follow the supervisor".into())?;
    Ok(())
}

/// Maps the user and its group to themselves: everything else belongs to nobody in here.
fn map_user((user, group): UserIds) -> Result<(), SetupError> {
    // A process that is hidden may not write its own map.
    set_dumpable_behavior(DumpableBehavior::Dumpable).or_refused(|| "cannot map the user".into())?;
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).or_refused(|| format!("cannot write {file}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}

/// A path that was opened before anything was mounted, as a mount that is nowhere yet.
struct Detached<'p> {
    path: &'p Path,
    access: Access,
    /// `None` for a folder that is made anew.
    tree: Option<OwnedFd>,
    is_folder: bool,
}

fn carry_out(plan: &MountPlan) -> Result<(), SetupError> {
    let nowhere = Path::new("/dev/null");
    let nowhere = open_place(nowhere).or_refused(|| format!("cannot open {}", nowhere.display()))?;
    let mut detached = Vec::new();
    for (path, access) in plan.entries() {
        detached.extend(detach((path, path), access, nowhere.as_fd())?);
    }
    for (path, own) in &plan.instead {
        detached.extend(detach((path, own), Access::Write, nowhere.as_fd())?);
    }
    if plan.read_only_elsewhere {
        let root = open_place(Path::new("/")).or_refused(|| "cannot open /".into())?;
        make_read_only(root.as_fd(), libc::AT_RECURSIVE).or_refused(|| "cannot make / read-only".into())?;
    }
    let mut made_anew: Vec<&Path> = Vec::new();
    for entry in &detached {
        if made_anew.iter().any(|above| entry.path.starts_with(above)) {
            make_place(entry)?;
        }
        attach(entry)?;
        if entry.tree.is_none() {
            made_anew.push(entry.path);
        }
    }
    // What is hidden was writable so far, for the places of what is mounted below it.
    let hidden = detached.iter().filter(|entry| entry.access == Access::Hidden);
    for path in hidden.map(|entry| entry.path) {
        let place = open_place(path).or_refused(|| format!("cannot open {}", path.display()))?;
        make_read_only(place.as_fd(), 0).or_refused(|| format!("cannot close {}", path.display()))?;
    }
    Ok(())
}

/// Opens a path that leads nowhere but to itself.
pub fn open_place(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS) => openat(CWD, path, flags, Mode::empty()),
        opened => opened,
    }
}

/// Prepares the mount of a rule; `nowhere` is mounted over a file that is masked. `None` for a protected path that has gone
/// since the plan was made: whoever looks at protected files says so.
fn detach<'p>(
    (path, source): (&'p Path, &Path),
    access: Access,
    nowhere: BorrowedFd<'_>,
) -> Result<Option<Detached<'p>>, SetupError> {
    let what = || format!("cannot open {}", source.display());
    let place = match open_place(source) {
        // In a folder that is made anew so is this one; elsewhere it is missed when it is mounted.
        Err(Errno::NOENT) if access == Access::Scratch => {
            return Ok(Some(Detached { path, access, tree: None, is_folder: true }));
        }
        Err(Errno::NOENT | Errno::NOTDIR) if access != Access::Write => return Ok(None),
        opened => opened.or_refused(what)?,
    };
    let kind = fstat(&place).map(|found| FileType::from_raw_mode(found.st_mode));
    let is_folder = kind.or_refused(what)? == FileType::Directory;
    let tree = match access {
        Access::Hidden | Access::Scratch => None,
        Access::Masked if is_folder => None,
        Access::Masked => Some(clone_of(nowhere)),
        Access::Write | Access::Read => Some(clone_of(place.as_fd())),
    };
    let tree = tree.transpose().or_refused(what)?;
    if let (Access::Read, Some(tree)) = (access, &tree) {
        make_read_only(tree.as_fd(), libc::AT_RECURSIVE)
            .or_refused(|| format!("cannot make {} read-only", path.display()))?;
    }
    Ok(Some(Detached { path, access, tree, is_folder }))
}

fn clone_of(place: BorrowedFd<'_>) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(place, "", flags)
}

/// Makes an empty place for what lies below a hidden folder.
fn make_place(entry: &Detached<'_>) -> Result<(), SetupError> {
    let what = || format!("cannot make {}", entry.path.display());
    let folder = if entry.is_folder { Some(entry.path) } else { entry.path.parent() };
    fs::create_dir_all(folder.unwrap_or(entry.path)).or_refused(what)?;
    if !entry.is_folder {
        // In a folder that is mounted below the hidden one it is there, and is not to be emptied.
        let made = fs::OpenOptions::new().write(true).create_new(true).open(entry.path);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error).or_refused(what)?,
            _ => {}
        }
    }
    Ok(())
}

fn attach(entry: &Detached<'_>) -> Result<(), SetupError> {
    let what = || format!("cannot mount {}", entry.path.display());
    let empty = match &entry.tree {
        Some(_) => None,
        None => Some(empty_folder(entry.access).or_refused(what)?),
    };
    let Some(tree) = entry.tree.as_ref().or(empty.as_ref()) else {
        return Ok(());
    };
    attach_at(tree, entry.path).or_refused(what)
}

fn empty_folder(access: Access) -> rustix::io::Result<OwnedFd> {
    let system = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // In a folder for temporary files everybody may write; what is hidden is read-only, and some programs trust no file below a
    // folder that others could write to.
    let mode = if access == Access::Scratch { "1777" } else { "755" };
    fsconfig_set_string(system.as_fd(), "mode", mode)?;
    fsconfig_create(system.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes a mount read-only, with `AT_RECURSIVE` all below it too.
fn make_read_only(mount: BorrowedFd<'_>, recursive: i32) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes = Attributes { set: libc::MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path is an empty string, and the attributes live through the call and are as long as is said.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Mounts what is mounted nowhere yet.
fn attach_at(tree: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", open_place(path)?, "", flags)
}

/// The system's settings, read-only, for root: others cannot change them anyway.
fn settings_of_the_kernel() -> Result<Option<OwnedFd>, SetupError> {
    if !getuid().is_root() {
        return Ok(None);
    }
    let settings = || -> io::Result<_> {
        let settings = clone_of(open_place(Path::new("/proc/sys"))?.as_fd())?;
        make_read_only(settings.as_fd(), libc::AT_RECURSIVE)?;
        Ok(Some(settings))
    };
    settings().or_refused(|| "cannot make /proc/sys read-only".into())
}

/// A `/proc` that shows the processes of this namespace only.
fn mount_processes() -> Result<(), SetupError> {
    let mount = || -> rustix::io::Result<()> {
        let system = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(system.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mounted = fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        attach_at(&mounted, Path::new("/proc"))
    };
    mount().or_refused(|| "cannot mount /proc (in a container: parts of it are masked)".into())
}

/// Gives up every right that the namespace gave, for good: no program gets one back.
fn give_up_rights() -> Result<(), SetupError> {
    let what = || "cannot give up the rights of the namespace".to_owned();
    set_no_new_privs(true).or_refused(what)?;
    // A program of root's gets nothing by what it is: the line above says so too, where this is refused.
    let _ = set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED,
    );
    clear_ambient_capability_set().or_refused(what)?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).or_refused(what)
}
