//! The ledger: which part of the server each sample is spent for.
//!
//! A sample belongs to the innermost frame that a rule knows. Functions of no part of their own (copies, iterators,
//! hash tables) so count for the part that called them.

use std::collections::HashMap;

use crate::stacks::Stacks;

/// A line of the ledger, and what the names of its functions begin with.
struct Rule {
    line: &'static str,
    begins: &'static [&'static str],
}

const fn rule(line: &'static str, begins: &'static [&'static str]) -> Rule {
    Rule { line, begins }
}

/// Where nothing else fits.
const REST: &str = "not attributed";
const KERNEL_REST: &str = "kernel: other";

/// In the order in which a request meets them; the order of the table. Within one frame the first rule counts.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("kernel: receive", &["io_recv", "tcp_recvmsg", "sock_recvmsg", "inet_recvmsg", "io_poll_task_func", "io_poll_check_events", "io_req_task_submit"]),
    rule("kernel: sleep and wake", &["schedule_[k]", "__schedule_[k]", "schedule_hrtimeout", "finish_task_switch", "io_cqring_wait", "try_to_wake_up", "wake_up_", "__wake_up", "futex_", "__x64_sys_futex", "do_futex", "eventfd_", "ksys_write", "__x64_sys_write_", "io_cqring_timer_wakeup"]),
    rule("kernel: page faults", &["asm_exc_page_fault", "exc_page_fault", "handle_mm_fault", "do_madvise", "__x64_sys_madvise", "__x64_sys_munmap", "__x64_sys_mmap", "__x64_sys_mprotect"]),
    rule("kernel: random numbers", &["get_random_bytes_user", "__x64_sys_getrandom", "urandom_read_iter", "crng_"]),
    rule("kernel: delivery to the client (loopback)", &["net_rx_action", "process_backlog", "__napi_poll", "__netif_receive_skb"]),
    rule("kernel: TCP send", &["tcp_sendmsg", "io_sendmsg", "io_send_[k]", "io_send_zc", "____sys_sendmsg", "sock_sendmsg", "inet_sendmsg", "__tcp_push_pending_frames", "tcp_write_xmit", "tcp_tasklet_func", "tcp_tsq_"]),
    rule("kernel: file write and flush", &["io_write", "io_fsync", "vfs_", "ext4_", "xfs_", "btrfs_", "blk_", "blkdev_", "submit_bio", "__submit_bio", "io_fallocate", "ksys_pwrite64", "do_fsync", "__x64_sys_fdatasync", "__x64_sys_fallocate", "virtblk_", "virtio_", "nvme_", "iomap_", "filemap_", "do_writepages"]),
    rule("kernel: timers and interrupts", &["asm_sysvec_", "sysvec_", "asm_common_interrupt", "common_interrupt", "hrtimer_", "irqentry_", "__irq_exit_rcu", "handle_softirqs", "run_ksoftirqd"]),
    rule("kernel: ring and system call entry", &["__do_sys_io_uring_enter", "__x64_sys_io_uring_enter", "io_submit_sqes", "__io_run_local_work", "io_run_local_work", "do_syscall_64", "entry_SYSCALL", "syscall_return_via_sysret", "syscall_enter_from_user_mode", "syscall_exit_to_user_mode", "entry_SYSRETQ", "io_"]),

    rule("clock", &["__vdso_clock_gettime", "[vdso]", "clock_gettime", "std::time::Instant::now", "std::time::SystemTime::now", "std::sys::pal::unix::time", "std::sys::time"]),
    rule("allocator", &["mi_", "_mi_", "__rust_alloc", "__rust_dealloc", "__rust_realloc", "__rustc::__rust", "malloc", "_int_malloc", "_int_free", "cfree", "calloc", "free_[", "tcache_"]),

    rule("TLS: seal", &["aes_gcm_encrypt", "aws_lc_0_47_0_aes_gcm_encrypt", "aead_aes_gcm_seal", "aead_tls_gcm_seal", "rustls::common_state::CommonState::write_plaintext", "rustls::crypto::aws_lc_rs::tls13::GcmMessageEncrypter", "rustls::crypto::aws_lc_rs::tls13::AeadMessageEncrypter", "rustls::record_layer::RecordLayer::encrypt", "rustls::msgs::message::outbound", "rustls::msgs::fragmenter", "ringbolt_engine::tls::session::Session::encrypt", "ringbolt_engine::tls::session::seal", "ringbolt_engine::tls::seal", "ringbolt_engine::out::OutQueue::take_record", "ringbolt_engine::tls::record"]),
    rule("TLS: open", &["aes_gcm_decrypt", "aead_aes_gcm_open", "rustls::", "ringbolt_engine::tls::", "aws_lc_rs::"]),

    rule("HPACK: decode", &["ringbolt_protocol::hpack::huffman::decode", "ringbolt_protocol::hpack::decode"]),
    rule("HPACK: encode", &["ringbolt_protocol::hpack::encode", "ringbolt_protocol::hpack::huffman", "ringbolt_protocol::hpack::table::Table::find", "ringbolt_protocol::hpack::table::find_static"]),
    rule("request line and RequestInfo", &["ringbolt_protocol::h1::target", "ringbolt_protocol::request_info", "ringbolt_protocol::query", "ringbolt_protocol::selector", "ringbolt_apiserver::filters::request_info"]),
    rule("HTTP/1.1: response", &["ringbolt_protocol::h1::response", "ringbolt_protocol::h1::outbox", "ringbolt_protocol::h1::chunked"]),
    rule("HTTP/1.1: request", &["ringbolt_protocol::h1::parse", "ringbolt_protocol::h1::connection"]),
    rule("HTTP/2: response", &["ringbolt_protocol::h2::respond", "ringbolt_protocol::h2::core::Core::drain", "ringbolt_protocol::h2::core::Core::data", "ringbolt_protocol::h2::core::Core as ringbolt_protocol::exchange::Responder"]),
    rule("HTTP/2: request", &["ringbolt_protocol::h2"]),
    rule("request head: fields looked up", &["ringbolt_protocol::head", "ringbolt_protocol::exchange"]),
    rule("content negotiation", &["ringbolt_protocol::media_type", "ringbolt_apiserver::endpoints::answer::Answer::negotiate", "ringbolt_apiserver::endpoints::negotiation"]),

    rule("audit id", &["ringbolt_apiserver::core::CoreState::uuid", "ringbolt_apiserver::filters::audit_init", "getrandom", "__GI___getrandom"]),
    rule("authentication", &["ringbolt_apiserver::authentication", "ringbolt_apiserver::filters::authentication"]),
    rule("authorization", &["ringbolt_apiserver::authorization", "ringbolt_apiserver::filters::authorization"]),
    rule("metrics", &["ringbolt_apiserver::metrics", "ringbolt_apiserver::server::monitor"]),
    rule("filter chain", &["ringbolt_apiserver::filters"]),
    rule("route", &["ringbolt_apiserver::routes", "ringbolt_apiserver::server::director"]),

    rule("body: decode", &["ringbolt_apiserver::endpoints::body", "ringbolt_machinery::json::typed", "ringbolt_machinery::json::reader", "ringbolt_machinery::json::interpret", "ringbolt_machinery::json::decode", "ringbolt_machinery::json::slots", "ringbolt_machinery::protobuf::decode", "ringbolt_machinery::yaml"]),
    rule("managed fields", &["ringbolt_apiserver::endpoints::managed_fields", "ringbolt_machinery::apply"]),
    rule("patch", &["ringbolt_machinery::patch", "ringbolt_apiserver::endpoints::patch"]),
    rule("defaults, strategy, validation", &["ringbolt_controlplane", "ringbolt_machinery::validation", "ringbolt_machinery::field", "ringbolt_apiserver::endpoints::metadata", "ringbolt_apiserver::registry"]),
    rule("stored form: encode", &["ringbolt_machinery::json", "ringbolt_machinery::protobuf::encode"]),
    rule("protobuf: encode", &["ringbolt_machinery::protobuf"]),
    rule("machinery: other", &["ringbolt_machinery"]),

    rule("watch: hub", &["ringbolt_storage::hub"]),
    rule("watch: event log", &["ringbolt_storage::event_log"]),
    rule("watch: judge and frame events", &["ringbolt_apiserver::endpoints::watch"]),
    rule("handler: LIST", &["ringbolt_apiserver::endpoints::list"]),
    rule("handler", &["ringbolt_apiserver::endpoints", "ringbolt_apiserver::response"]),

    rule("store: journal", &["ringbolt_storage::embedded::journal", "ringbolt_storage::embedded::segment", "ringbolt_storage::embedded::frame", "ringbolt_storage::embedded::record", "crc32c::", "ringbolt_engine::disk"]),
    rule("store: state", &["ringbolt_storage::embedded::state", "imbl::", "archery::"]),
    rule("store: snapshots of the keeper", &["ringbolt_storage::embedded::keeper", "ringbolt_storage::embedded::snapshot_file"]),
    rule("store: sequencer", &["ringbolt_storage::embedded"]),
    rule("store: publish and read", &["ringbolt_storage"]),

    rule("response headers", &["ringbolt_apiserver::serving::headers"]),
    rule("tasks and wakes", &["ringbolt_apiserver::serving::wakes", "ringbolt_apiserver::serving::tasks", "ringbolt_engine::wake"]),
    rule("exchange", &["ringbolt_apiserver::serving", "ringbolt_apiserver::core", "ringbolt_apiserver"]),
    rule("output queue", &["ringbolt_engine::out", "ringbolt_engine::chunk"]),
    rule("engine loop", &["ringbolt_engine", "std::sys::backtrace::__rust_begin_short_backtrace"]),
];

/// A row: thread, line, weight.
pub type Row = (String, &'static str, u64);

/// The ledger of these stacks, by thread. The weights add up to those of the stacks.
pub fn rows(stacks: &Stacks) -> Vec<Row> {
    let mut rows: HashMap<(String, &'static str), u64> = HashMap::new();
    for (stack, weight) in stacks.iter() {
        let thread = stack.first().map_or("?", |name| &**name);
        *rows
            .entry((thread_kind(thread), line(stack.iter().skip(1).rev().map(|name| &**name))))
            .or_default() += weight;
    }
    let mut rows: Vec<Row> =
        rows.into_iter().map(|((thread, line), weight)| (thread, line, weight)).collect();
    rows.sort_by(|a, b| (&a.0, order(a.1)).cmp(&(&b.0, order(b.1))));
    rows
}

/// Threads of one kind are one: `core-3` is `core`.
fn thread_kind(name: &str) -> String {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-').to_owned()
}

fn order(line: &str) -> usize {
    RULES.iter().position(|rule| rule.line == line).unwrap_or(RULES.len())
}

/// The line of a stack, innermost function first.
fn line<'a>(functions: impl Iterator<Item = &'a str>) -> &'static str {
    let mut kernel = false;
    for function in functions {
        let in_kernel = function.ends_with("_[k]");
        if kernel && !in_kernel {
            // What the kernel does is not charged to who called it.
            return KERNEL_REST;
        }
        kernel |= in_kernel;
        let name = bare(function);
        if let Some(rule) = RULES.iter().find(|rule| {
            rule.line.starts_with("kernel:") == in_kernel
                && rule.begins.iter().any(|begin| name.starts_with(begin))
        }) {
            return rule.line;
        }
    }
    if kernel { KERNEL_REST } else { REST }
}

/// The name without what stands around the type it belongs to.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("core::ptr::drop_in_place<").unwrap_or(name);
    name.trim_start_matches(['<', '&', '*']).trim_start_matches("mut ").trim_start_matches("dyn ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stack: &str, expect: &str) {
        assert_eq!(line(stack.split(';').rev()), expect, "{stack}");
    }

    #[test]
    fn the_innermost_known_function_counts() {
        check(
            "ringbolt_engine::core::Core<A>::run;ringbolt_protocol::h2::connection::step;memmove",
            "HTTP/2: request",
        );
        check(
            "ringbolt_protocol::h2::x;<ringbolt_apiserver::filters::Layer<F> as a::Handler>::serve",
            "filter chain",
        );
        check(
            "ringbolt_apiserver::filters::a;core::ptr::drop_in_place<ringbolt_storage::hub::Hub>",
            "watch: hub",
        );
        check("ringbolt_protocol::h2::request::check;ringbolt_protocol::h1::chars::all", "HTTP/2: request");
        check("std::main;memmove", REST);
    }

    #[test]
    fn the_kernel_is_not_charged_to_its_caller() {
        check("ringbolt_engine::ring::enter;do_syscall_64_[k];tcp_sendmsg_[k];copy_[k]", "kernel: TCP send");
        check(
            "ringbolt_engine::ring::enter;tcp_sendmsg_[k];net_rx_action_[k];tcp_rcv_[k]",
            "kernel: delivery to the client (loopback)",
        );
        check("ringbolt_engine::ring::enter;unheard_of_[k]", KERNEL_REST);
    }

    #[test]
    fn a_line_is_listed_once() {
        let mut lines: Vec<_> = RULES.iter().map(|rule| rule.line).collect();
        lines.sort_unstable();
        let all = lines.len();
        lines.dedup();
        assert_eq!(lines.len(), all);
    }

    #[test]
    fn threads_of_a_kind_are_one() {
        assert_eq!(thread_kind("core-12"), "core");
        assert_eq!(thread_kind("sequencer"), "sequencer");
    }
}
