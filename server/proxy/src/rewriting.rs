//! Links of what stands behind a proxy, so that they lead through it (`proxy.Transport`).

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::{
    Compression,
    write::{DeflateDecoder, DeflateEncoder, GzDecoder, GzEncoder},
};
use http::{HeaderMap, HeaderValue, header};
use ringbolt_outgoing::clean_path;

use crate::{
    forwarding::escape_path,
    limits,
    links::{Links, Rewriter},
};

/// Where a page is, as it and the client see it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The path of the proxy, up to what was handed on, escaped.
    prepended: String,
    /// The same as it is written, which links may begin with already.
    plain: String,
    /// Where the page was got from.
    source: String,
    /// The host that the client asked for.
    asked: String,
}

impl Place {
    /// `path` of a request of which `below` was handed on to `source`.
    pub(crate) fn new(path: &str, below: &str, source: String, asked: &str) -> Place {
        let plain = path.strip_suffix(below).unwrap_or(path).to_owned();
        Place { prepended: escape_path(&plain), plain, source, asked: asked.to_owned() }
    }

    /// What the other end is told of the path that it is reached by.
    pub(crate) fn forwarded_uri(&self, below: &str) -> String {
        let slash = if below.ends_with('/') { "/" } else { "" };
        let joined = clean_path(&format!("{}/{}", self.plain, escape_path(below)));
        if joined == "/" { joined } else { format!("{joined}{slash}") }
    }
}

impl Rewriter for Place {
    /// A link to the page's host by a path from the root: any other is as it is.
    fn rewrite(&self, link: &str) -> Option<String> {
        let (scheme, rest) = match link.find([':', '/', '?', '#']) {
            Some(at) if link.as_bytes()[at] == b':' => link.split_at(at + 1),
            _ => ("", link),
        };
        let (host, rest) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
            None if scheme.is_empty() => ("", rest),
            None => return None,
        };
        let is_other = !host.is_empty() && host != self.source && host != self.asked;
        if is_other || !rest.starts_with('/') {
            return None;
        }
        let (path, tail) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let origin = match host {
            host if !host.is_empty() && host == self.asked => format!("{scheme}//{host}"),
            _ => String::new(),
        };
        if path.starts_with(&self.plain) || path.starts_with(&self.prepended) {
            return Some(format!("{origin}{path}{tail}"));
        }
        let slash = if path.ends_with('/') { "/" } else { "" };
        let joined = clean_path(&format!("{}/{path}", self.prepended));
        Some(format!("{origin}{joined}{slash}{tail}"))
    }
}

/// From what came, and to what goes on.
type Gzip = (GzDecoder<Vec<u8>>, GzEncoder<Vec<u8>>);
/// The same of the other compression.
type Deflate = (DeflateDecoder<Vec<u8>>, DeflateEncoder<Vec<u8>>);

/// How a page is compressed.
enum Coding {
    Plain,
    Gzip(Box<Gzip>),
    Deflate(Box<Deflate>),
}

impl Coding {
    /// What is opened at once.
    fn piece_bytes(&self) -> usize {
        match self {
            Coding::Plain => limits::REWRITE_BYTES,
            Coding::Gzip(_) | Coding::Deflate(_) => limits::INFLATE_BYTES,
        }
    }

    /// What of the page is in a piece.
    fn open(&mut self, piece: Bytes) -> io::Result<Bytes> {
        Ok(match self {
            Coding::Plain => piece,
            Coding::Gzip(coders) => {
                coders.0.write_all(&piece)?;
                std::mem::take(coders.0.get_mut()).into()
            }
            Coding::Deflate(coders) => {
                coders.0.write_all(&piece)?;
                std::mem::take(coders.0.get_mut()).into()
            }
        })
    }

    /// What of the page was kept back, at its end.
    fn open_rest(&mut self) -> Vec<u8> {
        // Writes into memory do not fail; what was cut off at its end ends here as well.
        match self {
            Coding::Plain => Vec::new(),
            Coding::Gzip(coders) => {
                let _ = coders.0.try_finish();
                std::mem::take(coders.0.get_mut())
            }
            Coding::Deflate(coders) => {
                let _ = coders.0.try_finish();
                std::mem::take(coders.0.get_mut())
            }
        }
    }

    /// A part of the page as it goes on.
    fn pack(&mut self, plain: Vec<u8>) -> io::Result<Vec<u8>> {
        Ok(match self {
            Coding::Plain => plain,
            Coding::Gzip(coders) => {
                coders.1.write_all(&plain)?;
                std::mem::take(coders.1.get_mut())
            }
            Coding::Deflate(coders) => {
                coders.1.write_all(&plain)?;
                std::mem::take(coders.1.get_mut())
            }
        })
    }

    /// The last part of it.
    fn pack_rest(self, plain: Vec<u8>) -> Vec<u8> {
        match self {
            Coding::Plain => plain,
            Coding::Gzip(mut coders) => {
                let _ = coders.1.write_all(&plain);
                coders.1.finish().unwrap_or_default()
            }
            Coding::Deflate(mut coders) => {
                let _ = coders.1.write_all(&plain);
                coders.1.finish().unwrap_or_default()
            }
        }
    }
}

/// A page on its way.
struct Page {
    links: Links,
    coding: Coding,
}

/// What is done with one answer.
pub(crate) struct Rewriting {
    place: Place,
    page: Option<Page>,
    /// What was not looked at of the part that came last.
    waiting: Bytes,
}

impl Rewriting {
    pub(crate) fn new(place: Place) -> Rewriting {
        Rewriting { place, page: None, waiting: Bytes::new() }
    }

    /// The head: where it says that the client should look elsewhere that is seen to, else in pages.
    pub(crate) fn head(&mut self, headers: &mut HeaderMap) {
        let location = headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        if let Some(location) = location.filter(|location| !location.is_empty()) {
            let rewritten = self.place.rewrite(location).and_then(|to| HeaderValue::from_str(&to).ok());
            if let Some(rewritten) = rewritten {
                headers.insert(header::LOCATION, rewritten);
            }
            return;
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        if text(header::CONTENT_TYPE).split(';').next().unwrap_or("").trim() != "text/html" {
            return;
        }
        let coding = match text(header::CONTENT_ENCODING) {
            "" => Coding::Plain,
            "gzip" => Coding::Gzip(Box::new((
                GzDecoder::new(Vec::new()),
                GzEncoder::new(Vec::new(), Compression::fast()),
            ))),
            "deflate" => Coding::Deflate(Box::new((
                DeflateDecoder::new(Vec::new()),
                DeflateEncoder::new(Vec::new(), Compression::fast()),
            ))),
            // What nobody here can read stays as it is.
            _ => return,
        };
        headers.remove(header::CONTENT_LENGTH);
        self.page = Some(Page { links: Links::default(), coding });
    }

    /// A part of the body, which waits until [`Rewriting::piece`] has taken all of it.
    pub(crate) fn part(&mut self, part: Bytes) {
        debug_assert!(self.waiting.is_empty());
        self.waiting = part;
    }

    /// Whether something of a part still waits.
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next piece of the part: what of it goes to the client, and the bytes of the page that were looked at.
    ///
    /// # Errors
    /// It is not compressed as its head says.
    pub(crate) fn piece(&mut self) -> io::Result<(Bytes, usize)> {
        let Some(Page { links, coding }) = &mut self.page else {
            return Ok((std::mem::take(&mut self.waiting), 0));
        };
        let piece = self.waiting.split_to(self.waiting.len().min(coding.piece_bytes()));
        let opened = coding.open(piece)?;
        let mut plain = Vec::with_capacity(opened.len());
        links.feed(&opened, &self.place, &mut plain);
        Ok((coding.pack(plain)?.into(), opened.len()))
    }

    /// What was kept back, at the end.
    pub(crate) fn finish(&mut self) -> Bytes {
        let Some(Page { mut links, mut coding }) = self.page.take() else { return Bytes::new() };
        let mut plain = Vec::new();
        links.feed(&coding.open_rest(), &self.place, &mut plain);
        links.finish(&mut plain);
        coding.pack_rest(plain).into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const PROXY: &str = "/api/v1/namespaces/d/services/s/proxy";

    fn place() -> Place {
        Place::new(&format!("{PROXY}/a"), "/a", "10.0.0.1:80".to_owned(), "server:6443")
    }

    #[test]
    fn links_of_one_host() {
        let check = |link: &str, expect: Option<&str>| {
            let expect = expect.map(|expect| expect.replace('~', PROXY));
            assert_eq!(place().rewrite(link), expect, "{link}");
        };
        check("/b/c", Some("~/b/c"));
        check("/b/../c//d/?x=/y#z", Some("~/c/d/?x=/y#z"));
        check("/", Some("~/"));
        check("b/c", None);
        check("?q", None);
        check("#at", None);
        check("", None);
        check("http://10.0.0.1:80/b", Some("~/b"));
        check("//10.0.0.1:80/b", Some("~/b"));
        check("https://server:6443/b", Some("https://server:6443~/b"));
        check("http://elsewhere/b", None);
        check("http://10.0.0.1:80", None);
        check("mailto:a@b", None);
        check("javascript:x('/y')", None);
        check(&format!("{PROXY}/b"), Some("~/b"));
    }

    #[test]
    fn what_the_other_end_is_told() {
        let check = |path: &str, below: &str, expect: &str| {
            assert_eq!(Place::new(path, below, String::new(), "").forwarded_uri(below), expect);
        };
        check("/api/v1/nodes/n/proxy/a%b/", "/a%b/", "/api/v1/nodes/n/proxy/a%25b/");
        check("/api/v1/nodes/n/proxy/", "/", "/api/v1/nodes/n/proxy/");
        // What was cleaned is no end of the path: it stands there twice, as with the real server.
        check("/p/proxy//a", "/a", "/p/proxy/a");
    }

    fn all(rewriting: &mut Rewriting, part: &[u8]) -> Vec<u8> {
        rewriting.part(Bytes::copy_from_slice(part));
        let mut out = Vec::new();
        while rewriting.waits() {
            out.extend_from_slice(&rewriting.piece().unwrap().0);
        }
        out
    }

    #[test]
    fn a_page_of_blanks_is_opened_in_small_pieces() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&vec![b' '; 4 << 20]).unwrap();
        let packed = gzip.finish().unwrap();
        let mut rewriting = Rewriting::new(place());
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/html"));
        headers.insert("content-encoding", HeaderValue::from_static("gzip"));
        rewriting.head(&mut headers);
        rewriting.part(packed.into());
        let (mut most, mut sum) = (0, 0);
        while rewriting.waits() {
            let (_, opened) = rewriting.piece().unwrap();
            most = most.max(opened);
            sum += opened;
        }
        assert_eq!(sum, 4 << 20);
        assert!(most <= 2 * limits::REWRITE_BYTES, "{most} bytes at once");
    }

    fn page(coding: &str, body: &[u8]) -> Vec<u8> {
        let mut rewriting = Rewriting::new(place());
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert("content-length", HeaderValue::from_static("7"));
        headers.insert("content-encoding", HeaderValue::from_str(coding).unwrap());
        rewriting.head(&mut headers);
        assert!(headers.get("content-length").is_none() || coding == "br");
        let mut out = all(&mut rewriting, body);
        out.extend_from_slice(&rewriting.finish());
        out
    }

    #[test]
    fn pages() {
        let (plain, expect) = (b"<a href='/b'>b</a>", format!("<a href=\"{PROXY}/b\">b</a>"));
        assert_eq!(page("", plain), expect.as_bytes());
        assert_eq!(page("br", plain), plain);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(plain).unwrap();
        let mut read = String::new();
        flate2::read::GzDecoder::new(&page("gzip", &gzip.finish().unwrap())[..])
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, expect);
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(plain).unwrap();
        let mut read = String::new();
        flate2::read::DeflateDecoder::new(&page("deflate", &deflate.finish().unwrap())[..])
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, expect);
        let mut rewriting = Rewriting::new(place());
        let mut headers = HeaderMap::new();
        headers.insert("location", HeaderValue::from_static("/elsewhere"));
        headers.insert("content-type", HeaderValue::from_static("text/html"));
        rewriting.head(&mut headers);
        assert_eq!(headers["location"], format!("{PROXY}/elsewhere"));
        assert_eq!(all(&mut rewriting, plain), plain);
    }
}
