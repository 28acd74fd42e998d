//! Where a program is: the search that a shell would do, done once per agent.
//!
//! The supervisor starts programs by absolute path only. With a bare name and a changed environment the standard library
//! has to fork instead of using `posix_spawn`, which is several times as slow.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The absolute path of `program`: looked up in `path_var` (a `PATH`) if it is a bare name, else taken relative to
/// `cwd`, which must be absolute. Links are not resolved: some programs look at the name they were called by.
///
/// # Errors
///
/// `NotFound` if there is no such file, `PermissionDenied` if there is one that cannot be executed. Both name the
/// program and where it was sought.
pub fn resolve(program: &str, path_var: &str, cwd: &Path) -> io::Result<PathBuf> {
    if program.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the program's name is empty"));
    }
    let mut refused = None;
    for path in places(program, path_var, cwd) {
        match is_executable(&path) {
            Ok(true) => return Ok(path),
            Ok(false) => refused = refused.or(Some(path)),
            // There is none.
            Err(_) => {}
        }
    }
    Err(match refused {
        Some(path) => denied(&path),
        None => {
            let message = if program.contains('/') {
                format!("`{}` does not exist", beneath(cwd, program).display())
            } else {
                format!("`{program}` was not found on PATH ({path_var})")
            };
            io::Error::new(io::ErrorKind::NotFound, message)
        }
    })
}

/// Where a program may be, the first place first.
pub fn places(program: &str, path_var: &str, cwd: &Path) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![beneath(cwd, program)];
    }
    // An empty entry means the current directory, as in a shell; joining it to `cwd` says the same.
    let folders = std::env::split_paths(path_var);
    folders.map(|folder| beneath(&cwd.join(folder), program)).collect()
}

/// Without `.` between: the path is printed.
fn beneath(folder: &Path, program: &str) -> PathBuf {
    folder.join(program).components().collect()
}

/// Where this program is started from, whatever became of its file since: on Linux the system's own name for it.
///
/// # Errors
/// Where the system does not tell its path.
pub fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// Whether a file can be started as a program; an error where there is none.
fn is_executable(path: &Path) -> io::Result<bool> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        found => Ok(found?.is_file() && access(path, Access::EXEC_OK).is_ok()),
    }
}

fn denied(path: &Path) -> io::Error {
    let mut message = format!("`{}` is not an executable file", path.display());
    if path.is_file() {
        message += &format!("; type `chmod +x {}`", path.display());
    }
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (name, mode) in [("a/tool", 0o644), ("b/tool", 0o755), ("a/text", 0o644)] {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(place.path().join("a/folder")).unwrap();
        place
    }

    #[test]
    fn the_first_executable_on_path_wins() {
        let place = place();
        let cwd = place.path();
        let path_var = format!("{0}/none:{0}/a:b", cwd.display());
        assert_eq!(resolve("tool", &path_var, cwd).unwrap(), cwd.join("b/tool"));
        assert_eq!(resolve("tool", ":/none", &cwd.join("b")).unwrap(), cwd.join("b/tool"));
    }

    #[test]
    fn a_name_with_a_slash_is_relative_to_the_working_directory() {
        let place = place();
        let cwd = place.path();
        assert_eq!(resolve("b/tool", "/none", cwd).unwrap(), cwd.join("b/tool"));
        assert_eq!(resolve("/bin/sh", "", cwd).unwrap(), Path::new("/bin/sh"));
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let place = place();
        let cwd = place.path();
        let refused = |program: &str| resolve(program, &cwd.join("a").to_string_lossy(), cwd).unwrap_err();
        for (program, kind, text) in [
            ("nothing", io::ErrorKind::NotFound, "`nothing` was not found on PATH"),
            ("text", io::ErrorKind::PermissionDenied, "a/text` is not an executable file"),
            ("folder", io::ErrorKind::PermissionDenied, "a/folder` is not an executable file"),
            ("a/text", io::ErrorKind::PermissionDenied, "a/text` is not an executable file"),
            ("a/nothing", io::ErrorKind::NotFound, "a/nothing` does not exist"),
            ("", io::ErrorKind::InvalidInput, "empty"),
        ] {
            let error = refused(program);
            assert_eq!(error.kind(), kind, "{program}");
            assert!(error.to_string().contains(text), "{program}: {error}");
        }
    }
}
