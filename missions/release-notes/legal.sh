# A stage replies with a verdict and a reason.
cat >/dev/null
echo '{"verdict": "pass", "reason": "nothing is promised", "findings": [],
    "prior": [{"id": 1, "addressed": "yes"}, {"id": 2, "addressed": "yes"}]}'
