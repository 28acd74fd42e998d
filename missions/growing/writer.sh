#!/bin/sh
# A writer who thinks of examples only when work that was given up is to be mended.
prompt=$(cat)
case "$QUORUM_TASK" in
# What an earlier run has left is none of this one's work.
Outline) file=outline.md && rm -f usage.md install.md reference.md handbook.md ;;
*installation*) file=install.md ;;
Reference) file=reference.md ;;
*) file=usage.md ;;
esac
echo "$QUORUM_TASK" >"$file"
case "$prompt" in
*"## What this task is for"*) echo "For example: quorum run mission.yaml" >>"$file" ;;
esac
echo "$file is written"
