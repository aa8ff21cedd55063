//! What a line must contain to match: short sequences that are found faster than a whole pattern is tried.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};
use regex_syntax::utf8::Utf8Sequences;

use super::bytes::ByteSet;

/// With more alternatives than that, the pattern itself is as fast.
const MOST_ALTERNATIVES: usize = 16;

/// A longer sequence finds nothing sooner.
const LONGEST: usize = 200;

/// A character that can be encoded in more ways than that is no part of a sequence.
const MOST_ENCODINGS: usize = 4;

/// The bytes of a needle: at each place one of a set.
pub type Sequence = Vec<ByteSet>;

/// One of these is in every line that matches.
#[derive(Debug)]
pub struct Needles {
    pub any_of: Vec<Sequence>,
    /// Whether every line that has one of them matches.
    pub suffice: bool,
}

impl Needles {
    /// `None` if there are none, or none that are worth looking for.
    pub fn of(pattern: &Hir) -> Option<Needles> {
        let part = Part::of(pattern);
        let (exact, unconditional) = (part.exactly.is_some(), part.unconditional);
        let any_of = part.best()?;
        let worthless = any_of.is_empty() || any_of.iter().any(Vec::is_empty);
        (!worthless).then_some(Needles { any_of, suffice: exact && unconditional })
    }
}

/// What is known of a part of a pattern.
struct Part {
    /// All that it can match, if that is not too much.
    exactly: Option<Vec<Sequence>>,
    /// One of these is in whatever it matches.
    contains: Option<Vec<Sequence>>,
    /// Whether it matches wherever its bytes are, whatever is around them.
    unconditional: bool,
}

impl Part {
    fn exactly(sequences: Vec<Sequence>) -> Part {
        Part { exactly: Some(sequences), contains: None, unconditional: true }
    }

    fn unknown() -> Part {
        Part { exactly: None, contains: None, unconditional: true }
    }

    fn of(pattern: &Hir) -> Part {
        match pattern.kind() {
            HirKind::Empty => Part::exactly(vec![Vec::new()]),
            HirKind::Look(_) => Part { unconditional: false, ..Part::exactly(vec![Vec::new()]) },
            HirKind::Literal(literal) => Part::exactly(vec![literal.0.iter().map(|&byte| ByteSet::one(byte)).collect()]),
            HirKind::Class(class) => encodings(class).map_or_else(Part::unknown, Part::exactly),
            HirKind::Capture(capture) => Part::of(&capture.sub),
            HirKind::Repetition(repetition) => Part::repeated(repetition),
            HirKind::Concat(parts) => Part::in_a_row(parts.iter().map(Part::of)),
            HirKind::Alternation(branches) => Part::either(branches.iter().map(Part::of).collect()),
        }
    }

    fn repeated(repetition: &Repetition) -> Part {
        let part = Part::of(&repetition.sub);
        match (repetition.min, repetition.max) {
            (0, Some(1)) => Part::either(vec![Part::exactly(vec![Vec::new()]), part]),
            (0, _) => Part { unconditional: part.unconditional, ..Part::unknown() },
            (times, most) => {
                let copies = (0..times.min(LONGEST as u32)).map(|_| Part {
                    exactly: part.exactly.clone(),
                    contains: part.contains.clone(),
                    unconditional: part.unconditional,
                });
                let row = Part::in_a_row(copies);
                if most == Some(times) && times as usize <= LONGEST {
                    return row;
                }
                let unconditional = row.unconditional;
                Part { exactly: None, contains: row.best(), unconditional }
            }
        }
    }

    fn in_a_row(parts: impl Iterator<Item = Part>) -> Part {
        let (mut run, mut whole, mut unconditional) = (vec![Vec::new()], true, true);
        let mut best: Option<Vec<Sequence>> = None;
        for part in parts {
            unconditional &= part.unconditional;
            let longer = part.exactly.as_ref().and_then(|next| followed(&run, next));
            if let Some(longer) = longer {
                run = longer;
                continue;
            }
            whole = false;
            consider(&mut best, std::mem::replace(&mut run, vec![Vec::new()]));
            match part.exactly {
                Some(next) => run = next,
                None => part.contains.into_iter().for_each(|contained| consider(&mut best, contained)),
            }
        }
        if whole {
            return Part { unconditional, ..Part::exactly(run) };
        }
        consider(&mut best, run);
        Part { exactly: None, contains: best, unconditional }
    }

    fn either(branches: Vec<Part>) -> Part {
        let unconditional = branches.iter().all(|branch| branch.unconditional);
        let exact = branches.iter().all(|branch| branch.exactly.is_some());
        let all: Option<Vec<Vec<Sequence>>> = branches.into_iter().map(Part::best).collect();
        let all = all.map(|all| all.concat()).filter(|all| all.len() <= MOST_ALTERNATIVES);
        match exact {
            true => Part { exactly: all, contains: None, unconditional },
            false => Part { exactly: None, contains: all, unconditional },
        }
    }

    fn best(self) -> Option<Vec<Sequence>> {
        self.exactly.or(self.contains)
    }
}

/// All of the first, each followed by all of the second; `None` if those are too many.
fn followed(first: &[Sequence], second: &[Sequence]) -> Option<Vec<Sequence>> {
    let longest = |all: &[Sequence]| all.iter().map(Vec::len).max().unwrap_or(0);
    let fits = first.len() * second.len() <= MOST_ALTERNATIVES && longest(first) + longest(second) <= LONGEST;
    fits.then(|| first.iter().flat_map(|start| second.iter().map(move |end| [&start[..], end].concat())).collect())
}

/// Keeps what is rarer in text.
fn consider(best: &mut Option<Vec<Sequence>>, other: Vec<Sequence>) {
    if best.as_ref().is_none_or(|best| frequency(&other) < frequency(best)) {
        *best = Some(other);
    }
}

/// How often one of the sequences begins at a place in text, as a fraction.
fn frequency(sequences: &[Sequence]) -> f32 {
    sequences.iter().map(|sequence| frequency_within(sequence, 3)).sum()
}

/// The same for the rarest `places` neighbours of one sequence.
pub fn frequency_within(sequence: &Sequence, places: usize) -> f32 {
    let fraction = |places: &[ByteSet]| places.iter().map(|set| set.per_mille() / 1000.0).product::<f32>();
    let windows = sequence.windows(places.min(sequence.len()).max(1));
    windows.map(fraction).min_by(f32::total_cmp).unwrap_or(1.0)
}

/// The ways to write a character of a class. The end of a line is in none: what is searched has none.
fn encodings(class: &Class) -> Option<Vec<Sequence>> {
    let mut single = ByteSet::EMPTY;
    let mut longer = Vec::new();
    match class {
        Class::Bytes(class) => {
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).for_each(|byte| single.insert(byte))
        }
        Class::Unicode(class) => {
            for sequence in class.ranges().iter().flat_map(|range| Utf8Sequences::new(range.start(), range.end())) {
                match sequence.as_slice() {
                    [one] => (one.start..=one.end).for_each(|byte| single.insert(byte)),
                    bytes => longer.push(bytes.iter().map(|range| ByteSet::range(range.start, range.end)).collect()),
                }
                if longer.len() >= MOST_ENCODINGS {
                    return None;
                }
            }
        }
    }
    single.remove(b'\n');
    single.remove(b'\r');
    if !single.is_empty() {
        longer.push(vec![single]);
    }
    Some(longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Option<(Vec<String>, bool)> {
        let pattern = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build().parse(pattern).unwrap();
        let needles = Needles::of(&pattern)?;
        let byte = |set: &ByteSet| match set.iter().collect::<Vec<_>>()[..] {
            [one] => char::from(one).to_string(),
            [first, .., last] => format!("[{}{}]", char::from(first), char::from(last)),
            [] => "[]".to_owned(),
        };
        let mut all: Vec<String> = needles.any_of.iter().map(|one| one.iter().map(byte).collect()).collect();
        all.sort();
        Some((all, needles.suffice))
    }

    #[test]
    fn patterns_tell_what_every_match_contains() {
        let table: &[(&str, &[&str], bool)] = &[
            ("needle", &["needle"], true),
            ("foo|bar|quux", &["bar", "foo", "quux"], true),
            ("(?i)over", &["[Oo][Vv][Ee][Rr]"], true),
            ("colou?r", &["color", "colour"], true),
            (r"fn \w+_\w+\(", &["fn "], false),
            (r"\bword\b", &["word"], false),
            (r"^start", &["start"], false),
            (r"\w+needle\w+", &["needle"], false),
            (r"(abc|def)+x*", &["abc", "def"], false),
            (r"a{3}b", &["aaab"], true),
            (r"x(foo|ba[rz])y", &["xba[rz]y", "xfooy"], true),
            (r"(?:foo|\d+)Q", &["Q"], false),
            (r"[A-Z]{3}_[a-z]{3}\d", &["[AZ][AZ][AZ]_[az][az][az]"], false),
            ("a[b\n]c", &["abc"], true),
        ];
        for (pattern, expected, suffice) in table {
            let found = shown(pattern).unwrap_or_else(|| panic!("{pattern} has needles"));
            assert_eq!(found, (expected.iter().map(|&one| one.to_owned()).collect(), *suffice), "{pattern}");
        }
        for pattern in ["", ".*", "a*", r"\w+", "^$", "foo|x*", r"\p{Greek}", "[^a]"] {
            assert!(shown(pattern).is_none(), "{pattern}: {:?}", shown(pattern));
        }
        // A letter whose other case is beyond ASCII is written in two ways.
        assert_eq!(shown("(?i)k").unwrap().0.len(), 2);
    }
}
