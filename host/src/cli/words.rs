//! An unfinished command line: how far it got, and which word is being typed.

use clap::{Arg, Command};

/// What the words before the last one say.
pub struct Line<'a> {
    pub root: &'a Command,
    /// The innermost command that was named.
    pub command: &'a Command,
    /// Its name with those above it: `plugin add`; empty at the beginning.
    pub path: String,
    /// Words that are neither commands nor options.
    pub positionals: Vec<String>,
    /// The option whose value is being typed.
    pub option: Option<&'a Arg>,
    /// The word that is being typed.
    pub current: &'a str,
}

impl<'a> Line<'a> {
    pub fn read(root: &'a Command, words: &'a [String]) -> Line<'a> {
        let (current, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let mut line = Line { root, command: root, path: String::new(), positionals: Vec::new(), option: None, current };
        let mut only_positionals = false;
        for word in before {
            if line.option.take().is_some() {
                continue;
            }
            if word == "--" {
                only_positionals = true;
            } else if word.starts_with('-') && word.len() > 1 && !only_positionals {
                line.option = line.awaiting(word);
            } else {
                line.take(word);
            }
        }
        line
    }

    /// The option that the next word is the value of.
    fn awaiting(&self, word: &str) -> Option<&'a Arg> {
        let is_named = |arg: &&Arg| match word.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => word.chars().nth(1) == arg.get_short() && arg.get_short().is_some() && word.chars().count() == 2,
        };
        self.command.get_arguments().filter(|arg| arg.get_action().takes_values()).find(is_named)
    }

    fn take(&mut self, word: &str) {
        match self.command.find_subcommand(word).filter(|_| self.positionals.is_empty()) {
            Some(command) => {
                self.command = command;
                if !self.path.is_empty() {
                    self.path.push(' ');
                }
                self.path += command.get_name();
            }
            None => self.positionals.push(word.to_owned()),
        }
    }
}

/// A word as it was typed, without its quotes and backslashes. One that is not finished ends where it ends. Variables and
/// commands in it are left alone: nothing is ever run to complete a word.
pub fn unquote(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => plain.push(c),
            (_, '\\') => plain.extend(chars.next()),
            (_, c) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn read(words: &[&str], check: impl Fn(&Line<'_>)) {
        let mut command = crate::cli::args::Args::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        check(&Line::read(&command, &words));
    }

    #[test]
    fn lines_are_read() {
        read(&["--json", "grep", "-i", "--glob", "*.md", "pattern", "rep"], |line| {
            assert_eq!((line.path.as_str(), line.current), ("grep", "rep"));
            assert_eq!(line.positionals, ["pattern"]);
            assert!(line.option.is_none());
        });
        read(&["plugin", "add", ""], |line| assert_eq!(line.path, "plugin add"));
        read(&["open", "--name", "x"], |line| assert_eq!(line.option.and_then(Arg::get_long), Some("name")));
        read(&["ls", "--", "-odd", ""], |line| assert_eq!(line.positionals, ["-odd"]));
        read(&["ls", "read", ""], |line| assert_eq!((line.path.as_str(), line.positionals.len()), ("ls", 1)));
        read(&[], |line| assert_eq!((line.path.as_str(), line.current), ("", "")));
    }

    #[test]
    fn quotes_are_taken_off_and_nothing_is_expanded() {
        assert_eq!(unquote(r"my\ file"), "my file");
        assert_eq!(unquote("'my file"), "my file");
        assert_eq!(unquote(r#""a \"b\" $(c)""#), r#"a "b" $(c)"#);
        assert_eq!(unquote(r"docs/\$HOME"), "docs/$HOME");
        assert_eq!(unquote(r"'a\b'"), r"a\b");
    }
}
