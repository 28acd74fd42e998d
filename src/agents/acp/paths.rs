//! Paths that a request is about, and where they lead.

use std::path::{Path, PathBuf};

use serde_json::Value;

use rules::judging::protected::plain;

/// How many paths of one request are looked at; with more than these it is about too much to be allowed by paths.
pub const MAX_PATHS: usize = 64;
/// Whole words that name a path in the input of a tool, beside all that end in `path` or `paths`.
const WORDS: [&str; 8] =
    ["file", "filename", "file_name", "dir", "directory", "folder", "source", "destination"];

/// The working folder, absolute and without links.
pub struct WorkingFolder {
    path: PathBuf,
    /// Where a path leads once its links are followed.
    resolve: fn(&Path) -> PathBuf,
}

impl WorkingFolder {
    pub fn new(path: PathBuf, resolve: fn(&Path) -> PathBuf) -> Self {
        Self { path, resolve }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part of a path below the folder; none where it leads out of it.
    pub fn relative(&self, path: &str) -> Option<PathBuf> {
        let whole = plain(&self.path.join(path));
        let resolved = (self.resolve)(&whole);
        resolved.strip_prefix(&self.path).ok().map(Path::to_path_buf)
    }

    /// A path as a person reads it: from the folder on where it lies in it, otherwise whole.
    pub fn shown(&self, path: &str) -> String {
        match self.relative(path) {
            Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some(inside) => inside.to_string_lossy().into_owned(),
            None => plain(&self.path.join(path)).to_string_lossy().into_owned(),
        }
    }
}

/// Follows the links of a path, which need not be there: those of its longest part that is.
pub fn follow_links(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        // A link to what is not there leads somewhere nobody can tell.
        if there.is_symlink() {
            return PathBuf::new();
        }
    }
    path.to_path_buf()
}

/// The paths that a tool call names: its locations, the files it shows a difference of, what its input calls a path. At
/// most one more than [`MAX_PATHS`], each once.
pub fn of_call(call: &Value) -> Vec<String> {
    let entries = |key: &str| call[key].as_array().into_iter().flatten();
    let shown = entries("locations").chain(entries("content")).filter_map(|entry| entry.get("path"));
    let input = call["rawInput"].as_object().into_iter().flatten();
    let input = input.filter(|(key, _)| names_path(key)).map(|(_, value)| value);
    let mut paths: Vec<String> = Vec::new();
    for value in shown.chain(input) {
        let many = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for path in many.iter().filter_map(Value::as_str) {
            if paths.len() > MAX_PATHS {
                return paths;
            }
            if !path.is_empty() && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
    }
    paths
}

fn names_path(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("path") || key.ends_with("paths") || WORDS.contains(&key.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_out_of_the_folder_is_none_of_its_paths() {
        let folder = WorkingFolder::new(PathBuf::from("/srv/project"), Path::to_path_buf);
        let relative = |path: &str| folder.relative(path).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(relative("/srv/project/src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(relative("src/../b.rs").as_deref(), Some("b.rs"));
        assert_eq!(relative("/srv/project/../other/a.rs"), None);
        assert_eq!(relative("../project2/a"), None);
        assert_eq!(folder.shown("/etc/../etc/passwd"), "/etc/passwd");
        assert_eq!(folder.shown("."), ".");
    }

    #[test]
    fn links_are_followed_also_for_files_that_are_not_there() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::create_dir(root.join("out")).unwrap();
        std::os::unix::fs::symlink(root.join("out"), project.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("nothing"), project.join("dangling")).unwrap();
        let folder = WorkingFolder::new(project, follow_links);
        assert_eq!(folder.relative("src/new/file"), Some(PathBuf::from("src/new/file")));
        assert_eq!(folder.relative("link/new"), None);
        assert_eq!(folder.relative("dangling"), None);
    }

    #[test]
    fn paths_come_from_everywhere_a_call_names_them() {
        let call = json!({
            "locations": [{"path": "a"}, {"line": 3}, 4],
            "content": [{"type": "diff", "path": "b"}, {"type": "content"}],
            "rawInput": {"file_path": "a", "filePath": "c", "paths": ["d", 5], "content": "path", "cwd": "/"},
        });
        assert_eq!(of_call(&call), ["a", "b", "c", "d"]);
        assert_eq!(of_call(&json!({"locations": 3, "rawInput": "x"})), [""; 0]);
    }
}
