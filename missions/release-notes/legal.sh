# A stage replies with a verdict and a reason.
cat >/dev/null
echo '{"verdict": "pass", "reason": "nothing is promised", "findings": []}'
