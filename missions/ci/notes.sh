#!/bin/sh
# Writes one line for each commit since the last tag; since the beginning, if there is none.
set -eu
cat > /dev/null
last=$(git describe --tags --abbrev=0 2> /dev/null || true)
{
  echo "# Changes since ${last:-the beginning}"
  echo
  git log --no-color --no-merges --format='- %s' "${last:+$last..}HEAD"
} > notes.md
echo "notes.md has $(grep -c '^- ' notes.md || true) line(s)"
