//! Paths and patterns of files as a mission writes them.

use globset::{Glob, GlobBuilder};

/// How a pattern of files can be read, as globs in which `*` stays within a folder: as it is, and with brackets and braces that
/// are a part of names (`app/[id]/page.tsx`).
pub fn readings(pattern: &str) -> impl Iterator<Item = Result<Glob, globset::Error>> {
    let has_marks = pattern.contains(['[', ']', '{', '}']);
    let plain = has_marks.then(|| {
        let escaped = pattern.chars().map(|c| match c {
            '[' | ']' | '{' | '}' => format!("[{c}]"),
            c => c.to_string(),
        });
        escaped.collect::<String>()
    });
    let all = std::iter::once(pattern.to_owned()).chain(plain);
    all.map(|text| GlobBuilder::new(&text).literal_separator(true).build())
}

/// Whether a path is one that a pattern means.
pub(crate) fn is_meant(pattern: &str, path: &str) -> bool {
    let has_glob = || pattern.contains(['*', '?', '[', '{']);
    let matches = |glob: Result<Glob, _>| glob.is_ok_and(|glob| glob.compile_matcher().is_match(path));
    pattern == path || has_glob() && readings(pattern).any(matches)
}

/// Where a file lies, seen from the mission's workspace, by the workspace of its task as it is written; empty is the
/// mission's own.
pub fn place_in(workspace: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = workspace.starts_with('/');
    for part in workspace.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_braces_of_a_pattern_may_be_a_part_of_names() {
        for (pattern, path) in [
            ("app/[id]/check.sh", "app/[id]/check.sh"),
            ("app/[id]/check.sh", "app/i/check.sh"),
            ("app/[...all]/*.ts", "app/[...all]/page.ts"),
            ("app/[[slug]]/**", "app/[[slug]]/a/b"),
            ("{{cookie}}/a.txt", "{{cookie}}/a.txt"),
            ("src/{a,b}.rs", "src/b.rs"),
        ] {
            assert!(is_meant(pattern, path), "{pattern} {path}");
        }
        assert!(!is_meant("app/[id]/*.ts", "app/[id]/a/b.ts"));
    }
}
