#!/bin/sh
# A writer who adds an example once somebody asks for one.
echo "Write a mission, then run it with quorum." >guide.md
case "$(cat)" in
*"Sent back by the verification"*) echo "For example: quorum run mission.yaml" >>guide.md ;;
esac
echo "guide.md is written"
