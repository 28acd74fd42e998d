# A writer who learns from what it is told: each attempt mends what was found about the one before.
prompt=$(cat)
{
    echo '# Release 2.0'
    echo
    case $prompt in
    *password*) echo 'The sample account is set up as the manual says.' ;;
    *) echo 'Try the sample account: its password is hunter2.' ;;
    esac
    case $prompt in
    *"failed at stage 'licence'"*) echo 'Licence: MIT' ;;
    esac
} >notes.md
echo 'wrote notes.md'
