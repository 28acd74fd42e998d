//! Handing work over to whoever judges it (semantics, section 10): a frozen record of what was given to whom.

use serde::Serialize;

use rules::domain::Timestamp;
use rules::engine::FileFact;
use rules::mission::model::Rubric;

use super::fence::TextExcerpt;
use super::rubric::AcceptanceCriteria;

/// The author of judged work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub task: String,
    /// The agent that did it.
    pub agent: String,
    pub attempt: u32,
    /// The model that the provider says did it.
    pub model: Option<String>,
}

/// The content of a handoff, before it is known whether it may be made.
#[derive(Debug)]
pub struct HandoffContent<'a> {
    /// The task that is judged, or the verification.
    pub task: &'a str,
    /// The round of the verification.
    pub round: u32,
    /// The authors of the judged work.
    pub from: Vec<Author>,
    /// The agent that judges.
    pub to: &'a str,
    /// The output of the authors.
    pub output: &'a TextExcerpt,
    /// The files in question, as they were seen.
    pub artifacts: &'a [FileFact],
    /// The criteria that must hold.
    pub acceptance: AcceptanceCriteria<'a>,
    /// The rubric that the work is graded by.
    pub rubric: &'a Rubric,
    pub at: Timestamp,
}

/// Work was to be handed over to whoever did it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("'{agent}' did '{task}' itself, so its work cannot be handed over to it")]
pub struct OwnWork {
    pub agent: String,
    /// The title of the task.
    pub task: String,
}

/// The record. It can only be made whole, and not be changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff<'a> {
    schema: &'static str,
    task: &'a str,
    stage: &'static str,
    round: u32,
    from: Vec<Author>,
    to: &'a str,
    payload: HandoffPayload<'a>,
    artifacts: Vec<HandoffArtifact<'a>>,
    acceptance: &'a [Box<str>],
    probes: Vec<ProbeQuestion<'a>>,
    rubric: Vec<HandoffCriterion<'a>>,
    created_at: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HandoffPayload<'a> {
    head: &'a str,
    cut_characters: usize,
    tail: &'a str,
}

#[derive(Debug, Serialize)]
struct HandoffArtifact<'a> {
    path: &'a str,
    size: Option<u64>,
    sha256: Option<String>,
}

/// A probe, by the number of its criterion from 1.
#[derive(Debug, Serialize)]
struct ProbeQuestion<'a> {
    criterion: u32,
    probe: &'a str,
}

#[derive(Debug, Serialize)]
struct HandoffCriterion<'a> {
    name: &'a str,
    description: Option<&'a str>,
    weight: String,
    grade: &'static str,
    required: bool,
}

impl<'a> Handoff<'a> {
    /// The record of handing this over.
    ///
    /// # Errors
    /// When it would be handed over to one of its authors.
    pub fn new(content: HandoffContent<'a>) -> Result<Self, OwnWork> {
        let own = content.from.iter().find(|author| author.agent == content.to);
        if let Some(own) = own {
            return Err(OwnWork { agent: own.agent.clone(), task: own.task.clone() });
        }
        let artifacts = content.artifacts.iter().map(|file| HandoffArtifact {
            path: &file.path,
            size: file.size,
            sha256: file.digest.map(|digest| digest.to_string()),
        });
        let criteria = content.rubric.criteria.iter().map(|criterion| HandoffCriterion {
            name: &criterion.name,
            description: criterion.description.as_deref(),
            weight: criterion.weight.get().to_string(),
            grade: criterion.grade.as_str(),
            required: criterion.required,
        });
        Ok(Self {
            schema: "quorum.handoff/v1",
            task: content.task,
            stage: "verification",
            round: content.round,
            from: content.from,
            to: content.to,
            payload: HandoffPayload {
                head: &content.output.head,
                cut_characters: content.output.missing,
                tail: &content.output.tail,
            },
            artifacts: artifacts.collect(),
            acceptance: content.acceptance.criteria,
            probes: questions(content.acceptance),
            rubric: criteria.collect(),
            created_at: content.at.to_rfc3339(),
        })
    }

    /// The bytes of the handoff as it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers can always be written")
    }
}

/// The questions: the probes that an agent cut the criteria into, else each criterion.
fn questions(acceptance: AcceptanceCriteria<'_>) -> Vec<ProbeQuestion<'_>> {
    let each = (1..).zip(acceptance.criteria);
    let each = each.map(|(criterion, probe)| ProbeQuestion { criterion, probe });
    let cut =
        acceptance.cut.iter().map(|probe| ProbeQuestion { criterion: probe.criterion, probe: &probe.probe });
    match acceptance.cut {
        [] => each.collect(),
        _ => cut.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::domain::{Digest, Probe};

    fn handed(to: &str, cut: &[Probe]) -> Result<Vec<u8>, OwnWork> {
        let author = Author { task: "write".to_owned(), agent: "writer".to_owned(), attempt: 2, model: None };
        let file = FileFact {
            path: "guide.md".to_owned(),
            size: Some(3),
            digest: Some(Digest::of(b"abc")),
            obstacle: None,
            stored: None,
        };
        let rubric = Rubric::built_in("default-task").expect("it is built in");
        Handoff::new(HandoffContent {
            task: "verify",
            round: 1,
            from: vec![author],
            to,
            output: &TextExcerpt::whole("done"),
            artifacts: &[file],
            acceptance: AcceptanceCriteria { criteria: &["it is short".into()], cut },
            rubric: &rubric,
            at: Timestamp(0),
        })
        .map(|handoff| handoff.to_bytes())
    }

    #[test]
    fn it_says_who_gave_what_to_whom() {
        let record: serde_json::Value = serde_json::from_slice(&handed("editor", &[]).unwrap()).unwrap();
        assert_eq!(record["from"][0]["agent"], "writer");
        assert_eq!(record["to"], "editor");
        assert_eq!(record["payload"]["head"], "done");
        let digest = Digest::of(b"abc").to_string();
        assert_eq!(record["artifacts"][0]["sha256"], digest);
        let each = serde_json::json!([{"criterion": 1, "probe": "it is short"}]);
        assert_eq!(record["probes"], each, "without anybody who cuts it, a criterion is a probe");
        assert_eq!(record["rubric"][0]["name"], "correctness");
    }

    #[test]
    fn the_questions_that_an_agent_made_stand_beside_the_criteria() {
        let cut = ["Is it one page?", "Is it in one file?"]
            .map(|text| Probe { criterion: 1, probe: text.to_owned() });
        let record: serde_json::Value = serde_json::from_slice(&handed("editor", &cut).unwrap()).unwrap();
        assert_eq!(record["acceptance"], serde_json::json!(["it is short"]));
        assert_eq!(record["probes"][1]["probe"], "Is it in one file?");
        assert_eq!(record["probes"][1]["criterion"], 1);
    }

    #[test]
    fn nothing_is_handed_over_to_its_author() {
        let refused = handed("writer", &[]).unwrap_err();
        assert_eq!((refused.agent.as_str(), refused.task.as_str()), ("writer", "write"));
    }
}
