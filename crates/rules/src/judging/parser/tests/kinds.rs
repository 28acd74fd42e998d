//! Many forms of each kind of reply that is no word of its judge.

use super::*;
use crate::domain::Severity;

/// Nothing of the reply but what is asked for in `own` counts as the reviewer's word.
#[track_caller]
fn unread(reply: &str) {
    assert_eq!(points(reply), None, "{reply:?}");
}

#[track_caller]
fn reads(reply: &str, want: &str) {
    assert_eq!(points(reply).as_deref(), Some(want), "{reply:?}");
}

const DRAFT: &str = "Good.\nSCORE: 95\n{\"score\": 95}";

#[test]
fn what_lies_in_reasoning_is_no_reply_whatever_its_marks_are() {
    for [open, close] in [
        ["<think>", "</think>"],
        ["<THINK>", "</THINK>"],
        ["<think time=\"3\">", "</think >"],
        ["< think >", "</ think>"],
        ["<thinking>", "</thinking>"],
        ["<thought>", "</thought>"],
        ["<thoughts>", "</thoughts>"],
        ["<thought_process>", "</thought_process>"],
        ["<antThinking>", "</antThinking>"],
        ["<seed:think>", "</seed:think>"],
        ["<longcat_think>", "</longcat_think>"],
        ["<reasoning>", "</reasoning>"],
        ["<reasoning_content>", "</reasoning_content>"],
        ["<reflection>", "</reflection>"],
        ["<self-reflection>", "</self-reflection>"],
        ["<scratchpad>", "</scratchpad>"],
        ["<scratch_pad>", "</scratch_pad>"],
        ["<analysis>", "</analysis>"],
        ["<inner_monologue>", "</inner_monologue>"],
        ["<chain-of-thought>", "</chain-of-thought>"],
        ["<cot>", "</cot>"],
        ["<draft>", "</draft>"],
        ["<planning>", "</planning>"],
        ["<deliberation>", "</deliberation>"],
        ["<internal>", "</internal>"],
        ["[THINK]", "[/THINK]"],
        ["[think]", "[/think]"],
        ["[REASONING]", "[/REASONING]"],
        ["◁think▷", "◁/think▷"],
        ["＜think＞", "＜/think＞"],
        ["<|thinking|>", "<|/thinking|>"],
        ["<|begin_of_thought|>", "<|end_of_thought|>"],
        ["<|START_THINKING|>", "<|END_THINKING|>"],
        ["<|inner_prefix|>", "<|inner_suffix|>"],
        ["<unused94>thought", "<unused95>"],
        ["<|channel>thought", "<channel|>"],
        ["<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"],
        ["<|channel|>commentary to=x<|message|>", "<|channel|>final <|constrain|>json<|message|>"],
    ] {
        unread(&format!("{open}\n{DRAFT}\n{close}\nI cannot tell."));
        unread(&format!("{open}\n{DRAFT}\n{close}"));
        unread(&format!("{open}{DRAFT}"));
        unread(&format!("{open}\n{DRAFT}\n\nI cannot tell."));
        // The opening mark stands in the prompt.
        unread(&format!("{DRAFT}\n{close}\nI cannot tell."));
        unread(&format!("{DRAFT} {close} I cannot tell."));
        // What follows is read as it is anywhere.
        reads(&format!("{open}\n{DRAFT}\n{close}\nIt lacks tests.\nSCORE: 40"), "40");
        reads(&format!("{open}{DRAFT}\n{close}SCORE: 40"), "40");
        reads(&format!("{open}\n```\n{DRAFT}\n{close}\nSCORE: 40"), "40");
        reads(&format!("{DRAFT}\n{close}\n{{\"score\": 40, \"reasoning\": \"r\"}}"), "40");
        // Twice.
        unread(&format!("{open}a{close}\n{DRAFT}\n{open}b{close}\nI cannot tell."));
        reads(&format!("{open}\n{DRAFT}\n{close}\n{open}no{close}\nSCORE: 40"), "40");
        unread(&format!("{DRAFT}\n{open}\nNo, it lacks tests."));
    }
    unread(&format!("analysisWe look.\n{DRAFT}\nassistantfinal\nI cannot tell."));
    unread(&format!("analysisWe look.\n{DRAFT}"));
    reads(&format!("analysisWe look.\n{DRAFT}\nassistantfinalSCORE: 40"), "40");
    let folded = "<details type=\"reasoning\">\n<summary>Thought for 5 s</summary>";
    unread(&format!("{folded}\n{DRAFT}\n</details>\nI cannot tell."));
}

#[test]
fn marks_that_may_be_quoted_leave_nothing_to_read() {
    for reply in [
        "SCORE: 95\n> </think>\nI cannot tell.",
        "```\nSCORE: 95\n</think>\n```\nSCORE: 95",
        "```\n</think>\nSCORE: 95\n```",
        "```\n<think>x</think>\nSCORE: 95\n```",
        "<untrusted>\n<think>x</think>\nSCORE: 95\n</untrusted>",
        "<untrusted>\n</think>\nSCORE: 95\n</untrusted>\nSCORE: 95",
        "<think>a <think> b </think>\nSCORE: 95",
        "> <thinking>hm</thinking>\nSCORE: 40",
        "```xml\n<analysis>x</analysis>\n```\nSCORE: 40",
        "It says \"<think>x</think>\" in line 3.\nSCORE: 40",
    ] {
        unread(reply);
    }
    assert_eq!(parse_evaluation("<think>SCORE: 95").unwrap_err(), Unparsed::Reasoning);
}

#[test]
fn marks_that_are_only_spoken_of_are_no_obstacle() {
    for reply in [
        "The output leaks its `<think>` marks, and no `</div>`.\nSCORE: 40",
        "A Vec<Thought> is returned, see notes[draft].\nSCORE: 40",
        "{\"score\": 40, \"reasoning\": \"It leaks <think> and </think>\"}",
        "```json\n{\"score\": 40, \"reasoning\": \"It leaks </think>\"}\n```",
        "a < b, [see the analysis], <b>bold</b>\nSCORE: 40",
        "SCORE: 40<|im_end|>",
        "SCORE: 40\n<|endoftext|>",
    ] {
        reads(reply, "40");
    }
}

#[test]
fn control_sequences_are_taken_out_before_a_reply_is_read() {
    for reply in [
        "\u{feff}SCORE: 72",
        "\u{1b}[32mSCORE: 72\u{1b}[0m",
        "\u{1b}[1;38;5;208mSCORE\u{1b}[22m: \u{1b}[4m72\u{1b}[m\u{1b}[K",
        "\u{1b}]0;a title\u{7}SCORE: 72",
        "\u{1b}]8;;http://x\u{1b}\\SCORE: 72\u{1b}]8;;\u{1b}\\",
        "\u{1b}[?25l\u{1b}[2J\u{1b}[HSCORE: 72\n\u{1b}[?25h",
        "\u{1b}(BSCORE: 72\u{1b}(B",
        "S\u{8}SC\u{8}CORE: 72",
        "SCORE: 95\u{8}\u{8}72",
        "|\u{8}/\u{8}SCORE: 72",
        "SCO\u{200d}RE: 7\u{200b}2\u{2060}",
        "\u{202a}SCORE: 72\u{202c}",
        "SCORE: 72\u{0}",
        "\u{1b}[32m{\u{1b}[0m\"score\": \u{1b}[33m72\u{1b}[0m}",
        "\u{feff}{\"sco\u{200b}re\": 72}",
        "```json\n\u{feff}{\"score\": 72}\n```",
        "SCORE: 72\r\n\u{1b}[0m",
    ] {
        reads(reply, "72");
    }
    for reply in [
        // What the cursor does to it cannot be told.
        "SCORE: 9\u{1b}[1D5",
        "SCORE: 95\u{1b}[2D40",
        "SCORE: 95\u{1b}[1K",
        "SCORE: 9\u{2028}5",
        "\u{1b}]0;SCORE: 95",
    ] {
        unread(reply);
    }
}

#[test]
fn a_score_and_a_verdict_beside_it_are_both_declared() {
    for (text, want) in [
        ("Verdict: FAIL", Some(false)),
        ("**Verdict:** fail", Some(false)),
        ("**Final verdict: Rejected**", Some(false)),
        ("Overall result: not acceptable", Some(false)),
        ("Decision = reject", Some(false)),
        ("- Status: Needs work", Some(false)),
        ("Approved: no", Some(false)),
        ("Pass: false", Some(false)),
        ("Pass/Fail: FAIL", Some(false)),
        ("FAIL", Some(false)),
        ("❌ **FAIL**", Some(false)),
        ("Recommendation: request changes", None),
        ("Failed: yes", Some(false)),
        ("{\"pass\": false}", Some(false)),
        ("{\"passed\": \"no\"}", Some(false)),
        ("{\"approved\": 0}", Some(false)),
        ("{\"verdict\": \"FAIL: no tests\"}", Some(false)),
        ("{\"verdict\": \"refer\"}", Some(false)),
        ("{\"failed\": true}", Some(false)),
        ("{\"overall\": {\"pass\": false}}", Some(false)),
        ("Verdict: PASS", Some(true)),
        ("Approved: yes", Some(true)),
        ("✅ Passed", Some(true)),
        ("{\"pass\": true, \"rejected\": false}", Some(true)),
        ("Result: 3 tests failed before, none now", None),
        ("Decision: no changes are needed", None),
        ("Test result: failed", None),
        ("It passes.", None),
        ("> Verdict: FAIL", None),
        ("{\"failed\": 0, \"passed\": 12}", None),
        ("{\"findings\": [{\"severity\": \"low\", \"description\": \"x\", \"status\": \"failed\"}]}", None),
    ] {
        let read =
            parse_evaluation(&format!("{text}\nSCORE: 80")).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(read.declared, want, "{text}");
    }
    for reply in [
        "Verdict: PASS\n{\"pass\": false}\nSCORE: 80",
        "{\"score\": 80, \"verdict\": \"pass\", \"approved\": false}",
        "PASS\nFAIL\nSCORE: 80",
    ] {
        assert_eq!(parse_evaluation(reply).unwrap_err(), Unparsed::Differing, "{reply}");
    }
}

#[test]
fn a_share_is_no_score_in_points() {
    for share in ["0.85", "0.5", "0.01", "0.999", "1.0"] {
        for reply in
            [format!("SCORE: {share}"), format!("{{\"score\": {share}}}"), format!("SCORE: {share}/100")]
        {
            assert_eq!(parse_evaluation(&reply).unwrap_err(), Unparsed::Share(dec(share)), "{reply}");
        }
    }
    for plain in ["0", "0.0", "1", "1.5"] {
        let want = dec(plain).normalize().to_string();
        reads(&format!("SCORE: {plain}"), &want);
    }
}

#[test]
fn a_key_that_stands_twice_anywhere_leaves_no_verdict() {
    for reply in [
        r#"{"score": 72, "score": 72}"#,
        r#"{"score": 72, "reasoning": "a", "reasoning": "b"}"#,
        r#"{"score": 72, "findings": [{"severity": "low", "severity": "critical", "description": "x"}]}"#,
        "{\"score\": 72, \"Score\": 60}",
    ] {
        unread(reply);
    }
}

fn findings(reply: &str) -> Vec<(Severity, String, Option<String>)> {
    let value: json::Json = serde_json::from_str(reply).expect(reply);
    let read = super::super::findings::findings_of(&value, 50).into_iter();
    read.map(|finding| (finding.severity, finding.description, finding.evidence)).collect()
}

#[test]
fn a_severity_that_is_not_known_is_a_high_one() {
    for (severity, want) in [
        ("\"critical\"", Severity::Critical),
        ("\"CRITICAL!\"", Severity::Critical),
        ("\"🔴 Critical severity\"", Severity::Critical),
        ("\"Blocker\"", Severity::Critical),
        ("\"severe\"", Severity::Critical),
        ("\"P0\"", Severity::Critical),
        ("\"high\"", Severity::High),
        ("\"low to high\"", Severity::High),
        ("[\"low\", \"critical\"]", Severity::Critical),
        ("{\"level\": \"critical\"}", Severity::High),
        ("\"must fix\"", Severity::High),
        ("\"S1\"", Severity::High),
        ("\"sev-1\"", Severity::High),
        ("\"kritisch\"", Severity::High),
        ("\"medium (must fix)\"", Severity::High),
        ("\"not low\"", Severity::High),
        ("9.8", Severity::High),
        ("1", Severity::High),
        ("true", Severity::High),
        ("null", Severity::High),
        ("\"\"", Severity::High),
        ("\"Medium\"", Severity::Medium),
        ("\"minor issue\"", Severity::Low),
        ("\"nit\"", Severity::Low),
        ("\"info\"", Severity::Info),
    ] {
        let reply = format!(r#"{{"findings": [{{"severity": {severity}, "description": "x"}}]}}"#);
        assert_eq!(findings(&reply), [(want, "x".to_owned(), None)], "{severity}");
    }
}

#[test]
fn a_finding_is_read_in_whatever_form_it_has() {
    let high = |description: &str, evidence: Option<&str>| {
        vec![(Severity::High, description.to_owned(), evidence.map(str::to_owned))]
    };
    for (reply, want) in [
        (r#"{"issues": [{"severity": "high", "message": "x"}]}"#, high("x", None)),
        (r#"{"vulnerabilities": [{"priority": "high", "title": "x"}]}"#, high("x", None)),
        (r#"{"findings": {"severity": "high", "description": "x"}}"#, high("x", None)),
        (r#"{"findings": {"high": [{"description": "x"}], "low": []}}"#, high("x", None)),
        (r#"{"findings": {"1": {"severity": "high", "description": "x"}}}"#, high("x", None)),
        (r#"{"findings": [[{"severity": "high", "description": "x"}]]}"#, high("x", None)),
        (r#"{"severity": "high", "description": "x", "evidence": "e"}"#, high("x", Some("e"))),
        (r#"[{"severity": "high", "description": {"text": "x"}}]"#, high("text: x", None)),
        (
            r#"{"findings": [{"severity": "high", "description": "x", "evidence": {"file": "a", "line": 3}}]}"#,
            high("x", Some("file: a; line: 3")),
        ),
        (
            r#"{"findings": [{"severity": "high", "description": "x", "evidence": [{"file": "a"}, "b", 4]}]}"#,
            high("x", Some("file: a; b; 4")),
        ),
        (r#"{"findings": [{"severity": "high", "description": "x", "evidence": 7}]}"#, high("x", Some("7"))),
        (
            r#"{"findings": [{"severity": "high", "description": "x", "evidence": "n/a", "file": "a"}]}"#,
            high("x", Some("a")),
        ),
        (r#"{"findings": [{"severity": "high", "what": "x"}]}"#, high("severity: high; what: x", None)),
        (r#"{"findings": [{"severity": "low", "severity": "high", "description": "x"}]}"#, high("x", None)),
    ] {
        assert_eq!(findings(reply), want, "{reply}");
    }
    for nothing in [
        r#"{"findings": []}"#,
        r#"{"findings": "none"}"#,
        r#"{"findings": {"critical": [], "high": []}}"#,
        r#"{"score": 4}"#,
    ] {
        assert_eq!(findings(nothing), [], "{nothing}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_was_taken_out_once_is_not_taken_out_of_the_rest(built in reply(), text in any::<String>()) {
        for reply in [built, text] {
            if let Ok(own) = super::super::own_words(&reply) {
                prop_assert_eq!(super::super::own_words(&own), Ok(own));
            }
        }
    }
}
