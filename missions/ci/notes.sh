#!/bin/sh
# Writes one line for each commit since the last tag; since the beginning, if there is none.
set -eu
cat > /dev/null
rm -f release.md   # what an earlier run has handed over
command -v git > /dev/null || { echo "git is needed to list what was committed: install it" >&2; exit 1; }
if ! git rev-parse --verify -q HEAD > /dev/null 2>&1; then
  printf '# Changes\n\nNothing is committed yet.\n' > notes.md
  echo "nothing is committed yet, and notes.md says so"
  exit
fi
last=$(git describe --tags --abbrev=0 2> /dev/null || true)
{
  echo "# Changes since ${last:-the beginning}"
  echo
  git log --no-color --no-merges --format='- %s' "${last:+$last..}HEAD"
} > notes.md
echo "notes.md has $(grep -c '^- ' notes.md || true) line(s)"
