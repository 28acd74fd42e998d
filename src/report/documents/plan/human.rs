//! The plan for people: waves from the first to the last, then gates, and how much it can come to.

use super::middleware::words;
use super::{EligibleRow, GateRow, HoldRow, PlanDocument, TaskRow, WorstCaseRow};
use crate::report::style::{Role, Screen};
use crate::report::text::{count, sanitize};

/// The page, with a line feed at its end.
pub fn human(plan: &PlanDocument<'_>, screen: &Screen) -> String {
    let mut text = String::new();
    let head = format!(
        "plan: {}, {} in {}, {}, at most {} at the same time",
        sanitize(plan.mission),
        count(plan.tasks.len(), "task"),
        count(plan.waves.len(), "wave"),
        count(plan.gates.len(), "gate"),
        plan.concurrency,
    );
    append_line!(text, "{}", screen.style.paint(Role::Strong, head));
    if plan.not_taken > 0 {
        let words = format!(
            "only a part: {} left out (--only)",
            count(plan.not_taken as usize, "task")
        );
        append_line!(text, "{}", screen.style.paint(Role::Warn, words));
    }
    if !plan.evaluate {
        let words = "reviews are switched off: agents' work will be taken as it comes";
        append_line!(text, "{}", screen.style.paint(Role::Warn, words));
    }
    if let Some(given) = plan.eval_threshold.as_ref().filter(|given| given.reviews > 0) {
        append_line!(text, "{}", given.words);
    }
    for warning in &plan.warnings {
        let words = format!("warning: {}", sanitize(warning));
        append_line!(text, "{}", screen.style.paint(Role::Warn, words));
    }
    // Rows by wave without a search through all tasks for each wave.
    let mut order: Vec<&TaskRow<'_>> = plan.tasks.iter().collect();
    order.sort_by_key(|task| task.wave);
    let mut wave = 0;
    for task in order {
        if task.wave != wave {
            wave = task.wave;
            append_line!(
                text,
                "\n{}",
                screen.style.paint(Role::Strong, format!("wave {wave}"))
            );
        }
        task_lines(&mut text, task);
    }
    if !plan.gates.is_empty() {
        append_line!(text, "\n{}", screen.style.paint(Role::Strong, "gates"));
        plan.gates.iter().for_each(|gate| gate_line(&mut text, gate));
    }
    plan.holds.iter().for_each(|hold| hold_line(&mut text, hold));
    if plan.middleware.is_own {
        hook_lines(&mut text, plan);
        append_line!(text, "\nmiddleware {}", plan.middleware.words());
    }
    if !plan.protected.is_empty() {
        let words = "protected; a task that is to change one names it in its targetFiles";
        append_line!(text, "\n{}", screen.style.paint(Role::Strong, words));
    }
    for row in &plan.protected {
        append_line!(text, "  {}: {}", sanitize(&row.path), sanitize(&row.why));
    }
    append_line!(text, "\nat most: {}", worst_words(plan.worst_case));
    append_line!(text, "cost: {}", plan.cost.text);
    screen.wrap(&text)
}

/// Which hooks of middleware come around which agents that work.
fn hook_lines(text: &mut String, plan: &PlanDocument<'_>) {
    let mut kinds: Vec<(&[&str], Vec<&str>)> = Vec::new();
    for agent in plan.agents.iter().filter(|agent| agent.tasks > 0) {
        match kinds
            .iter_mut()
            .find(|(hooks, _)| *hooks == agent.hooks.as_slice())
        {
            Some((_, names)) => names.push(agent.name),
            None => kinds.push((agent.hooks.as_slice(), vec![agent.name])),
        }
    }
    for (hooks, names) in kinds {
        append_line!(text, "\nhooks around {}: {}", list(&names), hooks.join(", "));
    }
}

fn list(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| sanitize(name)).collect();
    names.join(", ")
}

fn task_lines(text: &mut String, task: &TaskRow<'_>) {
    append!(text, "  {}: {}", sanitize(task.title), sanitize(task.agent));
    if let Some(tools) = task.agent_tools {
        let policies = [("read", tools.read), ("write", tools.write), ("run", tools.run)];
        let policies = policies.map(|(tool, policy)| format!("{tool} {}", policy.as_str()));
        append!(text, " (tools: {})", policies.join(", "));
    }
    if !task.depends_on.is_empty() {
        append!(text, ", after {}", list(&task.depends_on));
    }
    if !task.held_by.is_empty() {
        append!(text, ", held by gate {}", list(&task.held_by));
    }
    if task.exclusive {
        text.push_str(", alone");
    }
    if task.side_effects {
        text.push_str(", never twice without a person");
    }
    text.push('\n');
    for approval in &task.approvals {
        let gate = approval.gate.map(|gate| format!(" ({})", sanitize(gate)));
        let names: Vec<_> = approval.approvers.iter().map(|name| sanitize(name)).collect();
        let names = if names.is_empty() {
            "a person".to_owned()
        } else {
            names.join(" or ")
        };
        append_line!(text, "    starts when {names} agrees{}", gate.unwrap_or_default());
    }
    if let Some(own) = &task.middleware {
        append_line!(text, "    around its turns: {}", words(own));
    }
    append_line!(text, "    judged by {}", judged_words(task));
    if let Some(edges) = &task.edges {
        let again = edges
            .max_visits
            .map(|most| format!(" (done again, at most {most} visits)"));
        append_line!(
            text,
            "    onPass: {}; onFail: {}{}; onRefer: {}",
            sanitize(edges.on_pass),
            sanitize(edges.on_fail),
            again.unwrap_or_default(),
            sanitize(edges.on_refer)
        );
    }
    if task.foundation {
        text.push_str(
            "    foundation: at least 3 tasks depend on it, so its bar is lower and it has one more attempt\n",
        );
    }
    if let Some(note) = task.note {
        append_line!(text, "    note: {note}");
    }
    for step in &task.stages {
        if let Some(note) = &step.note {
            let (name, note) = (sanitize(step.name), sanitize(note));
            append_line!(text, "    note: {name}: {note}");
        }
    }
    other_judge_lines(text, task);
    append_line!(text, "    at most: {}", worst_words(task.worst_case));
}

/// Who could judge it and is not asked, and who must not.
fn other_judge_lines(text: &mut String, task: &TaskRow<'_>) {
    let others: Vec<String> = task
        .eligible
        .iter()
        .filter(|eligible| !task.seats.contains(&eligible.agent) && !task.people.contains(&eligible.agent))
        .map(|eligible| format!("{} ({})", sanitize(eligible.agent), claim(eligible)))
        .collect();
    if !others.is_empty() {
        append_line!(text, "    could also judge: {}", others.join(", "));
    }
    for excluded in &task.excluded {
        let (agent, why) = (sanitize(excluded.agent), sanitize(&excluded.why));
        append_line!(text, "    may not judge: {agent} ({why})");
    }
}

/// Why somebody may judge, and what with.
fn claim(eligible: &EligibleRow<'_>) -> String {
    match eligible.tools.as_slice() {
        [] => eligible.why.to_owned(),
        tools => format!("{}; {}", eligible.why, tool_words(tools)),
    }
}

fn tool_words(tools: &[&str]) -> String {
    format!("tools: {}", tools.join(", "))
}

/// A judge that has no claim beside its name.
fn named_judge(name: &str, tools: &[&str]) -> String {
    match tools {
        [] => sanitize(name).into_owned(),
        tools => format!("{} ({})", sanitize(name), tool_words(tools)),
    }
}

fn judged_words(task: &TaskRow<'_>) -> String {
    let mut parts = Vec::new();
    if !task.target_files.is_empty() {
        parts.push(count(task.target_files.len(), "declared file"));
    }
    if task.checks > 0 {
        parts.push(count(task.checks, "check"));
    }
    match task.judged_by {
        "panel" | "evaluation" => {
            let why = |seat: &&str| {
                let found = task.eligible.iter().find(|eligible| eligible.agent == *seat);
                let why = found.map_or_else(String::new, claim);
                format!("{} ({why})", sanitize(seat))
            };
            let list = |names: &[&str], word: &str| names.iter().map(why).collect::<Vec<_>>().join(word);
            let bar = task.bar.map_or_else(String::new, |bar| format!(", bar {bar}"));
            if !task.seats.is_empty() || task.people.is_empty() {
                let seats = match task.seats.as_slice() {
                    [] => "nobody".to_owned(),
                    seats => list(seats, ", "),
                };
                parts.push(format!("{} of {seats}{bar}", task.judged_by));
            }
            if !task.people.is_empty() {
                parts.push(format!("a person is asked: {}", list(&task.people, " or ")));
            }
        }
        _ => {}
    }
    // What is graded by a rubric or by facts comes after all other judging.
    if task.criteria > 0 {
        parts.push(match task.grader {
            Some(judge) => {
                let mut cut = task.decomposer.map_or_else(String::new, |agent| {
                    format!(", cut into probes by {}", sanitize(agent))
                });
                if let Some(why) = &task.decomposer_excluded {
                    append!(cut, " (who may not: {})", sanitize(why));
                }
                let judge = named_judge(judge, &task.grader_tools);
                format!("criteria by {judge}: {}{cut}", task.criteria)
            }
            None if task.grader_missing => format!("criteria by nobody: {}", task.criteria),
            None => format!("criteria by facts: {}", task.criteria),
        });
    }
    parts.extend(task.stages.iter().map(|step| {
        let by = step.agent.or(step.command).or(step.kind).unwrap_or_default();
        let by = named_judge(by, &step.tools);
        match step.stage {
            "stages" => format!("stage {} by {by}", sanitize(step.name)),
            _ => format!("{} by {by}", step.name),
        }
    }));
    if parts.is_empty() {
        parts.push("nobody".to_owned());
    }
    parts.join(", then ")
}

fn gate_line(text: &mut String, gate: &GateRow<'_>) {
    append!(
        text,
        "  {}: after {}",
        sanitize(gate.name),
        list(&gate.after_tasks)
    );
    if !gate.blocks_tasks.is_empty() {
        append!(text, "; holds {}", list(&gate.blocks_tasks));
    }
    if let Some(min) = gate.min_score {
        append!(text, "; mean score at least {min}");
    }
    text.push_str(if gate.require_all_passed {
        "; none may fail"
    } else {
        "; failed tasks may pass"
    });
    if gate.accept_below_threshold {
        text.push_str("; work below the bar may pass");
    }
    append_line!(text, "; on failure: {}", gate.on_fail);
}

fn hold_line(text: &mut String, hold: &HoldRow<'_>) {
    let (kind, name) = (hold.kind, sanitize(hold.name));
    let lasts = hold
        .duration_ms
        .map(|ms| format!(" of {}", crate::domain::Millis(ms)));
    let blocks = list(&hold.blocks_tasks);
    let after = match hold.after_tasks.as_slice() {
        [] => "before any work".to_owned(),
        tasks => format!("after {}", list(tasks)),
    };
    append_line!(
        text,
        "\n{kind} {name}{}: {after}; holds {blocks}",
        lasts.unwrap_or_default()
    );
}

fn worst_words(worst: WorstCaseRow) -> String {
    let number = |number: Option<u64>, noun: &str| match number {
        Some(number) => count(usize::try_from(number).unwrap_or(usize::MAX), noun),
        None => format!("{noun}s without a practical limit"),
    };
    let mut text = number(worst.attempts, "attempt");
    if worst.judge_calls != Some(0) {
        append!(
            text,
            ", {} ({} where every reply has to be asked for again)",
            number(worst.judge_calls, "judge call"),
            worst
                .judge_calls_with_repeats
                .map_or_else(|| "unlimited".to_owned(), |calls| calls.to_string()),
        );
    }
    text
}
