//! What the reference model says of seats.

use rules::domain::{Answer, AskId, HoldOwner, Purpose, SeatPlace, StageKey, Status, TaskId, Verdict};
use rules::engine::{AskEvent, DeferralReason, Event, HoldEvent, Job, State, TaskEvent, WorkEvent};

use super::judges::{Expected, expected};
use super::{Asked, ReferenceModel, Seen, SeenSeat};

impl ReferenceModel {
    pub(super) fn seat_requested(&mut self, state: &State, id: AskId, seat: SeatPlace) {
        let task = id.task;
        let is_panel = matches!(expected(state, task), Expected::Panel { .. });
        let most = if is_panel { state.plan.rules.settings.max_assessment_retries + 1 } else { 1 };
        let is_open = self.is_open(state, task);
        let seen = &mut self.tasks[task.index()];
        seen.asked_last = Asked::Judges;
        let most = most + u32::from(seen.repeated.contains(&Asked::Judges));
        let is_first = id.attempt_try == 1 && seen.rounds == 0 && seat.round != seen.round;
        assert!(!is_open || !is_first, "judged though the breaker is open: {task:?}");
        assert_eq!((seen.status, seen.attempt), (Status::Review, seat.attempt), "{seat:?}");
        if seat.round != seen.round {
            assert_eq!(seat.round, seen.round + 1, "{task:?} {seat:?}");
            seen.round = seat.round;
            seen.rounds += 1;
            assert!(seen.rounds <= most, "{task:?} {seat:?} {seen:?}");
            seen.seats.clear();
        }
        let place = seen.seats.entry(seat.seat).or_default();
        assert!(!place.open, "{task:?} {seat:?} is asked twice");
        assert_eq!(id.attempt_try, place.tries + 1, "{task:?} {seat:?}");
        assert!(id.attempt_try <= 5 + place.windows, "one reprompt, three request retries: {seat:?}");
        // A fixup is held to what was found about the task that it stands for.
        let has_points = seat.attempt > 1 || state.plan.mended_by(task).is_some();
        let said = place.result.take();
        let answered = match &said {
            Some(Answer::Scores { prior, .. } | Answer::Evaluation { prior, .. }) => Some(prior.len()),
            Some(_) | None => None,
        };
        // What could be read is asked for once more for its answers alone, and only of work that was sent back.
        assert!(
            answered.is_none_or(|answers| answers == 0 && has_points && place.first.is_none()),
            "{task:?} {seat:?} was read"
        );
        *place = SeenSeat {
            tries: id.attempt_try,
            windows: place.windows,
            open: true,
            first: said.filter(|_| answered.is_some()).or(place.first.take()),
            result: None,
        };
        assert_eq!(seen.waits, None, "{task:?} {seat:?} is asked before the limit resets");
    }

    pub(super) fn seat_ended(&mut self, id: AskId, seat: SeatPlace) -> &mut SeenSeat {
        self.seat_ended_or(id, seat, false)
    }

    /// Takes in the end of a seat; whether it has ended already may be known.
    pub(super) fn seat_ended_or(&mut self, id: AskId, seat: SeatPlace, has_ended: bool) -> &mut SeenSeat {
        let task = id.task;
        let seen = &mut self.tasks[task.index()];
        assert_eq!(
            (seen.attempt, seen.round),
            (seat.attempt, seat.round),
            "a reply of another round: {seat:?}"
        );
        let place = seen.seats.get_mut(&seat.seat).expect("the seat was asked");
        assert!(
            (place.open || has_ended) && place.tries == id.attempt_try,
            "a reply too many: {seat:?} {place:?}"
        );
        place.open = false;
        place
    }
}

/// Whoever judges alone in a stage, and what is run instead.
impl ReferenceModel {
    pub(super) fn stages(&mut self, state: &State, event: &Event) {
        match event {
            Event::Ask(id, AskEvent::Requested { purpose, agent, strict, .. })
                if purpose.seat().is_none() =>
            {
                let Some((key, round)) = purpose.asked_by() else {
                    return;
                };
                let asked = (*agent, key, round, strict.is_some());
                let before = self.tasks[id.task.index()].alone.replace(asked);
                if id.attempt_try > 1 {
                    let same = before.map(|(_, key, round, _)| (key, round));
                    return assert_eq!(same, Some((key, round)), "{event:?}");
                }
                // It is asked strictly once.
                let plainly = Some((*agent, key, round.saturating_sub(1), false));
                assert!(strict.is_none() || before == plainly, "{event:?} {before:?}");
                self.stage_opened(state, id.task, (key, round), strict.is_some());
            }
            Event::Work(task, WorkEvent::Requested(Job::Grade(round))) => {
                assert!(*round <= state.plan.rules.settings.max_assessment_retries + 1, "{event:?}");
                self.stage_opened(state, *task, (StageKey::VERIFICATION, *round), false);
            }
            Event::Work(task, WorkEvent::Requested(Job::Stage(key, round))) => {
                self.stage_opened(state, *task, (*key, *round), false);
            }
            _ => {}
        }
    }

    fn stage_opened(&mut self, state: &State, task: TaskId, (key, round): (StageKey, u32), strict: bool) {
        let seen = &mut self.tasks[task.index()];
        if key == StageKey::VERIFICATION {
            seen.asked_last = Asked::Grader;
            seen.grading = Some(round);
            return;
        }
        // Who left points of an earlier review without an answer is asked for them once.
        let has_points = seen.attempt > 1 || state.plan.mended_by(task).is_some();
        let for_answers = strict && has_points && seen.step == Some((key, round - 1));
        let open = seen.step.filter(|_| !for_answers);
        assert_eq!((seen.status, open), (Status::Review, None), "{task:?} {key:?} {round}");
        seen.asked_last = Asked::Step(key);
        // Without a strict question a further round is one about other files.
        let is_repeated = seen.repeated.contains(&Asked::Step(key));
        assert!(strict || round <= 1 || is_repeated, "{task:?} {key:?} {round}");
        // A vision check, and nobody else, looks first which of its pictures are there.
        if round == 0 {
            (seen.looked, seen.scan_open) = (true, true);
        }
        assert_eq!(seen.looked, key == StageKey::VISION, "{task:?} {key:?}");
        let before = state.plan.task(task).steps().filter(|before| *before < key);
        for before in before {
            let verdict = seen.steps.get(&before).map(|(verdict, _)| *verdict);
            let stops = matches!(verdict, None | Some(Verdict::Fail | Verdict::Refer));
            assert!(!stops, "{key:?} before {before:?} {seen:?}");
        }
        seen.step = Some((key, round));
    }
}

/// A task waits for the limits of those who are asked as long as somebody is.
impl ReferenceModel {
    pub(super) fn limits(&mut self, event: &Event) {
        match event {
            Event::Ask(id, AskEvent::Failed { purpose, until: Some(_), .. }) => {
                self.tasks[id.task.index()].limited.insert(id.number, *purpose);
            }
            Event::Ask(id, AskEvent::Requested { .. } | AskEvent::Failed { .. }) => {
                self.tasks[id.task.index()].limited.remove(&id.number);
            }
            Event::Hold(HoldOwner::Task(task), HoldEvent::Closed { .. }) => {
                self.tasks[task.index()]
                    .waits_only_for(|purpose| !matches!(purpose, Purpose::Approve { .. }));
            }
            Event::Task(task, TaskEvent::Deferred { until: Some(deferral) }) if deferral.stage.is_some() => {
                self.tasks[task.index()].limited.clear();
            }
            _ => {}
        }
    }
}

impl Seen {
    pub(super) fn waits_only_for(&mut self, wanted: impl Fn(&Purpose) -> bool) {
        let was_limited = !self.limited.is_empty();
        self.limited.retain(|_, purpose| wanted(purpose));
        if was_limited && self.limited.is_empty() {
            self.waits.take_if(|(why, _)| *why == DeferralReason::Window);
        }
    }
}
