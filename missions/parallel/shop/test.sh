# The discount must leave something to pay.
cd missions/parallel/shop || exit 1
test "$(cat discount)" -lt "$(cat price)"
