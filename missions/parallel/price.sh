#!/bin/sh
# A merchant who lowers the price as far as the discount allows.
cd missions/parallel/shop || exit 1
price=5
test "$price" -gt "$(cat discount)" || price=$(($(cat discount) + 1))
echo "$price" >price
echo "the price is $price now"
