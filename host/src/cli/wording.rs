//! Failures in the words of a shell. Tools tell agents which tool or argument helps; a person types commands and options.

use crate::failure::Failure;

/// What tools say, and what a person at a shell would be told. The longer comes before what it contains.
const WORDS: &[(&str, &str)] = &[
    ("Set recursive=true", "Use -r"),
    (
        "Close with sync=true to keep them, or with sync=false to throw them away",
        "Use --sync to keep them, --no-sync to throw them away",
    ),
    ("close with sync=false", "close with --no-sync"),
    ("sync with force=true", "use zipfs sync --force"),
    ("Read it with encoding 'base64'", "Use --raw"),
    ("with encoding 'base64'", "with --raw"),
    ("Name one with `session`.", "Name one of them, as in `zipfs ls SESSION` or SESSION:PATH."),
    ("Open an archive first, with zipfs_open.", "Open an archive first: zipfs open FILE"),
    ("See the tool's input schema.", "See --help."),
    ("`session`", "SESSION"),
];

pub fn for_a_shell(mut failure: Failure) -> Failure {
    failure.message = translate(&failure.message);
    failure.suggestion = failure.suggestion.as_deref().map(translate);
    failure
}

fn translate(text: &str) -> String {
    let mut said = text.to_owned();
    for (tool, shell) in WORDS {
        said = said.replace(tool, shell);
    }
    // The tools are named like the commands: `zipfs_ls` is `zipfs ls`. A path, which is in quotes, keeps its name.
    let mut plain = String::with_capacity(said.len());
    for piece in said.split_inclusive("zipfs_") {
        match piece.strip_suffix("zipfs_") {
            Some(before) if before.is_empty() || before.ends_with([' ', '(', '`']) => plain += &format!("{before}zipfs "),
            _ => plain += piece,
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_arguments_become_commands_and_options() {
        let failure = Failure::invalid("'docs' is a directory.").suggest("Set recursive=true to delete it with everything in it.");
        assert_eq!(for_a_shell(failure).sentence(), "'docs' is a directory. Use -r to delete it with everything in it.");
        assert_eq!(translate("List it with zipfs_ls."), "List it with zipfs ls.");
        assert_eq!(translate("zipfs_tree shows what there is."), "zipfs tree shows what there is.");
        assert_eq!(translate("There is no file 'zipfs_ls'."), "There is no file 'zipfs_ls'.");
    }
}
