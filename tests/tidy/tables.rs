//! The table of files at the head of each module: it names all of its files, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What differs between the modules below `folder` and their tables of files.
pub fn differences(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() && !is_of_tests(&path) {
            compare(&path, &mut found);
            found.extend(differences(&path));
        }
    }
    found
}

fn compare(module: &Path, found: &mut Vec<String>) {
    let files = files_of(module);
    let head = [module.join("mod.rs"), module.join("lib.rs"), module.with_extension("rs")];
    let Some(head) = head.into_iter().find(|head| head.exists()) else {
        return;
    };
    let text = fs::read_to_string(&head).expect("it was found there");
    let listed = listed(&text);
    let head = head.display();
    for name in files.difference(&listed) {
        found.push(format!("{head}: its table lacks `{name}`"));
    }
    for name in listed.difference(&files).filter(|name| !module.join(name).exists()) {
        found.push(format!("{head}: its table names `{name}`, which is not there"));
    }
}

/// The modules of a folder, those of tests left out.
fn files_of(module: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(module).expect("it was found there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let is_module =
        |path: &PathBuf| path.extension().is_some_and(|ext| ext == "rs") || path.join("mod.rs").exists();
    let modules = paths.filter(|path| is_module(path) && !is_of_tests(path));
    let names = modules.map(|path| stem(&path));
    names.filter(|name| !["mod", "lib"].contains(&name.as_str())).collect()
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("it has a name");
    stem.to_string_lossy().into_owned()
}

fn is_of_tests(path: &Path) -> bool {
    let name = stem(path);
    name == "tests" || name.ends_with("_tests") || name == "snapshots" && path.is_dir()
}

/// What the first column of a table of files names.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().skip_while(|line| !line.starts_with("//! | file |")).skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("//! | `")?.split_once("` |"));
    rows.map(|(name, _)| name.to_owned()).collect()
}
