//! Connections and the protocols on them, on one thread, with as little work a request as the protocols allow.

pub(crate) mod connection;
pub(crate) mod driver;
mod h1;
mod h2;
mod tls;

/// A request, as every protocol writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) path: &'a str,
    pub(crate) accept: &'static str,
    /// The body's media type; empty without a body.
    pub(crate) content_type: &'static str,
    pub(crate) body: &'a [u8],
}

/// What hears the answers. A tag is the number that a request was sent with.
pub(crate) trait Sink {
    /// The answer's status came.
    fn head(&mut self, tag: u32, status: u16);
    /// A piece of the answer's body came.
    fn data(&mut self, tag: u32, bytes: &[u8]);
    /// The answer ended: whole, or cut off.
    fn end(&mut self, tag: u32, whole: bool);
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub(crate) struct WireError(pub(crate) String);

impl WireError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        WireError(message.into())
    }
}

/// A number in decimal.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}
