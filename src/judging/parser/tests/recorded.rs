//! Ratings in free words.

use super::*;

fn rating(reply: &str) -> Option<Decimal> {
    parse_rating(reply, &Scale::SCORE).ok()
}

#[test]
fn free_words_are_read_where_they_say_one_score() {
    for (reply, want) in [
        // The surest way of saying it counts.
        ("Final score: 4\nScore: 3", "4"),
        ("Score: 4\n- Score: 2", "4"),
        ("Score: 4\n* Score: 2", "4"),
        ("Score: 4\n• Score: 2", "4"),
        // What is no number is passed over as a whole.
        ("Version 1.2.3, as said. Score: 4", "4"),
        ("I would give this text here a 2.", "2"),
        ("Coherence:\n2\nThanks.", "2"),
        ("Clear.\nBut short. 4.5", "4.5"),
        ("Clear, but short. 4.", "4"),
        ("4", "4"),
        ("4.", "4"),
        ("Clear, but short. 4.5", "4.5"),
        ("3. The text wanders.", "3"),
        ("Coherence: 2 - it wanders.", "2"),
        ("Score: 2/5", "2"),
        ("Usefulness rating: 2. It helps.", "2"),
        ("Rating:\n2", "2"),
        ("Well done. Rating: [[4]]", "4"),
        ("This results in a score of 3.5 for clarity.", "3.5"),
        ("I would give this text a 2.", "2"),
        ("A solid 4 out of 5, all in all.", "4"),
        ("Three stars. The final was 2-1.", "3"),
        (
            "Final score: 4 out of 5 (with 5 being perfect).\n\n* style: 2/5",
            "4",
        ),
        (
            "In all a score of 4 out of 5.\n1. Wording. Score: 3/5.\n2. Length. Score: 5/5.",
            "4",
        ),
        ("Style: 2\nLength: 4\nOverall score: 3", "3"),
        ("Style: 2 - it wanders.\nScore: 2", "2"),
        ("Style: 2\nLength: 4\nScore: 3", "3"),
        ("Score: 4/5\nConfidence: 5\nFindings: 0", "4"),
        ("{\"score\": 4}", "4"),
    ] {
        assert_eq!(rating(reply), Some(dec(want)), "{reply:?}");
    }
}

#[test]
fn free_words_that_say_none_or_two_are_not_read() {
    for reply in [
        "Score: 4,5",
        "Score: 2/10",
        "Score: 2 goals",
        "Score: 4 and maybe 5",
        "Version 1.2.4/5",
        "He ate 3 instead of 5.",
        "It got 3/10.",
        "On 3/5/2015 it came out.",
        "He runs 3/week.",
        "I would give it 3 weeks.",
        "I would give this whole text here a 2.",
        "Rating:\n2\nOthers said 4 out of 5.",
        "It has chapter 3",
        "One two three four five six: 3",
        ": 2",
        "Style (a): 2",
        "Goals: 2 each",
        "",
        "Yes",
        "The final score was 2-1.",
        "Messi scored 2 goals.",
        "Score: 7/10",
        "Score: 7",
        "Score: 2\nScore: 3",
        "Rating: \n\nRationale: the score is 4.",
        "[[A>B]]",
        "1. One thing.\n2. Another.",
        "I would give it a 2 or a score of 3.",
        "{\"score\": 9}",
        "It came out in 2015.",
        "Style: 2\nLength: 4",
        "- Style: 2\n- Length: 4\n- Score: 3",
        "1. Style: 2 - it wanders.\n2. Length: 4 - just right.\n\nIn all it is worth a rating of 3 out of 5.",
    ] {
        assert_eq!(rating(reply), None, "{reply:?}");
    }
}
