#!/bin/sh
# A builder who forgets the third step until the review names it.
set -eu
prompt=$(cat)
: > slug.sh
case "$prompt" in
  *"step 3"*) echo '[ $# = 1 ] || { echo "usage: sh slug.sh TEXT" >&2; exit 2; }' >> slug.sh ;;
esac
echo "printf '%s\n' \"\$1\" | tr A-Z a-z | tr -s ' ' -" >> slug.sh
echo "slug.sh does all that the plan says"
