#!/bin/sh
# A reviewer to whom the outline is good enough to go on with, and everything else good.
case "$(cat)" in
*"outline of the handbook"*) echo "It is thin. SCORE: 50" ;;
*) echo "Good. SCORE: 85" ;;
esac
