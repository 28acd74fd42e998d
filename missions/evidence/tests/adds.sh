test "$(sh calculator.sh add 2 3)" = 5
