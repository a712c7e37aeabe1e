//! Staying awake for news that will come sooner than a sleeping CPU gets up.
//!
//! A core that sleeps while a lone write is being flushed lets its CPU halt. The flush then ends later (its interrupt must
//! wake the CPU first, and a virtual one costs the host a switch), and the core goes on with cold caches: measured, a
//! flush takes 25 % longer on a CPU that may halt, and a write alone 20 %. So a core whose application says that news is
//! close looks for it over and over, and gives way to every other thread of its CPU in between.

use super::Core;
use crate::{
    app::{App, Expected, News},
    limits,
};
use std::{
    io, thread,
    time::{Duration, Instant},
};

/// Whether it pays to stay awake.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// Occasions to let pass for each kind of news, since what was waited for did not come in time.
    pass: [u32; 2],
}

impl Vigil {
    /// Whether to stay awake on this occasion.
    fn begins(&mut self, news: News) -> bool {
        let pass = &mut self.pass[news as usize];
        let begins = *pass == 0;
        *pass = pass.saturating_sub(1);
        begins
    }

    /// Notes that nothing came for the whole of the time.
    fn was_in_vain(&mut self, news: News) {
        self.pass[news as usize] = limits::VIGILS_PASSED;
    }
}

impl<A: App> Core<A> {
    /// Submits, and looks for what the application expects, for [`limits::VIGIL_MAX`] at most. False if it expects nothing
    /// or nothing came: the core can sleep.
    pub(super) fn keep_vigil(&mut self) -> io::Result<bool> {
        if self.stopping.is_some() {
            return Ok(false);
        }
        let Some(Expected { news, until }) = self.app.expects(self.state.now) else { return Ok(false) };
        if !self.vigil.begins(news) {
            return Ok(false);
        }
        let enter = Some(Duration::ZERO);
        self.state.ring.enter(enter)?;
        let until = until.min(Instant::now() + limits::VIGIL_MAX);
        loop {
            if self.state.handle.has_mail() {
                return Ok(true);
            }
            if self.state.ring.has_news() {
                // What the kernel has put off is run by entering.
                self.state.ring.enter(enter)?;
                return Ok(true);
            }
            if Instant::now() >= until {
                self.vigil.was_in_vain(news);
                return Ok(false);
            }
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_too_late_is_not_waited_for_at_once() {
        let mut vigil = Vigil::default();
        assert!(vigil.begins(News::Wake) && vigil.begins(News::Wake));
        vigil.was_in_vain(News::Wake);
        assert!(vigil.begins(News::Bytes), "each kind for itself");
        let passed = (0..).take_while(|_| !vigil.begins(News::Wake)).count();
        assert_eq!(passed, limits::VIGILS_PASSED as usize);
        assert!(vigil.begins(News::Wake));
    }
}
