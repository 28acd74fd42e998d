#!/bin/sh
# Does the first open point of the list and claims that everything is done. It knows nothing but what lies in the folder.
set -eu
cat > /dev/null
if [ "$QUORUM_ATTEMPT" = 1 ]; then
  : > lib.sh
  printf -- '- [ ] %s\n' upper first count > TODO.md
fi
point=$(sed -n 's/^- \[ \] //p' TODO.md | head -n 1)
case "$point" in
  upper) echo 'upper() { printf "%s\n" "$1" | tr a-z A-Z; }' >> lib.sh ;;
  first) echo 'first() { printf "%s\n" "${1%% *}"; }' >> lib.sh ;;
  count) echo 'count() { set -- $1; echo $#; }' >> lib.sh ;;
  *) echo "Nothing is open."; exit ;;
esac
sed "s/^- \[ \] $point\$/- [x] $point/" TODO.md > TODO.new
mv TODO.new TODO.md
echo "I wrote $point. Everything is done and the test is green."
