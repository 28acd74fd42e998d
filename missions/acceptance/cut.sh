#!/bin/sh
# Whoever cuts criteria is told the task and its criteria, and sees none of the work.
cat >/dev/null
cat <<REPLY
{"probes": [{"criterion": 1, "probe": "Does it say which command is run?"},
            {"criterion": 1, "probe": "Does it show an example of it?"},
            {"criterion": 2, "probe": "Has it fewer than ten lines?"}]}
REPLY
