//! Sixteen bytes at once. In the component they are one register; elsewhere, where only tests run, an array that does the same.

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod lanes {
    use core::arch::wasm32::*;

    /// Sixteen bytes side by side.
    #[derive(Clone, Copy)]
    pub struct Sixteen(v128);

    impl Sixteen {
        #[inline(always)]
        pub fn of(b: &[u8; 16]) -> Sixteen {
            // One load; spelled out because reading through a pointer would be unsafe code.
            Sixteen(u8x16(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]))
        }

        #[inline(always)]
        pub fn all(byte: u8) -> Sixteen {
            Sixteen(u8x16_splat(byte))
        }

        /// 255 where both are the same, 0 elsewhere.
        #[inline(always)]
        pub fn equal(self, other: Sixteen) -> Sixteen {
            Sixteen(u8x16_eq(self.0, other.0))
        }

        #[inline(always)]
        pub fn and(self, other: Sixteen) -> Sixteen {
            Sixteen(v128_and(self.0, other.0))
        }

        #[inline(always)]
        pub fn or(self, other: Sixteen) -> Sixteen {
            Sixteen(v128_or(self.0, other.0))
        }

        /// The upper four bits of each byte.
        #[inline(always)]
        pub fn upper(self) -> Sixteen {
            Sixteen(u8x16_shr(self.0, 4))
        }

        /// The lower four bits of each byte.
        #[inline(always)]
        pub fn lower(self) -> Sixteen {
            Sixteen(v128_and(self.0, u8x16_splat(15)))
        }

        /// For each byte, all below 16, what `self` has at that place.
        #[inline(always)]
        pub fn looked_up(self, places: Sixteen) -> Sixteen {
            Sixteen(u8x16_swizzle(self.0, places.0))
        }

        /// One byte later: the first is the last of `before`.
        #[inline(always)]
        pub fn one_later(self, before: Sixteen) -> Sixteen {
            Sixteen(u8x16_shuffle::<15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>(before.0, self.0))
        }

        /// Two bytes later: the first are the last two of `before`.
        #[inline(always)]
        pub fn two_later(self, before: Sixteen) -> Sixteen {
            Sixteen(u8x16_shuffle::<14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29>(before.0, self.0))
        }

        /// The smaller of both.
        #[inline(always)]
        pub fn smaller(self, other: Sixteen) -> Sixteen {
            Sixteen(u8x16_min(self.0, other.0))
        }

        #[inline(always)]
        pub fn has_any(self) -> bool {
            v128_any_true(self.0)
        }

        /// A bit for each byte that is not 0, the first in the lowest.
        #[inline(always)]
        pub fn bits(self) -> u16 {
            u8x16_bitmask(u8x16_ne(self.0, u8x16_splat(0)))
        }
    }
}

#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
mod lanes {
    use std::array::from_fn;

    /// Sixteen bytes side by side.
    #[derive(Clone, Copy)]
    pub struct Sixteen([u8; 16]);

    impl Sixteen {
        #[inline(always)]
        pub fn of(bytes: &[u8; 16]) -> Sixteen {
            Sixteen(*bytes)
        }

        #[inline(always)]
        pub fn all(byte: u8) -> Sixteen {
            Sixteen([byte; 16])
        }

        /// 255 where both are the same, 0 elsewhere.
        #[inline(always)]
        pub fn equal(self, other: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| if self.0[lane] == other.0[lane] { 255 } else { 0 }))
        }

        #[inline(always)]
        pub fn and(self, other: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| self.0[lane] & other.0[lane]))
        }

        #[inline(always)]
        pub fn or(self, other: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| self.0[lane] | other.0[lane]))
        }

        /// The upper four bits of each byte.
        #[inline(always)]
        pub fn upper(self) -> Sixteen {
            Sixteen(self.0.map(|byte| byte >> 4))
        }

        /// The lower four bits of each byte.
        #[inline(always)]
        pub fn lower(self) -> Sixteen {
            Sixteen(self.0.map(|byte| byte & 15))
        }

        /// For each byte, all below 16, what `self` has at that place.
        #[inline(always)]
        pub fn looked_up(self, places: Sixteen) -> Sixteen {
            Sixteen(places.0.map(|place| self.0.get(usize::from(place)).copied().unwrap_or(0)))
        }

        /// One byte later: the first is the last of `before`.
        #[inline(always)]
        pub fn one_later(self, before: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| if lane < 1 { before.0[15] } else { self.0[lane - 1] }))
        }

        /// Two bytes later: the first are the last two of `before`.
        #[inline(always)]
        pub fn two_later(self, before: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| if lane < 2 { before.0[14 + lane] } else { self.0[lane - 2] }))
        }

        /// The smaller of both.
        #[inline(always)]
        pub fn smaller(self, other: Sixteen) -> Sixteen {
            Sixteen(from_fn(|lane| self.0[lane].min(other.0[lane])))
        }

        #[inline(always)]
        pub fn has_any(self) -> bool {
            self.0 != [0; 16]
        }

        /// A bit for each byte that is not 0, the first in the lowest.
        #[inline(always)]
        pub fn bits(self) -> u16 {
            (0..16).filter(|&lane| self.0[lane] != 0).fold(0, |bits, lane| bits | 1 << lane)
        }
    }
}

pub use lanes::Sixteen;

/// Whether there is a NUL byte.
pub fn has_nul(text: &[u8]) -> bool {
    let (blocks, rest) = text.as_chunks::<64>();
    let mut smallest = Sixteen::all(255);
    for block in blocks {
        let [a, b, c, d] = quarters(block);
        smallest = smallest.smaller(a.smaller(b).smaller(c.smaller(d)));
    }
    smallest.equal(Sixteen::all(0)).has_any() || rest.contains(&0)
}

/// The bytes of a block, sixteen at a time.
#[inline(always)]
pub fn quarters(block: &[u8; 64]) -> [Sixteen; 4] {
    let of = |quarter: usize| Sixteen::of(&block.as_chunks().0[quarter]);
    [of(0), of(1), of(2), of(3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_byte_is_seen_wherever_it_is() {
        for len in 0..300 {
            let mut text = vec![1; len];
            assert!(!has_nul(&text));
            for at in 0..len {
                text[at] = 0;
                assert!(has_nul(&text), "{at} of {len}");
                text[at] = 255;
            }
        }
    }
}
