//! Points of wall time, for people.
//!
//! Invariant: a time of the years 0 to 9999 is written as RFC 3339 with milliseconds, in 24 characters, and read back
//! the same. Times stand in every record, so neither goes through a calendar of leap seconds and zones.
//! Not known here: what time it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// Milliseconds since 1970 UTC, written RFC 3339 with milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

const DAY_MS: i64 = 86_400_000;
/// The first millisecond of the year 0, and the last of the year 9999.
const MIN_MS: i64 = -62_167_219_200_000;
const MAX_MS: i64 = 253_402_300_799_999;

impl Timestamp {
    /// As it is written; what lies outside of four digits of a year is written as their end.
    fn text(self) -> [u8; 24] {
        let ms = self.0.clamp(MIN_MS, MAX_MS);
        let (year, month, day) = date(ms.div_euclid(DAY_MS));
        let in_day = ms.rem_euclid(DAY_MS);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, digits: usize, mut number: i64| {
            for place in (at..at + digits).rev() {
                text[place] = b"0123456789"[usize::try_from(number % 10).expect("a digit")];
                number /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, in_day / 3_600_000);
        put(14, 2, in_day / 60_000 % 60);
        put(17, 2, in_day / 1_000 % 60);
        put(20, 3, in_day % 1_000);
        text
    }

    /// A text as `text` writes it.
    fn of_text(text: &[u8; 24]) -> Option<Self> {
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
        if separators.iter().any(|(at, separator)| text[*at] != *separator) {
            return None;
        }
        let number = |at: usize, digits: usize| {
            text[at..at + digits]
                .iter()
                .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
        };
        let days = days(number(0, 4)?, number(5, 2)?, number(8, 2)?);
        let (hour, minute) = (number(11, 2)?, number(14, 2)?);
        let time = Self(days * DAY_MS + hour * 3_600_000 + minute * 60_000 + number(17, 2)? * 1_000 + number(20, 3)?);
        // Which also refuses a 31st of February and an hour 24.
        (time.text() == *text).then_some(time)
    }
}

/// Year, month and day of a day since 1970: years begin in March, so that the day of a leap year is their last, and
/// 400 of them are always 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + 400 * era + i64::from(month <= 2), month, day)
}

/// The day since 1970 of a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

fn shown(text: &[u8; 24]) -> &str {
    std::str::from_utf8(text).expect("digits and signs are ASCII")
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(shown(&self.text()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    /// Any form of RFC 3339.
    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        match text.as_bytes().try_into().ok().and_then(Self::of_text) {
            Some(time) => Ok(time),
            None => text.parse::<jiff::Timestamp>().map(|time| Self(time.as_millisecond())),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(shown(&self.text()))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SmolStr::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_jiff(ms: i64) -> String {
        format!("{:.3}", jiff::Timestamp::from_millisecond(ms).expect("a time that jiff knows"))
    }

    proptest! {
        #[test]
        fn times_are_written_and_read_as_the_calendar_has_them(ms in MIN_MS..=MAX_MS - DAY_MS) {
            prop_assert_eq!(Timestamp(ms).to_string(), of_jiff(ms));
            prop_assert_eq!(Timestamp(ms).to_string().parse::<Timestamp>().expect("it is read"), Timestamp(ms));
        }

        #[test]
        fn any_text_is_a_time_for_both_or_for_none(text in "[0-9]{4}-[0-3][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{3}Z") {
            let ours = text.parse::<Timestamp>().ok().map(|time| time.0);
            prop_assert_eq!(ours, text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond()));
        }
    }

    #[test]
    fn a_time_is_written_with_milliseconds_and_reads_back() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_700_000_000_120).to_string(), "2023-11-14T22:13:20.120Z");
        assert_eq!("2023-11-14T22:13:20.120Z".parse::<Timestamp>().expect("valid"), Timestamp(1_700_000_000_120));
        assert_eq!("2023-11-14T23:13:20.12+01:00".parse::<Timestamp>().expect("valid"), Timestamp(1_700_000_000_120));
    }

    #[test]
    fn what_no_year_of_four_digits_has_is_written_as_their_end() {
        assert_eq!(Timestamp(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }
}
