#!/bin/sh
# A merchant who raises the discount as far as the price allows.
cd missions/parallel/shop || exit 1
discount=7
test "$discount" -lt "$(cat price)" || discount=$(($(cat price) - 1))
echo "$discount" >discount
echo "the discount is $discount now"
