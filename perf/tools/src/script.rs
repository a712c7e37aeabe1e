//! What `perf script` prints, as samples.

/// Fields to ask `perf script` for.
pub const FIELDS: &str = "comm,tid,event,ip,sym,dso";
/// The same for tracepoints, with what they record.
pub const FIELDS_TRACED: &str = "comm,tid,event,trace,ip,sym,dso";

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The thread's name.
    pub thread: String,
    /// The event: `cpu-clock`, `group:name`.
    pub event: String,
    /// What the tracepoint recorded: `opcode=SEND_ZC`.
    pub recorded: String,
    /// The stack, innermost first.
    pub frames: Vec<Frame>,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its address, as an offset into the file that it is of.
    pub offset: u64,
    /// The function that `perf` found.
    pub function: String,
    /// The file: a path, or `[kernel.kallsyms]`.
    pub file: String,
}

impl Frame {
    /// Whether it is in the kernel or one of its modules.
    pub fn is_kernel(&self) -> bool {
        self.file.starts_with("[kernel") || self.file.starts_with("[guest") || self.file.ends_with(".ko")
    }
}

/// Reads the samples.
pub fn parse(text: &[u8]) -> Vec<Sample> {
    let text = String::from_utf8_lossy(text);
    let mut samples = Vec::new();
    let mut open: Option<Sample> = None;
    for line in text.lines() {
        if line.trim().is_empty() {
            samples.extend(open.take());
        } else if line.starts_with([' ', '\t']) && open.is_some() {
            if let (Some(sample), Some(frame)) = (&mut open, frame(line)) {
                sample.frames.push(frame);
            }
        } else {
            samples.extend(open.take());
            open = header(line);
        }
    }
    samples.extend(open);
    samples
}

/// `comm tid event: recorded`. The name of a thread may have spaces and numbers; the number before the event ends it.
fn header(line: &str) -> Option<Sample> {
    let mut at = 0;
    for word in line.split_inclusive(' ') {
        let (number, rest) = (word.trim(), line[at + word.len()..].trim());
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if at > 0 && is_number && rest.split(' ').next().is_some_and(|event| event.contains(':')) {
            let (event, recorded) = rest.split_once(": ").unwrap_or((rest, ""));
            return Some(Sample {
                thread: line[..at].trim().to_owned(),
                event: event.trim_end_matches(':').to_owned(),
                recorded: recorded.trim().to_owned(),
                frames: Vec::new(),
            });
        }
        at += word.len();
    }
    None
}

/// `ip function (file)`. Names have spaces and brackets of their own.
fn frame(line: &str) -> Option<Frame> {
    let (ip, rest) = line.trim().split_once(' ')?;
    let (function, file) = rest.rsplit_once(" (")?;
    Some(Frame {
        offset: u64::from_str_radix(ip, 16).ok()?,
        function: function.trim().to_owned(),
        file: file.trim_end_matches(')').trim_end_matches(" (deleted").to_owned(),
    })
}

/// The value of `name=` in what a tracepoint recorded: a number, `0x` for a hexadecimal one.
pub fn number(recorded: &str, name: &str) -> Option<u64> {
    let value = recorded.split([' ', ',']).find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read() {
        let text = b"core-0 12 cpu-clock:pppH: \n\
            \t     4a45c9 <a::B<C> as d>::e (inlined) (/x/ring bolt)\n\
            \tffffffff81 do_syscall_64 ([kernel.kallsyms])\n\
            \n\
            iou wrk 7 13 ringbolt:copy: (7f19) size=0xb8\n\
            \t 163f00 __memmove (/usr/lib/libc.so.6)\n";
        let samples = parse(text);
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[0].thread, "core-0");
        assert_eq!(samples[0].event, "cpu-clock:pppH");
        assert_eq!(samples[0].frames[0].function, "<a::B<C> as d>::e (inlined)");
        assert_eq!(samples[0].frames[0].file, "/x/ring bolt");
        assert_eq!(samples[0].frames[0].offset, 0x4a45c9);
        assert!(samples[0].frames[1].is_kernel() && !samples[0].frames[0].is_kernel());
        assert_eq!(samples[1].event, "ringbolt:copy");
        assert_eq!(number(&samples[1].recorded, "size"), Some(184));
    }

    #[test]
    fn a_thread_may_be_named_like_a_number() {
        // The first word is the name, whatever it looks like.
        let sample = header("7 13 cpu-clock: ").unwrap();
        assert_eq!((sample.thread.as_str(), sample.event.as_str()), ("7", "cpu-clock"));
    }

    #[test]
    fn numbers_are_found_by_their_whole_name() {
        assert_eq!(number("ring 0x1, size=12, resize=13", "size"), Some(12));
        assert_eq!(number("res 1", "res"), None);
    }
}
