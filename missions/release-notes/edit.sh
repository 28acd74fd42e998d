# A reviewer who looks at the style only.
cat >/dev/null
echo 'It reads well.'
# For the points of an earlier review, where there are some.
echo 'POINT 1: yes - it is as it should be'
echo 'POINT 2: yes'
echo 'SCORE: 85'
