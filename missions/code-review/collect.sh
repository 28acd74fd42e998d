#!/bin/sh
# Writes the change of the repository around the workspace to change.diff. Where nothing is committed yet, that is everything
# there is.
set -eu
rm -f verdict.md   # of an earlier run
command -v git > /dev/null || { echo "git is needed to tell what has changed: install it" >&2; exit 1; }
if ! head=$(git rev-parse --verify -q HEAD 2> /dev/null); then
  top=$(git rev-parse --show-toplevel 2> /dev/null || dirname "$PWD")
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  export GIT_DIR="$scratch" GIT_WORK_TREE="$top"
  git init -q
  git -C "$top" add -A
  {
    echo "# No commit yet: all files below $top"
    git diff --cached --no-color --no-ext-diff "$(git hash-object -t tree -w /dev/null)"
  } > change.diff
  echo "nothing is committed yet; all that is there has $(grep -c '^[+][^+]' change.diff || true) lines"
  exit
fi
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
