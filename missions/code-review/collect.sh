#!/bin/sh
# Writes the change of the repository around the workspace to change.diff.
set -eu
head=$(git rev-parse HEAD)
base=
for candidate in ${BASE:-origin/HEAD origin/main origin/master main master HEAD~1}; do
  fork=$(git merge-base "$candidate" HEAD 2> /dev/null || true)
  # A branch that has all of this is nothing to compare with.
  if [ -n "$fork" ] && [ "$fork" != "$head" ]; then
    base=$fork
    break
  fi
done
if [ -z "$base" ] && [ -n "${BASE:-}" ]; then
  echo "there is no change since $BASE" >&2
  exit 1
fi
# The first commit of all is compared with nothing.
[ -n "$base" ] || base=$(git hash-object -t tree /dev/null)
{
  echo "# The change from $base to $head"
  git -C "$(git rev-parse --show-toplevel)" diff --no-color --no-ext-diff "$base" HEAD
} > change.diff
echo "the change since $base has $(grep -c '^[+-][^+-]' change.diff || true) changed lines"
