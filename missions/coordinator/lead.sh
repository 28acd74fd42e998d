# The agent that coordinates. QUORUM_PURPOSE says what it is asked.
cat > /dev/null
case "$QUORUM_PURPOSE" in
resolve) echo '{"action": "absorb", "prompt": "Leave the list of known issues out and say so."}' ;;
confirm) echo '{"question": true}' ;;
answer) echo '{"answer": "For users, not for developers."}' ;;
esac
