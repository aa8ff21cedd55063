//! Damaged copies of archives, the same on every machine.

/// A generator of numbers: xorshift, so that a seed always gives the same mutants.
pub struct Mutator(u64);

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        // Zero would stay zero.
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `below`.
    pub fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }

    /// A copy of one of `seeds` with one to four wounds.
    pub fn mutant(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.next(seeds.len())].clone();
        for _ in 0..=self.next(4) {
            if bytes.is_empty() {
                break;
            }
            self.wound(&mut bytes);
        }
        bytes
    }

    fn wound(&mut self, bytes: &mut Vec<u8>) {
        let (at, len) = (self.next(bytes.len()), 1 + self.next(8));
        match self.next(8) {
            0 => bytes[at] = self.next(256) as u8,
            1 => bytes[at] ^= 1 << self.next(8),
            2 => bytes[at..].iter_mut().take(len).for_each(|byte| *byte = 0xff),
            3 => bytes[at..].iter_mut().take(len).for_each(|byte| *byte = 0),
            4 => drop(bytes.drain(at..(at + len).min(bytes.len()))),
            5 => {
                let noise: Vec<u8> = (0..len).map(|_| self.next(256) as u8).collect();
                drop(bytes.splice(at..at, noise));
            }
            6 => {
                let from = self.next(bytes.len());
                let piece = bytes[from..(from + 60).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => {
                // A number of the format, where a number of the format may be.
                const NUMBERS: [u32; 8] = [0x0403_4b50, 0x0201_4b50, 0x0605_4b50, 0x0606_4b50, 0x0706_4b50, u32::MAX, 1 << 31, 1];
                let number = NUMBERS[self.next(NUMBERS.len())].to_le_bytes();
                bytes[at..].iter_mut().zip(number).for_each(|(byte, new)| *byte = new);
            }
        }
    }
}
