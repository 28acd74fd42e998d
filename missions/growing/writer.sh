# A writer who thinks of examples only when somebody else's work is to be mended.
prompt=$(cat)
case "$prompt" in
*"## What this task is for"*) printf 'Start it.\nFor example: quorum run mission.yaml\n' >usage.md ;;
*) printf 'Start it.\n' >usage.md ;;
esac
echo "usage.md is written"
