# An editor who answers the questions by what the request shows of the guide.
request=$(cat)
case "$request" in
*"For example: quorum run"*) grade=1 findings= ;;
*) grade=0 findings='{"severity": "high", "description": "There is no example"}' ;;
esac
cat <<REPLY
{"criteria": {"correctness": {"grade": 1, "reasoning": "the command is right"},
              "completeness": {"grade": $grade, "reasoning": "looked for an example"},
              "probe-adherence": {"grade": $grade, "reasoning": "went through the questions"}},
 "verdict": "pass", "confidence": 0.95, "findings": [$findings]}
REPLY
