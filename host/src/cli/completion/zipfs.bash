# Completion of zipfs for bash. Load it with: source <(zipfs completion bash)

_zipfs() {
    local rest=${COMP_LINE:0:COMP_POINT} trimmed word i words=() value line
    COMPREPLY=()
    # Bash cuts words at colons; what no blank separates is put together again.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        if ((i == COMP_CWORD)); then word=$trimmed; else word=${COMP_WORDS[i]}; fi
        if ((${#words[@]})) && [[ $trimmed == "$rest" ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${trimmed#"$word"}
    done
    local current=${words[${#words[@]} - 1]} cut=
    # What stands before the last colon is not replaced, so it must not come back.
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then cut=${current%"${current##*:}"}; fi

    local found code
    found=$(command zipfs complete --quoted -- "${words[@]:1}" 2>/dev/null)
    code=$?
    if ((code == 10)); then
        compopt -o default
        return
    fi
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        value=${value#"$cut"}
        # A file name of an archive must not become a command: it is quoted, unless the quote is already open.
        if [[ $current != [\"\']* ]]; then printf -v value %q "$value"; fi
        COMPREPLY+=("$value")
    done <<<"$found"
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/:] ]]; then compopt -o nospace; fi
}

complete -F _zipfs zipfs
