# Completion of zipfs for fish. Load it with: zipfs completion fish | source

function __zipfs_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
    command zipfs complete --quoted -- $words[2..] 2>/dev/null
    if test $status -eq 10
        __fish_complete_path (commandline --current-token)
    end
end

complete --command zipfs --no-files --keep-order --arguments '(__zipfs_complete)'
