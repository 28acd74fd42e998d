#!/bin/sh
# A writer who leaves out the example the first time, and adds it when the reviewers ask for it.
set -eu
prompt=$(cat)
case "$QUORUM_TASK" in
  "Release notes")
    { echo "# Release"; echo; ls -1 count.sh README.md | sed 's/^/- /'; } > NOTES.md
    echo "NOTES.md names the files" ;;
  *)
    { echo "# count.sh"; echo; echo "Prints how many words its standard input has."; } > README.md
    case "$prompt" in
      *"Correct your work"*)
        { echo; echo '    $ printf "to be or not" | sh count.sh'; echo "    4"; } >> README.md
        echo "README.md now has an example" ;;
      *) echo "README.md says what the script does" ;;
    esac ;;
esac
