//! What holds of all declarations of keys.

use std::collections::BTreeSet;

use crate::mission::file::document::{NodeKind, Tree};
use crate::mission::file::key_check::check;
use crate::mission::file::keys::{Keys, Value};
use crate::mission::file::shape::{Shape, Table, TableKey};
use crate::mission::model::{
    Agent, Budget, Channel, Config, Expected, ExtraStage, FinishGate, Gate, Mission, Permissions, Region,
    Settings, Sla, Task, Tools, Verification, Vision,
};

/// All tables of a mission and a configuration file, each once.
fn tables() -> Vec<&'static Table> {
    fn visit(shape: &Shape, found: &mut Vec<&'static Table>) {
        match shape {
            Shape::One(_) => {}
            Shape::List(of) | Shape::NonEmptyList(of) | Shape::Named(_, of) => visit(of, found),
            Shape::Map(table) => add(table, found),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| visit(shape, found)),
            Shape::Expectations(types) => types.iter().for_each(|(_, table)| add(table, found)),
        }
    }
    fn add(table: &'static Table, found: &mut Vec<&'static Table>) {
        if !found.iter().any(|known| std::ptr::eq(*known, table)) {
            found.push(table);
            table.keys.iter().for_each(|key| visit(&key.shape, found));
        }
    }
    let mut found = Vec::new();
    add(Mission::TABLE, &mut found);
    add(Config::TABLE, &mut found);
    found
}

#[test]
fn keys_are_unique_and_camel_case() {
    let tables = tables();
    assert!(tables.len() > 30, "{}", tables.len());
    for table in tables {
        let names: BTreeSet<_> = table.keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), table.keys.len(), "{}", table.name);
        assert!(names.iter().all(|name| name.chars().all(char::is_alphanumeric)), "{}", table.name);
    }
}

/// A default is what a file could say, and whoever reads the documentation finds it there.
#[test]
fn every_default_can_be_read_and_is_shown() {
    let text = |key: &TableKey| format!("{}: {}", key.name, key.default.unwrap_or_default());
    let mut defaults = 0;
    for table in tables() {
        for key in table.keys.iter().filter(|key| key.default.is_some()) {
            let text = text(key);
            let (mut tree, _) = Tree::parse(&text).expect("it is YAML");
            // Other keys may be required, so only what is wrong with this one counts.
            let one: &'static [TableKey] =
                Box::leak(Box::new([TableKey { required: false, later: None, ..*key }]));
            let alone: &'static Table = Box::leak(Box::new(Table { name: "alone", keys: one }));
            let problems = check(&mut tree, alone, None).problems;
            assert_eq!(problems.first_error(), None, "{text}");
            assert_eq!(tree.kind(tree.root()), NodeKind::Map);
            defaults += 1;
        }
        for key in table.keys {
            let is_shown = key.doc.contains("[=");
            assert!(!is_shown || key.default.is_some(), "{} of {}", key.name, table.name);
            assert!(!key.says().contains("  "), "{}", key.says());
        }
    }
    assert!(defaults > 60, "{defaults}");
}

/// What a task, an agent or a review may say otherwise is, where it says nothing, what the mission or its settings say.
#[test]
fn a_key_of_several_levels_has_one_default() {
    let mut pairs = 0;
    for above in [Mission::TABLE, Settings::TABLE] {
        for below in tables() {
            for key in below.keys {
                let level = above.key(key.name).and_then(|above| above.default);
                if let (Some(default), Some(level)) = (key.default, level) {
                    assert_eq!(default, level, "{} of {}", key.name, below.name);
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 20, "{pairs}");
}

/// What Rust calls the default of a type is what a file without any of its keys says.
#[test]
fn an_empty_map_is_the_default() {
    fn holds<T: Value + Keys + Default + PartialEq + std::fmt::Debug>() {
        assert_eq!(T::missing(None), Some(T::default()), "{}", T::TABLE.name);
    }
    holds::<Agent>();
    holds::<Budget>();
    holds::<Config>();
    holds::<FinishGate>();
    holds::<Gate>();
    holds::<Mission>();
    holds::<Permissions>();
    holds::<Settings>();
    holds::<Sla>();
    holds::<ExtraStage>();
    holds::<Task>();
    holds::<Tools>();
    holds::<Verification>();
    holds::<Vision>();
    holds::<Channel>();
    assert!(<Expected as Value>::missing(None).is_some());
    assert_eq!(<Region as Value>::missing(None), None);
}
