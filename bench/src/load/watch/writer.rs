//! The writer beside the watchers: updates by a pace, each object's next after its last was answered.

use super::{
    super::{
        batch,
        error::LoadError,
        net::{Request, driver::Outbox},
        objects::{SEQUENCE_MARK, set_sequence},
    },
    Update, Watches,
};
use std::time::Instant;

impl Watches {
    /// Sends the updates that are due.
    pub(super) fn write(&mut self, now: Instant, outbox: &mut Outbox<'_>) -> Result<(), LoadError> {
        while !self.idle.is_empty()
            && let Some(due) = self.pace.take(now)
        {
            let Some(index) = self.idle.pop_front() else { break };
            let object = &mut self.objects[index];
            object.update = self.updates.len();
            if !set_sequence(&mut object.body, SEQUENCE_MARK, self.first_sequence + self.updates.len() as u64)
            {
                return Err(LoadError::new(format!("{}: the value that changes is not in it", object.path)));
            }
            let request = Request {
                method: "PUT",
                path: &object.path,
                accept: batch::JSON,
                content_type: batch::JSON,
                body: &object.body,
            };
            object.answer.clear();
            // Before it is sent, or the event might come first.
            self.updates.push(Update { due, sent: Instant::now(), acknowledged: None });
            if !outbox.send_on(self.writer, (self.watchers.len() + index) as u32, &request) {
                return Err(LoadError::new("the writer's connection takes no more: fewer --objects"));
            }
            self.open_updates += 1;
        }
        Ok(())
    }

    /// An update was answered.
    pub(super) fn update_answered(&mut self, index: usize, whole: bool) {
        let object = &mut self.objects[index];
        self.open_updates -= 1;
        self.outcome.status(object.status);
        if !whole || object.status != 200 {
            self.wrong.refused_updates += 1;
            let what = format!("update: status {}", object.status);
            // The object is not used again: what is known of it is not what the server has.
            return self.outcome.note(&what, &object.answer);
        }
        std::mem::swap(&mut object.body, &mut object.answer);
        let update = &mut self.updates[object.update];
        update.acknowledged = Some(self.now);
        self.update_latencies.record(self.now.saturating_duration_since(update.due));
        self.acknowledged += 1;
        self.last_acknowledged = self.now;
        self.idle.push_back(index);
    }
}
