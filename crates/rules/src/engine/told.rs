//! Facts that are events: what came from outside is said once, by the fact, and a record does not repeat it.

use crate::domain::TurnId;

use super::event::{AskEvent, Event, RunEvent, TurnEvent, WorkEvent};
use super::fact::{Fact, Prompt, TurnEnd};
use super::notice::NoticeEvent;

impl Fact {
    /// The event that says nothing but what the fact says, where there is one. Whether it is what was decided first is for
    /// the rules to say: they may know more, such as a price.
    pub fn as_event(&self) -> Option<Event> {
        self.of_turn()
            .or_else(|| self.of_judging())
            .or_else(|| self.of_run())
    }

    fn of_run(&self) -> Option<Event> {
        Some(match self {
            Self::Start(started) => Event::Run(RunEvent::Started(started.clone())),
            Self::Resume {
                options, supervisor, ..
            } => Event::Run(RunEvent::Resumed {
                options: options.clone(),
                supervisor: supervisor.clone(),
            }),
            Self::Salvaged(salvaged) => Event::Run(RunEvent::Salvaged(salvaged.clone())),
            Self::ProtectionNoted(files) => Event::Run(RunEvent::ProtectionNoted(files.clone())),
            Self::Stop(cause) => Event::Run(RunEvent::Stopping { cause: *cause }),
            Self::WorkDelivered(delivery) => Event::Run(RunEvent::WorkDelivered(delivery.clone())),
            Self::Filed { ids } => Event::Notice(Box::new(NoticeEvent::Filed { ids: ids.clone() })),
            Self::Foreign(what) => Event::Run(RunEvent::StateForeign { what: what.clone() }),
            Self::Unconfined(reason) => Event::Run(RunEvent::Unconfined {
                reason: reason.clone(),
            }),
            Self::Warn(message) => Event::Run(RunEvent::Warning {
                message: message.clone(),
            }),
            _ => return None,
        })
    }

    fn of_turn(&self) -> Option<Event> {
        Some(match self {
            Self::PromptReady(Prompt { turn, digest, .. }) => {
                Event::Turn(*turn, TurnEvent::Started { prompt: *digest })
            }
            Self::FilesNoted {
                turn,
                shared,
                result: Ok(file),
                ..
            } => Event::Turn(
                *turn,
                TurnEvent::FilesNoted {
                    file: file.clone(),
                    shared: *shared,
                },
            ),
            Self::TurnSpawned { turn, process } => Event::Turn(
                *turn,
                TurnEvent::Spawned {
                    process: process.clone(),
                },
            ),
            Self::Activity { turn, text } => Event::Turn(
                *turn,
                TurnEvent::Activity {
                    summary: text.clone(),
                },
            ),
            Self::Silent { turn, idle, too_long } => Event::Turn(
                *turn,
                TurnEvent::Stale {
                    idle: *idle,
                    killed: *too_long,
                },
            ),
            Self::TurnEnded(end) => end.as_event(),
            _ => return None,
        })
    }

    fn of_judging(&self) -> Option<Event> {
        Some(match self {
            Self::JobEnded { turn, job, end } => Event::Work(
                turn.task,
                WorkEvent::Ended {
                    job: *job,
                    end: end.clone(),
                },
            ),
            Self::AskReplied {
                id,
                purpose,
                agent,
                reply,
                answer,
            } => Event::Ask(
                *id,
                AskEvent::Replied {
                    purpose: *purpose,
                    agent: *agent,
                    reply: reply.clone(),
                    answer: answer.clone(),
                },
            ),
            Self::StageVoided(voided) => Event::voided((**voided).clone()),
            _ => return None,
        })
    }
}

impl Prompt {
    /// The prompt whose turn these events start, where a decision about it begins with them. Only such a decision begins with the
    /// start of a turn, so a record in which it stands among what became due needs no fact for it.
    pub fn told_by(events: &[Event]) -> Option<Self> {
        let [Event::Turn(turn, TurnEvent::Started { prompt }), rest @ ..] = events else {
            return None;
        };
        let cues = rest.iter().find_map(|event| match event {
            Event::Turn(of, TurnEvent::AuthorityCues { cues, result: false }) if of == turn => Some(*cues),
            _ => None,
        });
        Some(Self {
            turn: *turn,
            digest: *prompt,
            cues: cues.unwrap_or(0),
        })
    }
}

impl TurnEnd {
    /// The end of a turn as it is recorded of one that counts, without what other events tell.
    pub(crate) fn as_event(&self) -> Event {
        let end = Self {
            turn: TurnId::default(),
            interrupted: false,
            delegate: Vec::new(),
            failed_tools: Vec::new(),
            broken: None,
            cues: 0,
            killed: false,
            jitter: 0,
            ..self.clone()
        };
        Event::Turn(self.turn, TurnEvent::Finished(Box::new(end)))
    }
}
