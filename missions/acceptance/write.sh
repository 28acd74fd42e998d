#!/bin/sh
# A writer who adds an example once somebody misses one.
echo "Write a mission, then run it with quorum." >guide.md
case "$(cat)" in
*"There is no example"*) echo "For example: quorum run mission.yaml" >>guide.md ;;
esac
echo "guide.md is written"
