//! A moment as filesystems keep it, and its RFC 3339 form. No clock: reading one is a capability of its own.

use std::fmt;

const SECONDS_PER_DAY: u64 = 86_400;

/// Seconds and nanoseconds since 1970, UTC. Shown as RFC 3339 with whole seconds: `2024-02-29T12:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: u64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_date(self.seconds / SECONDS_PER_DAY);
        let second = self.seconds % SECONDS_PER_DAY;
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Counts in eras of 400 years that begin on 1 March, so that the leap day is the last day of its year and needs no case of
/// its own.
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_FROM_MARCH_0000_TO_1970: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let days = days + DAYS_FROM_MARCH_0000_TO_1970;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_208_000, "2024-02-29T12:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, expected) in table {
            assert_eq!(Timestamp { seconds, nanoseconds: 7 }.to_string(), expected);
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut previous = civil_date(0);
        for day in 1..200_000 {
            let date = civil_date(day);
            let next_day = date.0 == previous.0 && date.1 == previous.1 && date.2 == previous.2 + 1;
            let next_month = date.2 == 1 && previous.2 >= 28 && (date.1 == previous.1 + 1 || (date.1, previous.1) == (1, 12));
            assert!(next_day || next_month, "{previous:?} → {date:?}");
            previous = date;
        }
    }
}
