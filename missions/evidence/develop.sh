#!/bin/sh
# Stands for an agent: reads the task from standard input, works in the current folder, prints what it did.
task=$(cat)

case $task in
*"the test negates is not green"*)
    cat > calculator.sh <<'END'
case $1 in
add) echo $(($2 + $3)) ;;
negate) echo $((-$2)) ;;
esac
END
    echo "The calculator adds and negates." ;;
*)
    cat > calculator.sh <<'END'
case $1 in
add) echo $(($2 + $3)) ;;
esac
END
    echo "The calculator is complete and all tests pass." ;;
esac
