//! Parts of timestamps and durations.

use crate::{
    eval::Context,
    time::{Timestamp, zone_offset},
    value::Val,
};

/// `getHours` and its kind.
pub(super) fn part<'a>(cx: &Context<'a>, name: &str, args: &[Val<'a>]) -> Val<'a> {
    match args {
        [Val::Timestamp(t)] => of_timestamp(name, t, 0),
        [Val::Timestamp(t), Val::String(zone)] => match zone_offset(zone, t) {
            Ok(offset) => of_timestamp(name, t, offset),
            Err(message) => cx.error(message),
        },
        [Val::Duration(n)] => Val::Int(match name {
            "getHours" => n / 3_600_000_000_000,
            "getMinutes" => n / 60_000_000_000,
            "getSeconds" => n / 1_000_000_000,
            "getMilliseconds" => n / 1_000_000,
            _ => return cx.no_overload(name, args),
        }),
        _ => cx.no_overload(name, args),
    }
}

fn of_timestamp<'a>(name: &str, t: &Timestamp, offset: i32) -> Val<'a> {
    let civil = t.civil(offset);
    Val::Int(match name {
        "getFullYear" => civil.year,
        "getMonth" => civil.month - 1,
        "getDayOfYear" => civil.year_day,
        "getDayOfMonth" => civil.day - 1,
        "getDate" => civil.day,
        "getDayOfWeek" => civil.weekday,
        "getHours" => civil.hour,
        "getMinutes" => civil.minute,
        "getSeconds" => civil.second,
        _ => i64::from(t.nanos / 1_000_000),
    })
}
