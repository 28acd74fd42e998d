#!/bin/sh
# Empties the workspace, so that every run is the same.
set -eu
case "$PWD" in
  */playground) rm -rf ./* ;;
  *) echo "this is not the playground: $PWD" >&2; exit 1 ;;
esac
echo "the playground is empty"
