#!/bin/sh
# Counts the findings by severity.
set -eu
{
  echo "# Review"
  echo
  for severity in high medium low; do
    echo "- $severity: $(grep -c "^- \[$severity\]" review.md || true)"
  done
} > verdict.md
cat verdict.md
