#!/bin/sh
# A planner who writes three steps.
set -eu
cat > /dev/null
cat > plan.md <<'END'
# slug.sh

1. Turn capital letters into small ones.
2. Turn each run of blanks into one `-`.
3. Exit with 2 and say how it is used where no argument is given.
END
echo "plan.md has three steps"
