#!/bin/sh
# A reviewer without a model: looks for what is wrong in any language. Reads change.diff, writes review.md.
set -eu
cat > /dev/null
awk '
  /^\+\+\+ / { file = substr($0, 5); sub(/^b\//, "", file); next }
  /^@@ / { split($3, part, ","); line = substr(part[1], 2) - 1; next }
  /^-/ { next }
  { line++ }
  /^\+/ {
    text = substr($0, 2)
    if (text ~ /^(<<<<<<<|>>>>>>>) /)
      print "- [high] " file ":" line ": a conflict marker was committed; resolve the conflict"
    else if (text ~ /BEGIN [A-Z ]*PRIVATE KEY/ || text ~ /AKIA[0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z]/)
      print "- [high] " file ":" line ": looks like a secret; remove it and replace the key"
    else if (tolower(text) ~ /(password|passwd|secret|token|api_?key)["\047]?[ ]*[:=][ ]*["\047][^"\047$][^"\047]*["\047]/)
      print "- [high] " file ":" line ": looks like a password in the text; read it from the environment"
    # Spelt so that this line is none of them.
    else if (text ~ /(T[O]DO|F[I]XME|X[X]X)([^A-Za-z]|$)/)
      print "- [medium] " file ":" line ": an open end; finish it, or name the issue that will"
    else if (text ~ /[ \t]$/)
      print "- [low] " file ":" line ": white space at the end; remove it"
  }' change.diff > review.md
[ -s review.md ] || echo "No findings." > review.md
echo "review.md has $(grep -c '^- ' review.md || true) finding(s)"
