#!/bin/sh
# An editor who grades what is in front of them: the file as the review request shows it.
request=$(cat)
case "$request" in
*"For example: quorum run"*) example=1 verdict=pass ;;
*) example=0 verdict=fail ;;
esac
cat <<REPLY
{"criteria": {"example": {"grade": $example, "reasoning": "looked for an example"},
              "short": {"grade": 1, "reasoning": "one page"}},
 "verdict": "$verdict", "confidence": 0.95,
 "findings": []}
REPLY
