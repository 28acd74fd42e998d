#!/bin/sh
# A reviewer that looks at the files. Its first argument says how it judges; the review request is on standard input.
set -eu
request=$(cat)
case "$QUORUM_TASK" in
  "Release notes")
    if grep -q count.sh NOTES.md && grep -q README.md NOTES.md; then
      echo "The notes name both files."
      echo "SCORE: 85"
    else
      echo "The notes do not name the files of the release."
      echo "SCORE: 30"
    fi
    exit ;;
esac
clarity=4; example=1; finding="there is no example"
if grep -q 'sh count.sh' README.md; then example=5; finding=; fi
case "$1" in
  strict) clarity=3 ;;
  kind) clarity=5; [ "$example" = 1 ] && example=2 ;;
esac
findings=
[ -n "$finding" ] && findings="{\"severity\":\"high\",\"description\":\"README.md: $finding\",\"suggestedFix\":\"show a command and what it prints\"}"
# Who reviews again says what became of the point of the review before.
prior=
case "$request" in
  *"points of the earlier review"*)
    addressed=no
    [ "$example" = 5 ] && addressed=yes
    prior="{\"id\": 1, \"addressed\": \"$addressed\", \"note\": \"README.md shows sh count.sh\"}" ;;
esac
cat <<END
{"prior": [$prior],
 "scores": [
  {"dimension": "clarity", "score": $clarity, "reasoning": "It says in one sentence what the script does."},
  {"dimension": "example", "score": $example, "reasoning": "${finding:-The example can be pasted into a shell.}"}],
 "findings": [$findings]}
END
