# A reviewer who looks at the style only.
cat >/dev/null
echo 'It reads well.'
echo 'SCORE: 85'
