//! Reading JUnit XML as strictly as the schemas of Jenkins and Surefire do.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// One element.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub children: Vec<Element>,
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// The children with this name.
    pub fn all(&self, name: &str) -> Vec<&Element> {
        self.children.iter().filter(|child| child.name == name).collect()
    }

    /// A property's value.
    pub fn property(&self, name: &str) -> Option<&str> {
        let properties = self.all("properties");
        let mut all = properties.iter().flat_map(|properties| &properties.children);
        all.find(|property| property.attribute("name") == name).map(|property| property.attribute("value"))
    }

    /// The testcase with this name, in any suite.
    pub fn case(&self, name: &str) -> &Element {
        let cases = self.children.iter().flat_map(|suite| suite.all("testcase"));
        let mut found = cases.filter(|case| case.attribute("name") == name);
        found.next().unwrap_or_else(|| panic!("there is no testcase '{name}' in {self:#?}"))
    }
}

/// Reads a report and holds it against the rules: elements, attributes, sums, one result for each testcase, and no
/// character that XML 1.0 cannot hold.
pub fn read(text: &str) -> Element {
    let valid = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(valid), "a character that XML cannot hold: {text:?}");
    let root = parse(text);
    assert_eq!(root.name, "testsuites");
    for suite in &root.children {
        assert_eq!(suite.name, "testsuite");
        assert!(!suite.attribute("name").is_empty());
        check_sums(suite, &[suite]);
        for child in &suite.children {
            match child.name.as_str() {
                "testcase" => check_case(child),
                "properties" => check_properties(child),
                other => panic!("<{other}> may not stand in a testsuite"),
            }
        }
    }
    check_sums(&root, &root.children.iter().collect::<Vec<_>>());
    root
}

fn check_sums(element: &Element, suites: &[&Element]) {
    let cases: Vec<&Element> = suites.iter().flat_map(|suite| suite.all("testcase")).collect();
    let with = |name: &str| cases.iter().filter(|case| !case.all(name).is_empty()).count();
    for (attribute, sum) in [("tests", cases.len()), ("failures", with("failure")), ("errors", with("error"))]
    {
        assert_eq!(element.attribute(attribute), sum.to_string(), "{attribute} of {}", element.name);
    }
    let skipped = element.attribute("skipped");
    assert!(skipped == with("skipped").to_string(), "skipped of {}: {skipped}", element.name);
}

fn check_case(case: &Element) {
    assert!(!case.attribute("name").is_empty() && !case.attribute("classname").is_empty());
    let is_result = |name: &str| matches!(name, "failure" | "error" | "skipped");
    let results: Vec<&Element> = case.children.iter().filter(|child| is_result(&child.name)).collect();
    assert!(results.len() <= 1, "more than one result: {case:#?}");
    for child in &case.children {
        match child.name.as_str() {
            "properties" => check_properties(child),
            "failure" | "error" => assert!(!child.attribute("type").is_empty(), "{child:?}"),
            "skipped" => assert!(!child.attribute("message").is_empty(), "{child:?}"),
            "flakyFailure" | "flakyError" => {
                assert!(results.is_empty(), "only what passed in the end is flaky: {case:#?}");
                assert!(!child.attribute("type").is_empty());
            }
            "rerunFailure" | "rerunError" => {
                assert!(matches!(results[0].name.as_str(), "failure" | "error"));
                assert!(!child.attribute("type").is_empty());
            }
            "system-out" | "system-err" => {}
            other => panic!("<{other}> may not stand in a testcase"),
        }
    }
}

fn check_properties(properties: &Element) {
    assert!(!properties.children.is_empty());
    for property in &properties.children {
        assert_eq!(property.name, "property");
        assert!(!property.attribute("name").is_empty() && property.attributes.contains_key("value"));
    }
}

fn parse(text: &str) -> Element {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().expect("it is well-formed") {
            Event::Start(start) => open.push(element(&start)),
            Event::Empty(start) => {
                let closed = element(&start);
                open.last_mut().expect("there is a document").children.push(closed);
            }
            Event::End(_) => {
                let closed = open.pop().expect("what is closed was open");
                open.last_mut().expect("there is a document").children.push(closed);
            }
            Event::Text(text) => {
                let text = text.decode().expect("it is UTF-8");
                open.last_mut().expect("there is a document").text.push_str(&text);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open.len(), 1, "something was left open");
    let mut document = open.remove(0);
    assert_eq!(document.children.len(), 1, "one root");
    document.children.remove(0)
}

fn element(start: &BytesStart<'_>) -> Element {
    let attributes = start.attributes().map(|attribute| {
        let attribute = attribute.expect("attributes are well-formed and unique");
        let value = quick_xml::escape::unescape(std::str::from_utf8(&attribute.value).expect("UTF-8"))
            .expect("entities are known")
            .into_owned();
        (String::from_utf8_lossy(attribute.key.as_ref()).into_owned(), value)
    });
    Element {
        name: String::from_utf8_lossy(start.name().as_ref()).into_owned(),
        attributes: attributes.collect(),
        ..Element::default()
    }
}
