#!/bin/sh
# A judge who looks at the folder of the work: no file of it may have conflict marks.
if grep -rq '^<<<<<<<' missions/parallel/shop; then
    echo "There are conflict marks left."
    echo "SCORE: 10"
else
    echo "No conflict marks are left, and every file can be read."
    echo "SCORE: 90"
fi
