//! The `Date` header, formatted once a second.

/// A formatted date and the second it was made for.
#[derive(Debug)]
pub struct HttpDate {
    second: i64,
    text: [u8; 29],
}

impl Default for HttpDate {
    fn default() -> Self {
        HttpDate { second: 0, text: format(0) }
    }
}

impl HttpDate {
    /// The date of `second` (since the epoch) as RFC 9110 section 5.6.7 wants it.
    pub fn at(&mut self, second: i64) -> [u8; 29] {
        if second != self.second {
            *self = HttpDate { second, text: format(second) };
        }
        self.text
    }
}

const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

fn format(second: i64) -> [u8; 29] {
    let days = second.div_euclid(86_400);
    let rest = second.rem_euclid(86_400);
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[..3].copy_from_slice(DAYS[days.rem_euclid(7) as usize]);
    two(&mut text[5..7], day);
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize]);
    two(&mut text[12..14], year / 100);
    two(&mut text[14..16], year % 100);
    two(&mut text[17..19], rest / 3600);
    two(&mut text[20..22], rest / 60 % 60);
    two(&mut text[23..25], rest % 60);
    text
}

fn two(into: &mut [u8], number: i64) {
    into[0] = b'0' + (number / 10 % 10) as u8;
    into[1] = b'0' + (number % 10) as u8;
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar. Counts in eras of
/// 400 years that start on a 1 March, so that the leap day is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let from_march_0000 = days + 719_468;
    let era = from_march_0000.div_euclid(ERA);
    let day_of_era = from_march_0000.rem_euclid(ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(second: i64, expect: &str) {
        assert_eq!(std::str::from_utf8(&HttpDate::default().at(second)), Ok(expect));
    }

    #[test]
    fn dates() {
        check(0, "Thu, 01 Jan 1970 00:00:00 GMT");
        check(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT");
        check(951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT");
        check(1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT");
        check(4_102_444_800, "Fri, 01 Jan 2100 00:00:00 GMT");
    }

    #[test]
    fn matches_jiff_over_two_centuries() {
        for day in (0..73_000).step_by(13) {
            let second = day * 86_400 + 43_201;
            let time = jiff::Timestamp::from_second(second).expect("in range");
            let expect = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time);
            check(second, &expect.expect("in range"));
        }
    }
}
