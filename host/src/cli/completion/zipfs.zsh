#compdef zipfs
# Completion of zipfs for zsh. Load it with: source <(zipfs completion zsh), or keep it as _zipfs in a directory of $fpath.

_zipfs() {
    local found line value about code
    local -a ended open ended_shown open_shown
    found=$(command zipfs complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    code=$?
    if (( code == 10 )); then
        _files
        return
    fi
    for line in "${(@f)found}"; do
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        [[ -n $value ]] || continue
        if [[ $value == *[/:] ]]; then
            open+=("$value")
            open_shown+=("$value")
        else
            ended+=("$value")
            if [[ $line == *$'\t'* ]]; then ended_shown+=("$value -- $about"); else ended_shown+=("$value"); fi
        fi
    done
    # compadd quotes what it inserts, so a file name of an archive cannot become a command.
    (( $#open )) && compadd -S '' -d open_shown -a -- open
    (( $#ended )) && compadd -l -d ended_shown -a -- ended
}

if [[ $funcstack[1] == _zipfs ]]; then _zipfs "$@"; else compdef _zipfs zipfs; fi
