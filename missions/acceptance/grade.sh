#!/bin/sh
# An editor who answers the questions by what the request shows of the guide, and says of each point of an earlier review
# whether it was addressed.
request=$(cat)
case "$request" in
*"For example: quorum run"*) grade=1 findings= ;;
*) grade=0 findings='{"severity": "high", "description": "There is no example"}' ;;
esac
cat <<REPLY
{"criteria": {"correctness": {"grade": 1, "reasoning": "the command is right"},
              "completeness": {"grade": $grade, "reasoning": "looked for an example"},
              "probe-adherence": {"grade": $grade, "reasoning": "went through the questions"}},
 "verdict": "pass", "confidence": 0.95, "findings": [$findings],
 "prior": [{"id": 1, "addressed": "yes"}, {"id": 2, "addressed": "yes"}, {"id": 3, "addressed": "yes"}]}
REPLY
