# A developer who picks the wrong colour first. A real one would build the page and take the screenshot with a browser.
prompt=$(cat)
case $prompt in
*'#1a73e8 is expected'*) cp final.png shot.png ;;
*) cp draft.png shot.png ;;
esac
echo 'built the page, and took a screenshot of it'
