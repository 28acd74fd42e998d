# A red team replies with findings and no verdict: what follows from them is not its business.
prompt=$(cat)
case $prompt in
*hunter2*)
    echo '{"findings": [{"severity": "critical", "surface": "security", "description": "the notes give away a password",
        "evidence": "its password is hunter2", "suggestedFix": "take the password out"}], "summary": "not like this"}'
    ;;
*)
    echo '{"findings": [{"severity": "low", "surface": "requirements", "description": "no date of the release",
        "evidence": "", "suggestedFix": "add it"}], "summary": "good enough",
        "prior": [{"id": 1, "addressed": "yes", "note": "no password stands there"}, {"id": 2, "addressed": "yes"}]}'
    ;;
esac
