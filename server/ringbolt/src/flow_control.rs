//! Priority and fairness on the main server: its configuration follows the objects.

use std::sync::Arc;

use ringbolt_apiserver::{
    flowcontrol::{
        FlowControl,
        consumer::{ConfigConsumer, FlowControlObjects},
    },
    server::{GenericApiServer, hooks::DuplicateHook},
};

/// Adds what reads the objects and says in their status what came of it, and the hooks by their names in
/// kube-apiserver.
pub fn install(
    server: &mut GenericApiServer,
    flow_control: Arc<FlowControl>,
    objects: FlowControlObjects,
) -> Result<(), DuplicateHook> {
    let (consumer, status) = ConfigConsumer::new(move |config| flow_control.publish(config), objects);
    server.follow(Box::new(consumer));
    server.add_post_start_hook(
        "priority-and-fairness-config-consumer",
        Box::new(move |context| status.start(context)),
    )?;
    // The filter works from the first request on: nothing has to be started for it.
    server.add_post_start_hook("priority-and-fairness-filter", Box::new(|_| Ok(())))
}
