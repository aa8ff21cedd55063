//! Finding needles in text, 64 places at a time.
//!
//! Two ways lead to the places where one could be. A single needle is looked for by its rarest bytes: a place counts if they are
//! all where they should be. For several, each byte of a short window is looked up in two tables of 16, one for its upper and one
//! for its lower half; a bit for each needle says whether the byte fits. A place that counts is then compared with the needles.

use std::array::from_fn;

use super::needles::{Needles, Sequence, frequency_within};
use super::vector::{Sixteen, quarters};

/// Where more places than that, of all, are expected to count, the pattern itself is as fast.
const MOST_EXPECTED: f32 = 1.0 / 64.0;

/// Where no more than that are expected, another byte to compare costs more than it spares.
const FEW: f32 = 1.0 / 4000.0;

/// How far into a needle its rare bytes are looked for.
const WITHIN: usize = 64;

/// Finds the needles of a pattern.
pub struct Scanner {
    needles: Vec<Needle>,
    way: Way,
}

struct Needle {
    sequence: Sequence,
    /// Where in it the window of the tables is.
    window: usize,
}

enum Way {
    Rare2(Rare<2, false>),
    Rare3(Rare<3, false>),
    RareMasked2(Rare<2, true>),
    RareMasked3(Rare<3, true>),
    Tables1(Tables<1>),
    Tables2(Tables<2>),
    Tables3(Tables<3>),
}

impl Scanner {
    /// `None` if looking for these needles is not worth it.
    pub fn new(needles: &Needles) -> Option<Scanner> {
        match &needles.any_of[..] {
            [needle] => Scanner::of_one(needle).or_else(|| Scanner::of_several(&needles.any_of)),
            several => Scanner::of_several(several),
        }
    }

    fn of_one(needle: &Sequence) -> Option<Scanner> {
        let mut tests: Vec<(f32, Test)> = needle
            .iter()
            .enumerate()
            .take(WITHIN)
            .filter_map(|(at, set)| set.masked().map(|(mask, value)| (set.per_mille() / 1000.0, Test { at, mask, value })))
            .collect();
        tests.sort_by(|a, b| a.0.total_cmp(&b.0));
        let expected = |count: usize| tests.iter().take(count).map(|(fraction, _)| fraction).product::<f32>();
        // A set that is no mask and value is left to the tables, if what remains says little.
        let says_little = tests.len() < needle.len().min(3) && expected(3) > FEW;
        if expected(3) > MOST_EXPECTED || says_little {
            return None;
        }
        // A needle of one byte is looked for twice.
        let rarest: [Test; 3] = from_fn(|index| tests[index.min(tests.len() - 1)].1);
        let two = rarest[..2] == rarest[1..] || expected(2) <= FEW;
        let masked = rarest.iter().any(|test| test.mask != 255);
        let way = match (two, masked) {
            (true, false) => Way::Rare2(Rare::new(&rarest)),
            (true, true) => Way::RareMasked2(Rare::new(&rarest)),
            (false, false) => Way::Rare3(Rare::new(&rarest)),
            (false, true) => Way::RareMasked3(Rare::new(&rarest)),
        };
        Some(Scanner { needles: vec![Needle { sequence: needle.clone(), window: 0 }], way })
    }

    fn of_several(needles: &[Sequence]) -> Option<Scanner> {
        let most = needles.iter().map(Vec::len).min().filter(|&shortest| shortest > 0)?.min(3);
        let expected = |places: usize| needles.iter().map(|needle| frequency_within(needle, places)).sum::<f32>();
        if expected(most) > MOST_EXPECTED {
            return None;
        }
        let places = (1..most).find(|&places| expected(places) <= FEW).unwrap_or(most);
        let needles: Vec<Needle> =
            needles.iter().map(|sequence| Needle { sequence: sequence.clone(), window: rarest_window(sequence, places) }).collect();
        let way = match places {
            1 => Way::Tables1(Tables::new(&needles)),
            2 => Way::Tables2(Tables::new(&needles)),
            _ => Way::Tables3(Tables::new(&needles)),
        };
        Some(Scanner { needles, way })
    }

    /// Where a needle begins, at `from` or after it. `from` must be the beginning of a line.
    #[inline]
    pub fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        match &self.way {
            Way::Rare2(way) => self.find_rare(way, text, from),
            Way::Rare3(way) => self.find_rare(way, text, from),
            Way::RareMasked2(way) => self.find_rare(way, text, from),
            Way::RareMasked3(way) => self.find_rare(way, text, from),
            Way::Tables1(way) => self.find_in_tables(way, text, from),
            Way::Tables2(way) => self.find_in_tables(way, text, from),
            Way::Tables3(way) => self.find_in_tables(way, text, from),
        }
    }

    fn find_rare<const N: usize, const MASKED: bool>(&self, rare: &Rare<N, MASKED>, text: &[u8], from: usize) -> Option<usize> {
        let blocks = rare.offsets.map(|offset| text.get(from + offset..).unwrap_or_default().as_chunks::<64>().0);
        let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
        let blocks = blocks.map(|blocks| &blocks[..count]);
        for index in 0..count {
            let bytes = blocks.map(|blocks| quarters(&blocks[index]));
            let counts = |quarter: usize| rare.counts(bytes.map(|quarters| quarters[quarter]));
            if counts(0).or(counts(1)).or(counts(2).or(counts(3))).has_any() {
                let at = from + 64 * index;
                let closer = (0..4).find_map(|quarter| self.compare(counts(quarter).bits(), text, at + 16 * quarter));
                if closer.is_some() {
                    return closer;
                }
            }
        }
        let mut at = from + 64 * count;
        while let Some(bytes) = rare.bytes(text, at) {
            let found = self.compare(rare.counts(bytes).bits(), text, at);
            if found.is_some() {
                return found;
            }
            at += 16;
        }
        (at..text.len()).find_map(|at| self.needle_at(text, at))
    }

    fn find_in_tables<const N: usize>(&self, tables: &Tables<N>, text: &[u8], from: usize) -> Option<usize> {
        // A place counts when the last byte of its window fits, so many bytes after the first.
        let late = N - 1;
        let mut before = [Sixteen::all(0); N];
        let (blocks, rest) = text[from..].as_chunks::<64>();
        for (index, block) in blocks.iter().enumerate() {
            let [a, b, c, d] = quarters(block);
            let a = tables.counts(a, &mut before);
            let b = tables.counts(b, &mut before);
            let c = tables.counts(c, &mut before);
            let d = tables.counts(d, &mut before);
            if a.or(b).or(c.or(d)).has_any() {
                for (quarter, counts) in [a, b, c, d].into_iter().enumerate() {
                    let found = self.compare_late(counts.bits(), text, from + 64 * index + 16 * quarter, late);
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        let mut at = text.len() - rest.len();
        for sixteen in rest.as_chunks::<16>().0 {
            let counts = tables.counts(Sixteen::of(sixteen), &mut before);
            let found = self.compare_late(counts.bits(), text, at, late);
            if found.is_some() {
                return found;
            }
            at += 16;
        }
        (at.saturating_sub(late).max(from)..text.len()).find_map(|at| self.needle_at(text, at))
    }

    /// Compares at the places that count, each so many bytes before its bit.
    fn compare_late(&self, mut bits: u16, text: &[u8], at: usize, late: usize) -> Option<usize> {
        while bits != 0 {
            let place = (at + bits.trailing_zeros() as usize).checked_sub(late);
            let found = place.and_then(|place| self.needle_at(text, place));
            if found.is_some() {
                return found;
            }
            bits &= bits - 1;
        }
        None
    }

    fn compare(&self, bits: u16, text: &[u8], at: usize) -> Option<usize> {
        self.compare_late(bits, text, at, 0)
    }

    /// Where the needle begins whose window is at `at`.
    fn needle_at(&self, text: &[u8], at: usize) -> Option<usize> {
        self.needles.iter().find_map(|needle| {
            let start = at.checked_sub(needle.window)?;
            let there = text[start..].get(..needle.sequence.len())?;
            needle.sequence.iter().zip(there).all(|(set, &byte)| set.has(byte)).then_some(start)
        })
    }
}

/// A byte of a needle: where it is, and what it is under a mask.
#[derive(Clone, Copy, PartialEq)]
struct Test {
    at: usize,
    mask: u8,
    value: u8,
}

struct Rare<const N: usize, const MASKED: bool> {
    offsets: [usize; N],
    masks: [Sixteen; N],
    values: [Sixteen; N],
}

impl<const N: usize, const MASKED: bool> Rare<N, MASKED> {
    fn new(tests: &[Test; 3]) -> Rare<N, MASKED> {
        Rare {
            offsets: from_fn(|n| tests[n].at),
            masks: from_fn(|n| Sixteen::all(tests[n].mask)),
            values: from_fn(|n| Sixteen::all(tests[n].value)),
        }
    }

    /// The bytes that are looked at for sixteen places; `None` if the text ends within them.
    fn bytes(&self, text: &[u8], at: usize) -> Option<[Sixteen; N]> {
        let mut bytes = self.values;
        for (bytes, offset) in bytes.iter_mut().zip(self.offsets) {
            *bytes = Sixteen::of(text.get(at + offset..)?.first_chunk()?);
        }
        Some(bytes)
    }

    /// The places that count, by those bytes.
    #[inline(always)]
    fn counts(&self, bytes: [Sixteen; N]) -> Sixteen {
        let test = |n: usize| if MASKED { bytes[n].and(self.masks[n]) } else { bytes[n] }.equal(self.values[n]);
        let two = test(0).and(test(1));
        if N > 2 { two.and(test(2)) } else { two }
    }
}

/// For each place of the window, which needles a byte fits, by its upper and by its lower half.
struct Tables<const N: usize>([(Sixteen, Sixteen); N]);

impl<const N: usize> Tables<N> {
    fn new(needles: &[Needle]) -> Tables<N> {
        Tables(from_fn(|place| {
            let (mut upper, mut lower) = ([0; 16], [0; 16]);
            for (index, needle) in needles.iter().enumerate() {
                // Beyond eight, two needles share a bit.
                let bit = 1 << (index % 8);
                for byte in needle.sequence[needle.window + place].iter() {
                    upper[usize::from(byte >> 4)] |= bit;
                    lower[usize::from(byte & 15)] |= bit;
                }
            }
            (Sixteen::of(&upper), Sixteen::of(&lower))
        }))
    }
}

impl<const N: usize> Tables<N> {
    /// The places that count, by the last bytes of their windows, given what fit in the sixteen bytes before.
    #[inline(always)]
    fn counts(&self, bytes: Sixteen, before: &mut [Sixteen; N]) -> Sixteen {
        let (upper, lower) = (bytes.upper(), bytes.lower());
        let mut counts = Sixteen::all(255);
        for (n, before) in before.iter_mut().enumerate() {
            let fits = self.0[n].0.looked_up(upper).and(self.0[n].1.looked_up(lower));
            counts = counts.and(match N - 1 - n {
                0 => fits,
                1 => fits.one_later(*before),
                _ => fits.two_later(*before),
            });
            *before = fits;
        }
        counts
    }
}

fn rarest_window(sequence: &Sequence, places: usize) -> usize {
    let fraction = |start: usize| frequency_within(&sequence[start..start + places].to_vec(), places);
    (0..=sequence.len() - places).min_by(|&a, &b| fraction(a).total_cmp(&fraction(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needles(pattern: &str) -> Option<Needles> {
        let pattern = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build().parse(pattern).ok()?;
        Needles::of(&pattern)
    }

    /// The first needle, found the slow way.
    fn naive(needles: &Needles, text: &[u8], from: usize) -> Option<usize> {
        (from..text.len()).find(|&at| {
            needles.any_of.iter().any(|needle| {
                text[at..].get(..needle.len()).is_some_and(|there| needle.iter().zip(there).all(|(set, &byte)| set.has(byte)))
            })
        })
    }

    fn same(needles: &Needles, scanner: &Scanner, text: &[u8], from: usize) {
        let (fast, slow) = (scanner.find(text, from), naive(needles, text, from));
        // With several needles another one of the same line may be found first.
        assert_eq!(fast.is_some(), slow.is_some(), "{:?} from {from}", String::from_utf8_lossy(text));
        if let (Some(fast), Some(slow)) = (fast, slow) {
            assert_eq!(naive(needles, text, fast), Some(fast));
            let line = |at: usize| text[..at].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(line(fast), line(slow));
        }
    }

    const PATTERNS: [&str; 14] = [
        "z",
        "qz",
        "needle",
        "(?i)needle",
        "(?i)k",
        "foo_bar|Mutex|quux",
        "(?i)foo|barz?k",
        "a(b|c|d)Z",
        "[A-Z]x[0-9]",
        "é|ü",
        "_[a-d]{2}_",
        "unreachable_unchecked",
        "Qa|Qb|Qc|Qd|Re|Rf|Rg|Rh|Si|Sj|Sk|Sl",
        "xyZ|ZZZ",
    ];

    #[test]
    fn needles_are_found_at_every_place() {
        let mut tried = 0;
        for pattern in PATTERNS {
            let Some(needles) = needles(pattern) else { continue };
            let Some(scanner) = Scanner::new(&needles) else { continue };
            tried += 1;
            for needle in &needles.any_of {
                let bytes: Vec<u8> = needle.iter().map(|set| set.iter().last().unwrap()).collect();
                for before in 0..200 {
                    for after in [0, 1, 15, 63, 64, 100] {
                        let text = [&vec![b'.'; before][..], &bytes, &vec![b'.'; after]].concat();
                        assert_eq!(scanner.find(&text, 0), Some(before), "{pattern} after {before}, before {after}");
                        assert_eq!(scanner.find(&text[..before + bytes.len() - 1], 0), None, "{pattern} cut off");
                    }
                }
            }
        }
        assert!(tried >= 12, "{tried}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_is_found_is_what_is_there(
            pattern in 0..PATTERNS.len(),
            text in proptest::collection::vec("[a-dxzknelforbuqMtQRS_Z0-9\\.éüK\n]{0,12}|needle|NeeDLE|foo_bar|Mutex|quux|bars|Qd|Sl", 0..40),
        ) {
            let text = text.concat().into_bytes();
            if let Some(needles) = needles(PATTERNS[pattern])
                && let Some(scanner) = Scanner::new(&needles)
            {
                let starts = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
                for from in std::iter::once(0).chain(starts) {
                    same(&needles, &scanner, &text, from);
                }
            }
        }
    }
}
