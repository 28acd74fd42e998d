test "$(sh calculator.sh negate 4)" = -4
