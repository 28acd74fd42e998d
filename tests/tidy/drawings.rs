//! The drawings of the architecture page: each function that a drawing names is defined in the file that stands before it.

use super::items;
use super::sources::File;

/// Where the files of a drawing lie: below one of these folders, of which the first that has the file counts.
const FOLDERS: [&str; 2] = ["runtime/", ""];

/// What drawings name that is not there, one line each. A name is there where its file exists and defines the function.
pub fn differences(named: &[(&str, &str)], files: &[File]) -> Vec<String> {
    named.iter().filter_map(|(path, name)| lacks(files, path, name)).collect()
}

/// The files and functions that the drawings of a chapter name.
///
/// A drawing is a code block with arrows; between two arrows stands `folder/file.rs  function`, or words without a file.
pub fn named<'p>(page: &'p str, chapter: &str) -> Vec<(&'p str, &'p str)> {
    let (_, part) = page.split_once(&format!("\n## {chapter}\n")).expect("the page has the chapter");
    let part = part.split("\n## ").next().unwrap_or_default();
    let blocks = part.split("```").skip(1).step_by(2);
    let hops = blocks.flat_map(|block| block.lines()).flat_map(|line| line.split("──▶"));
    hops.filter_map(|hop| {
        let mut words = hop.split_whitespace().skip_while(|word| !word.ends_with(".rs"));
        let path = words.next()?;
        let function = words.next().unwrap_or_default().trim_end_matches([':', ',']);
        Some((path, function.rsplit("::").next().unwrap_or_default()))
    })
    .collect()
}

fn lacks(files: &[File], path: &str, name: &str) -> Option<String> {
    let is_it = |folder: &str, file: &File| file.path.strip_prefix(folder) == Some(path);
    let mut found = FOLDERS.iter().filter_map(|folder| files.iter().find(|file| is_it(folder, file)));
    match found.next() {
        None => Some(format!("a drawing names {path}, which is not there")),
        Some(file) if items::functions(file).iter().all(|function| function.name != name) => {
            Some(format!("a drawing names `{name}` of {path}, which defines no such function"))
        }
        Some(_) => None,
    }
}
