#!/bin/sh
# A reviewer who reads the script as the request shows it, and holds it against the plan.
request=$(cat)
case "$request" in
  *"usage: sh slug.sh"*) plan=1 verdict=pass findings= ;;
  *)
    plan=0 verdict=fail
    findings='{"severity": "high", "description": "slug.sh: step 3 of the plan is missing: what happens without an argument",
      "suggestedFix": "exit with 2 and say how it is used"}' ;;
esac
cat <<REPLY
{"criteria": {"plan": {"grade": $plan, "reasoning": "I went through the steps one by one."},
              "plain": {"grade": 1, "reasoning": "There is nothing else."}},
 "verdict": "$verdict", "confidence": 0.95, "findings": [$findings]}
REPLY
