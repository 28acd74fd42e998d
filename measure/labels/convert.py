#!/usr/bin/env python3
"""Makes labels for `quorum calibrate` of recorded judges that were asked in other words than quorum's.

    python3 measure/labels/convert.py < recorded.jsonl > labels.jsonl

`quorum calibrate` reads texts in the forms that quorum asks for, and scores. Others were asked for stars, ratings or "n out of
5". Each row is copied; where a judge's text says its score in one of these ways and `scores` has none for it, the score is put
there, and all texts are left out. What can be read in two ways has no score, and counts as the lowest.
"""

import json
import re
import sys

NUMBER = r"(\d{1,6}(?:\.\d{1,6})?)"
# What may follow a score: the end of what is said, or why; not "2-1", "2%", "2 goals".
ENDS = r"(?=\s*(?:$|[.,;:!)\]\"(](?!\d)|-\s*[A-Za-z]|(?:for|because|since|as|in|on|with)\b))"
LABEL = r"\b(?:score|rating)\s*[:=]\s*" + NUMBER
# The surest first: only the surest kind that a reply holds counts.
KINDS = [
    [r"\[\[" + NUMBER + r"\]\]", r"\b(?:final|overall|total) " + LABEL + "(?:<over>|<ends>)"],
    [
        LABEL + "(?:<over>|<ends>)",
        NUMBER + "<over>",
        r"\b(?:score|rating)\s+of\s+" + NUMBER + "(?:<over>|<ends>)",
        r"\b(?:give|gave|giving|rate)(?:\s+[A-Za-z]+){0,4}\s+" + NUMBER + "<ends>",
        r"(?:^|[.!?;]\s+)" + NUMBER + r"\s+stars?\b",
    ],
    [r"\A\s*" + NUMBER + r"\.?\s*\Z", r"\A\s*" + NUMBER + r"\. [A-Za-z]", r"(?:^|[.!?]\s+)" + NUMBER + r"\.?\s*\Z"],
]
# Two numbers where one belongs: "a 3 or 4".
TWO = re.compile(NUMBER + r"\s+(?:or|to)\s+" + NUMBER)


def score(text, low, high):
    """The one score of a text on a scale, or None."""
    text = re.sub(r"[*_`]", "", text)
    if TWO.search(text):
        return None
    over = r"\s*(?:/|out of)\s*" + re.escape(f"{high:g}") + r"(?![\d/%-])"
    for kind in KINDS:
        said = set()
        for form in kind:
            form = form.replace("<over>", over).replace("<ends>", ENDS)
            found = re.finditer(form, text, re.IGNORECASE | re.MULTILINE)
            said |= {float(one.group(1)) for one in found}
        if said:
            value = said.pop()
            return value if not said and low <= value <= high else None
    return None


def main():
    for line in sys.stdin:
        if not line.strip():
            continue
        row = json.loads(line)
        scales = [row.get("scales", {}).get(name, row["scale"]) for name in row["dims"]]
        for replies in row.get("raw_replies", []):
            texts = replies.pop("texts", None) or [None] * len(scales)
            known = replies.get("scores") or [None] * len(scales)
            if "reply" not in replies:
                read = [text and score(text, *scale) for text, scale in zip(texts, scales)]
                replies["scores"] = [there if there is not None else new for there, new in zip(known, read)]
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
