#!/bin/sh
# A developer who forgets the empty input the first time, and corrects it when the check says so.
set -eu
prompt=$(cat)
case "$prompt" in
  *"Correct your work"*)
    cat > count.sh <<'END'
# Prints how many words standard input has.
wc -w | tr -d ' '
END
    echo "count.sh now counts an empty input as 0 words" ;;
  *)
    cat > count.sh <<'END'
# Prints how many words standard input has.
tr -s ' \n' '\n\n' | grep -c ''| sed 's/^0$//'
END
    echo "count.sh counts words" ;;
esac
