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
