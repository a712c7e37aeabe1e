//! Answers compressed with gzip: those that are long, for clients that take it.

use std::{io::Write, task::Waker};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use crate::{
    limits::{GZIP_SLICE_BYTES, GZIP_THRESHOLD_BYTES},
    request::Request,
    response::{Body, Response, StreamSource, StreamState},
};

/// Whether the client takes gzip: the lower-case token alone says so, without a weight.
pub(crate) fn is_accepted(request: &Request<'_>) -> bool {
    let encodings = request.head.header("accept-encoding").unwrap_or_default();
    encodings.split(|b| *b == b',').any(|token| token.trim_ascii() == b"gzip")
}

/// Says in the headers that the body is compressed.
pub(crate) fn mark(response: &mut Response) {
    response.headers.push(("content-encoding", "gzip".to_owned()));
    response.headers.push(("vary", "Accept-Encoding".to_owned()));
}

/// Compresses the body of a whole answer where it is long enough.
pub(crate) fn compress(mut response: Response) -> Response {
    if response.body.len() <= GZIP_THRESHOLD_BYTES {
        return response;
    }
    let mut encoder = encoder();
    for part in response.body.parts() {
        write(&mut encoder, part);
    }
    mark(&mut response);
    response.body = Body::one(finish(encoder));
    response
}

/// Bytes that are compressed once and kept.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = encoder();
    write(&mut encoder, bytes);
    finish(encoder)
}

/// Speed before size: the network is near, and the core has other things to do.
fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::fast())
}

fn write(encoder: &mut GzEncoder<Vec<u8>>, bytes: &[u8]) {
    encoder.write_all(bytes).expect("writing to memory does not fail");
}

fn finish(encoder: GzEncoder<Vec<u8>>) -> Vec<u8> {
    encoder.finish().expect("writing to memory does not fail")
}

/// A stream compressed as it goes. After each slice it lets others on the core have their turn.
pub(crate) struct GzipSource<S> {
    inner: S,
    /// `None` once the stream has ended.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<S> GzipSource<S> {
    /// A stream of which `begun` has been taken already.
    pub(crate) fn new(begun: &[Bytes], inner: S) -> Self {
        let mut encoder = encoder();
        for part in begun {
            write(&mut encoder, part);
        }
        GzipSource { inner, encoder: Some(encoder) }
    }
}

impl<S: StreamSource> StreamSource for GzipSource<S> {
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        let Some(encoder) = &mut self.encoder else { return StreamState::End };
        let state = self.inner.poll(waker, GZIP_SLICE_BYTES, &mut |bytes| write(encoder, &bytes));
        match state {
            StreamState::End => {
                if let Some(encoder) = self.encoder.take() {
                    part(Bytes::from(finish(encoder)));
                }
                return StreamState::End;
            }
            StreamState::Abort => return StreamState::Abort,
            StreamState::Full | StreamState::Pending => {}
        }
        let out = std::mem::take(encoder.get_mut());
        let made = out.len();
        if made > 0 {
            part(Bytes::from(out));
        }
        if state == StreamState::Full && made < room {
            // There is room for more, in the next turn.
            waker.wake_by_ref();
            return StreamState::Pending;
        }
        state
    }

    fn is_watch(&self) -> bool {
        self.inner.is_watch()
    }

    fn deadline(&self) -> Option<std::time::Instant> {
        self.inner.deadline()
    }

    fn next_tick(&self) -> Option<std::time::Instant> {
        self.inner.next_tick()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        io::Read,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use flate2::read::GzDecoder;

    use super::*;

    fn plain(compressed: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        GzDecoder::new(compressed).read_to_end(&mut out).expect("it is gzip");
        out
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn long_answers_are_compressed() {
        let body = "x".repeat(GZIP_THRESHOLD_BYTES);
        let short = compress(Response::new(200, crate::response::JSON, body.clone()));
        assert!(short.headers.is_empty());
        assert_eq!(short.body.parts(), [Bytes::from(body.clone())]);

        let mut response = Response::new(200, crate::response::JSON, body.clone());
        response.body.push(Bytes::from_static(b"\n"));
        let long = compress(response);
        assert_eq!(
            long.headers,
            [("content-encoding", "gzip".to_owned()), ("vary", "Accept-Encoding".to_owned())]
        );
        assert_eq!(plain(&long.body.parts()[0]), format!("{body}\n").as_bytes());
    }

    struct Chunks(VecDeque<Bytes>);

    impl StreamSource for Chunks {
        fn poll(&mut self, _: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
            let mut sent = 0;
            while sent < room {
                let Some(next) = self.0.pop_front() else { return StreamState::End };
                sent += next.len();
                part(next);
            }
            StreamState::Full
        }
        fn is_watch(&self) -> bool {
            false
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn run(body: &[u8], room: usize) -> (usize, usize) {
        let mut chunks: VecDeque<_> = body.chunks(10_000).map(Bytes::copy_from_slice).collect();
        let begun: Vec<_> = chunks.drain(..2).collect();
        let mut source = GzipSource::new(&begun, Chunks(chunks));
        let wakes = Arc::new(Wakes::default());
        let (mut out, mut pending, mut full) = (Vec::new(), 0, 0);
        loop {
            match source.poll(&Waker::from(wakes.clone()), room, &mut |part| out.extend_from_slice(&part)) {
                StreamState::Pending => pending += 1,
                StreamState::Full => full += 1,
                StreamState::End => break,
                StreamState::Abort => panic!("nothing fails here"),
            }
        }
        assert_eq!(wakes.0.load(Ordering::Relaxed), pending, "who has room comes back by itself");
        assert!(plain(&out) == body);
        (pending, full)
    }

    #[test]
    fn streams_yield_between_slices() {
        // Nearly nothing comes out of what repeats itself, so there is always room.
        let (pending, full) = run(&vec![b'x'; 1 << 20], 1 << 16);
        assert!(pending >= 10, "{pending}");
        assert_eq!(full, 0);
        // Noise does not shrink: the connection has to drain.
        let (_, full) = run(&noise(1 << 20), 1 << 10);
        assert!(full >= 10, "{full}");
    }
}
