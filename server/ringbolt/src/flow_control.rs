//! Priority and fairness on the main server: its configuration follows the objects, and can be looked at.

use ringbolt_apiserver::{
    flowcontrol::{
        consumer::{ConfigConsumer, FlowControlObjects},
        debug,
    },
    server::{GenericApiServer, hooks::DuplicateHook},
};

/// Adds what reads the objects and says in their status what came of it, dumps, metrics, and the hooks by their names
/// in kube-apiserver. Where priority and fairness is off, only the hook of what stands in its place.
pub fn install(server: &mut GenericApiServer, objects: FlowControlObjects) -> Result<(), DuplicateHook> {
    match server.flow_control().cloned() {
        // Filters work from the first request on: nothing has to be started for either.
        None => server.add_post_start_hook("max-in-flight-filter", Box::new(|_| Ok(())))?,
        Some(flow_control) => {
            debug::install(&flow_control, server.routes());
            server.metrics().register_flow_control(flow_control.clone());
            let (consumer, status) = ConfigConsumer::new(move |config| flow_control.publish(config), objects);
            server.follow(Box::new(consumer));
            server.add_post_start_hook(
                "priority-and-fairness-config-consumer",
                Box::new(move |context| status.start(context)),
            )?;
            server.add_post_start_hook("priority-and-fairness-filter", Box::new(|_| Ok(())))?;
        }
    }
    // How many objects there are, which is what lists are weighed by, the store itself knows at any time.
    server.add_post_start_hook("storage-object-count-tracker-hook", Box::new(|_| Ok(())))
}
