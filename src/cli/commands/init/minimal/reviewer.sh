#!/bin/sh
# Judges the work in the current folder; the request is on standard input. Replace it with your judge.
set -eu
cat > /dev/null
if [ "$QUORUM_TASK" = "Say goodbye" ]; then
  if grep -qi "goodbye" goodbye.txt; then echo "It says goodbye."; echo "SCORE: 90"; else echo "SCORE: 20"; fi
  exit
fi
score=1
if grep -qi "hello" greeting.txt; then score=5; fi
echo '{"scores": ['
for dimension in correctness completeness code_quality; do
  echo "  {\"dimension\": \"$dimension\", \"score\": $score, \"reasoning\": \"The line was read.\"},"
done
echo "  {\"dimension\": \"edge_cases\", \"score\": $score, \"reasoning\": \"There are none.\"}], \"findings\": []}"
