#!/bin/sh
# Judges review.md by looking at change.diff. The first argument says what it is strict about.
set -eu
cat > /dev/null
# What the change adds, as FILE:LINE.
added=$(awk '
  /^\+\+\+ / { file = substr($0, 5); sub(/^b\//, "", file); next }
  /^@@ / { split($3, part, ","); line = substr(part[1], 2) - 1; next }
  /^-/ { next }
  { line++ }
  /^\+/ { print file ":" line }' change.diff)
wrong=0 vague=0 total=0
while IFS= read -r finding; do
  case "$finding" in "- ["*) ;; *) continue ;; esac
  total=$((total + 1))
  place=$(printf '%s\n' "$finding" | sed 's/^- \[[a-z]*\] \(.*:[0-9][0-9]*\): .*/\1/')
  printf '%s\n' "$added" | grep -qxF -- "$place" || wrong=$((wrong + 1))
  case "$finding" in *"; "*) ;; *) vague=$((vague + 1)) ;; esac
done < review.md
if [ "$total" = 0 ] && ! grep -q '^No findings' review.md; then wrong=1; fi
evidence=5 usefulness=5
[ "$wrong" = 0 ] || evidence=1
[ "$vague" = 0 ] || usefulness=2
[ "$1" != usefulness ] || [ "$vague" = 0 ] || usefulness=1
cat <<END
{"scores": [
  {"dimension": "evidence", "score": $evidence, "reasoning": "$wrong of $total finding(s) name no added line."},
  {"dimension": "usefulness", "score": $usefulness, "reasoning": "$vague of $total finding(s) do not say what to do."}],
 "findings": []}
END
