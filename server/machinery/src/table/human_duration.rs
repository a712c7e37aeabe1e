//! Durations for people: two or three significant figures.

use crate::time::Moment;

/// Nanoseconds from one moment to another. Go's `time.Duration` ends at about 292 years, and so does this.
pub fn until(from: Moment, to: Moment) -> i64 {
    let nanos = (i128::from(to.seconds) - i128::from(from.seconds)) * 1_000_000_000 + i128::from(to.nanos)
        - i128::from(from.nanos);
    nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// A duration in nanoseconds as `duration.HumanDuration` of apimachinery writes it.
pub fn human_duration(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    // A clock that is a little behind makes it "now"; one that is further behind is a mistake.
    match seconds {
        ..-1 => return "<invalid>".to_owned(),
        -1 => return "0s".to_owned(),
        0..120 => return format!("{seconds}s"),
        _ => {}
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{small_unit}"),
    };
    if minutes < 10 {
        two(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 24 * 8 {
        two(days, 'd', hours % 24, 'h')
    } else if years < 2 {
        format!("{days}d")
    } else if years < 8 {
        two(years, 'y', days % 365, 'd')
    } else {
        format!("{years}y")
    }
}
