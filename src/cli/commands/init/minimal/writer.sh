#!/bin/sh
# Does the task named in QUORUM_TASK; the full prompt is on standard input. Replace it with your agent.
set -eu
cat > /dev/null
case "$QUORUM_TASK" in
  "Say goodbye") echo "Goodbye, and come back soon." > goodbye.txt ;;
  *) echo "Hello, reader." > greeting.txt ;;
esac
echo "written"
