//! The three ways in which a zip tells the time, to seconds since 1970 and back.

/// Seconds between 1601, where NTFS starts to count, and 1970.
const NTFS_EPOCH: i64 = 11_644_473_600;
const DAY: i64 = 86_400;

/// Reads a DOS date and time. They have no zone; taking them as UTC is the one reading that is the same on every machine. `None`
/// for what is no date, such as the zero that some writers leave there.
pub fn from_dos(date: u16, time: u16) -> Option<i64> {
    let (year, month, day) = (1980 + i64::from(date >> 9), i64::from(date >> 5 & 15), i64::from(date & 31));
    let (hour, minute, second) = (i64::from(time >> 11), i64::from(time >> 5 & 63), i64::from(time & 31) * 2);
    let days = days_from_civil(year, month, day);
    let is_date = (1..=12).contains(&month) && civil_from_days(days) == (year, month, day);
    (is_date && hour < 24 && minute < 60 && second < 60).then_some(days * DAY + hour * 3600 + minute * 60 + second)
}

/// The DOS date and time nearest to `seconds`, rounded down; what DOS cannot say becomes its first or last moment.
pub fn to_dos(seconds: i64) -> (u16, u16) {
    let first = days_from_civil(1980, 1, 1) * DAY;
    let last = days_from_civil(2108, 1, 1) * DAY - 2;
    let seconds = seconds.clamp(first, last);
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY));
    let in_day = seconds.rem_euclid(DAY);
    let date = (year - 1980) << 9 | month << 5 | day;
    let time = (in_day / 3600) << 11 | (in_day / 60 % 60) << 5 | (in_day % 60 / 2);
    (date as u16, time as u16)
}

/// Reads an NTFS time: tenths of microseconds since 1601.
pub fn from_ntfs(ticks: u64) -> i64 {
    (ticks / 10_000_000) as i64 - NTFS_EPOCH
}

/// The NTFS time of `seconds`; what is out of its range becomes its first or last second.
pub fn to_ntfs(seconds: i64) -> u64 {
    let last = (u64::MAX / 10_000_000) as i64;
    seconds.saturating_add(NTFS_EPOCH).clamp(0, last) as u64 * 10_000_000
}

/// Days since 1970 of a date in the Gregorian calendar, by counting from a March so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dos_times_are_read_as_utc() {
        assert_eq!(from_dos(0x0021, 0), Some(315_532_800)); // 1980-01-01
        assert_eq!(from_dos(0x5a4f, 0x645d), Some(1_739_622_898)); // 2025-02-15 12:34:58
        assert_eq!(from_dos(0, 0), None);
        assert_eq!(from_dos(2 << 5 | 30, 0), None); // 30 February
        assert_eq!(from_dos(0x0021, 24 << 11), None);
    }

    #[test]
    fn dos_times_come_back_to_two_seconds_and_are_clamped() {
        for seconds in (315_532_800..4_354_819_198).step_by(7_777_777) {
            let (date, time) = to_dos(seconds);
            assert_eq!(from_dos(date, time), Some(seconds & !1));
        }
        assert_eq!(to_dos(i64::MIN), (0x0021, 0));
        let (date, time) = to_dos(i64::MAX);
        assert_eq!(from_dos(date, time), Some(4_354_819_198));
    }

    #[test]
    fn ntfs_times_come_back() {
        for seconds in [0, -1, 1_700_000_000, -NTFS_EPOCH, 1 << 40] {
            assert_eq!(from_ntfs(to_ntfs(seconds)), seconds);
        }
        assert_eq!(to_ntfs(i64::MIN), 0);
        assert!(to_ntfs(i64::MAX) > 0);
    }
}
