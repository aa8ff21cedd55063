//! The pattern for lines that are ASCII throughout. Without all that is beyond, it is so small that making it in every part of the
//! work costs next to nothing, and it has an answer where the whole one may have none: at the boundary of a word.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::block::PATTERN_BYTES;

/// Says of a line whether it matches.
pub struct AsciiLines {
    dfa: DFA,
    cache: Cache,
}

impl AsciiLines {
    /// `None` if the pattern is too large for it.
    pub fn new(pattern: &Hir) -> Option<AsciiLines> {
        let config = thompson::Config::new().utf8(false).which_captures(WhichCaptures::None).nfa_size_limit(Some(PATTERN_BYTES));
        let nfa = NFA::compiler().configure(config).build_from_hir(&within_ascii(pattern)).ok()?;
        let dfa = DFA::builder().build_from_nfa(nfa).ok()?;
        let cache = dfa.create_cache();
        Some(AsciiLines { dfa, cache })
    }

    /// Whether a line of ASCII, given without its end, matches. `None` if this automaton cannot say.
    pub fn matches(&mut self, line: &[u8]) -> Option<bool> {
        let found = self.dfa.try_search_fwd(&mut self.cache, &Input::new(line).earliest(true));
        found.ok().map(|found| found.is_some())
    }
}

/// What the pattern is where there is nothing but ASCII. The ends of lines are left out too, as the matcher does.
fn within_ascii(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            let range = |start, end| ClassUnicodeRange::new(start, end);
            class.intersect(&ClassUnicode::new([range('\0', '\t'), range('\x0b', '\x0c'), range('\x0e', '\x7f')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            let range = |start, end| ClassBytesRange::new(start, end);
            class.intersect(&ClassBytes::new([range(0, b'\t'), range(0x0b, 0x0c), range(0x0e, 0x7f)]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(look) => Hir::look(without_unicode(*look)),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(within_ascii(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => within_ascii(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(within_ascii).collect()),
        HirKind::Alternation(branches) => Hir::alternation(branches.iter().map(within_ascii).collect()),
    }
}

fn without_unicode(look: Look) -> Look {
    match look {
        Look::WordUnicode => Look::WordAscii,
        Look::WordUnicodeNegate => Look::WordAsciiNegate,
        Look::WordStartUnicode => Look::WordStartAscii,
        Look::WordEndUnicode => Look::WordEndAscii,
        Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
        Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
        same => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ascii_need_nothing_beyond_it() {
        let parse = |pattern: &str| {
            regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build().parse(pattern).unwrap()
        };
        let table = [
            (r"fn \w+_\w+\(", "pub fn a_b(", "fn ab("),
            (r"\bx\b", "a x b", "axb"),
            (r"\b{start}ab\b{end}", "(ab)", "cab"),
            (r"(?i)mask", "MASK", "mas"),
            (r"^[^a]é?$", "b", "a"),
            (r"\p{Greek}|\S+end", "the end, friend", "end"),
            (r"\Bx", "ax", "x"),
        ];
        for (pattern, yes, no) in table {
            let mut lines = AsciiLines::new(&parse(pattern)).unwrap();
            assert_eq!((lines.matches(yes.as_bytes()), lines.matches(no.as_bytes())), (Some(true), Some(false)), "{pattern}");
        }
        assert!(AsciiLines::new(&parse(r"((a{60}){60}){60}")).is_none());
    }
}
