# An agent that asks before it writes.
prompt=$(cat)
case "$prompt" in
*"Answer: "*) echo "Notes for users. Known issues are left out: they could not be collected." ;;
*) echo "Are the notes for users or for developers?" ;;
esac
