//! Sessions against rustls's client, and against a client that breaks the rules.

use std::{
    io::{Read, Write},
    rc::Rc,
    sync::Arc,
};

use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, crypto::aws_lc_rs, version,
};
use rustls_pki_types::{PrivateKeyDer, ServerName};

use super::{
    TlsCertificate, TlsConfig, TlsSettings,
    cipher::{APPLICATION_DATA, Cipher},
    records::Fault,
    session::{Event, Failure, Pumped, Session},
};
use crate::{
    chunk::ChunkPool,
    limits::TLS_AHEAD_BYTES,
    out::{OutQueue, Wire},
};
use bytes::Bytes;

/// A server's session with what it hears and says.
struct Server {
    session: Session,
    out: OutQueue,
    wire: Wire,
    heard: Vec<u8>,
    end: Option<Pumped>,
    /// Plain pieces after which the sink stops the pump; what comes meanwhile waits.
    stop_after: usize,
    stash: Vec<u8>,
}

impl Server {
    fn receive(&mut self, bytes: &[u8]) {
        self.stash.extend_from_slice(bytes);
        if self.stop_after == 0 {
            return;
        }
        let mut bytes = std::mem::take(&mut self.stash);
        let (heard, left) = (&mut self.heard, &mut self.stop_after);
        let pumped = self.session.pump(&mut bytes, &mut |event| {
            if let Event::Plain(plain) = event {
                heard.extend_from_slice(plain);
                *left = left.saturating_sub(1);
            }
            *left > 0
        });
        self.out.sending += self.session.take_answers(&mut self.wire);
        if !matches!(pumped, Pumped::More) {
            self.end = Some(pumped);
        }
    }

    /// What goes on the wire now.
    fn send(&mut self) -> Vec<u8> {
        let mut sent = Vec::new();
        loop {
            self.session.encrypt(&mut self.out, &mut self.wire, TLS_AHEAD_BYTES).unwrap();
            if self.wire.bytes == 0 {
                return sent;
            }
            assert!(self.wire.bytes < TLS_AHEAD_BYTES + 20_000);
            let before = sent.len();
            for segment in &self.wire.segments {
                sent.extend_from_slice(segment.as_slice());
            }
            let bytes = sent.len() - before;
            assert_eq!(bytes, self.wire.bytes);
            self.wire.advance(bytes, self.out.pool());
            self.out.sending -= bytes;
        }
    }

    fn fault(&self) -> Option<Fault> {
        match self.end {
            Some(Pumped::Failed(Failure::Records(fault))) => Some(fault),
            None => None,
            _ => panic!("{:?}", self.end),
        }
    }
}

fn pair(suite: CipherSuite) -> (Server, ClientConnection) {
    let made = rcgen::generate_simple_self_signed(vec!["server".to_owned()]).unwrap();
    let certificate = TlsCertificate {
        chain: vec![made.cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
        names: Vec::new(),
    };
    let config = TlsConfig::new(TlsSettings::new(vec![certificate])).unwrap();
    let pool = Rc::new(ChunkPool::new(usize::MAX));
    let mut server = Server {
        session: Session::new(config.current(|| None)).unwrap(),
        out: OutQueue::new(pool, usize::MAX, 0),
        wire: Wire::default(),
        heard: Vec::new(),
        end: None,
        stop_after: usize::MAX,
        stash: Vec::new(),
    };
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|known| known.suite() == suite);
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[match suite {
            CipherSuite::TLS13_AES_128_GCM_SHA256
            | CipherSuite::TLS13_AES_256_GCM_SHA384
            | CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => &version::TLS13,
            _ => &version::TLS12,
        }])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    let name = ServerName::try_from("server").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    while client.is_handshaking() {
        exchange(&mut server, &mut client);
    }
    exchange(&mut server, &mut client);
    (server, client)
}

/// Lets both say what they have to; what the client heard.
fn exchange(server: &mut Server, client: &mut ClientConnection) -> Vec<u8> {
    let mut heard = Vec::new();
    loop {
        let mut said = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut said).unwrap();
        }
        // In pieces that fit nothing.
        for piece in said.chunks(9_999) {
            server.receive(piece);
        }
        let answered = server.send();
        if said.is_empty() && answered.is_empty() {
            return heard;
        }
        let mut rest = &answered[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            let state = client.process_new_packets().unwrap();
            let before = heard.len();
            heard.resize(before + state.plaintext_bytes_to_read(), 0);
            client.reader().read_exact(&mut heard[before..]).unwrap();
        }
    }
}

const TLS13: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
];
const TLS12: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Both directions, with a client's text of `len` bytes.
fn talk(server: &mut Server, client: &mut ClientConnection, len: usize) {
    let text = noise(len);
    for part in text.chunks(50_000) {
        client.writer().write_all(part).unwrap();
        assert!(exchange(server, client).is_empty());
    }
    assert!(std::mem::take(&mut server.heard) == text);
    server.out.put(&text[..700.min(len)]);
    server.out.put_shared(Bytes::from(text.clone()));
    server.out.put(b"end");
    let heard = exchange(server, client);
    assert!(heard == [&text[..700.min(len)], &text, b"end"].concat());
    assert!(server.end.is_none());
}

#[test]
fn every_suite_both_ways_to_a_good_end() {
    for suite in TLS13.into_iter().chain(TLS12) {
        let (mut server, mut client) = pair(suite);
        assert_eq!(client.negotiated_cipher_suite().map(|suite| suite.suite()), Some(suite));
        for len in [1, 100, 16_384, 300_000] {
            talk(&mut server, &mut client, len);
        }
        client.send_close_notify();
        exchange(&mut server, &mut client);
        assert!(matches!(server.end, Some(Pumped::PeerClosed)));
        server.out.put(b"last words");
        let heard = exchange(&mut server, &mut client);
        assert_eq!(heard, b"last words");
        server.session.close(&mut server.out, &mut server.wire);
        server.session.close(&mut server.out, &mut server.wire);
        let end = server.send();
        client.read_tls(&mut &end[..]).unwrap();
        assert!(client.process_new_packets().unwrap().peer_has_closed());
    }
}

#[test]
fn clients_change_keys_and_servers_change_worn_ones() {
    for suite in TLS13 {
        let (mut server, mut client) = pair(suite);
        for _ in 0..40 {
            client.refresh_traffic_keys().unwrap();
            talk(&mut server, &mut client, 5_000);
        }
        // One answer is enough for requests while nothing was said.
        for _ in 0..20 {
            client.refresh_traffic_keys().unwrap();
        }
        talk(&mut server, &mut client, 100);
        for left in [0, 1, 3] {
            server.session.records().unwrap().wear_keys_out(left);
            talk(&mut server, &mut client, 300_000);
            assert!(server.session.records().unwrap().sealed() < 30, "a new key counts from its beginning");
        }
    }
}

#[test]
fn worn_keys_of_tls_1_2_end_the_connection() {
    let (mut server, mut client) = pair(TLS12[0]);
    server.session.records().unwrap().wear_keys_out(2);
    server.out.put(&noise(40_000));
    assert!(server.session.encrypt(&mut server.out, &mut server.wire, TLS_AHEAD_BYTES).is_err());
    assert!(client.process_new_packets().is_ok());
}

#[test]
fn keys_changed_on_and_on_without_a_word() {
    let (mut server, mut client) = pair(TLS13[0]);
    for _ in 0..40 {
        client.refresh_traffic_keys().unwrap();
        let mut said = Vec::new();
        client.write_tls(&mut said).unwrap();
        server.receive(&said);
        if server.end.is_some() {
            break;
        }
    }
    assert_eq!(server.fault(), Some(Fault::UnexpectedMessage));
}

#[test]
fn a_stopped_pump_goes_on_where_it_was() {
    for suite in [TLS13[0], TLS12[0]] {
        let (mut server, mut client) = pair(suite);
        server.stop_after = 1;
        client.writer().write_all(&noise(60_000)).unwrap();
        exchange(&mut server, &mut client);
        assert!(server.session.is_stopped());
        assert_eq!(server.heard.len(), 16_384);
        // Meanwhile the other direction works.
        server.out.put(b"wait");
        assert_eq!(exchange(&mut server, &mut client), b"wait");
        server.stop_after = usize::MAX;
        server.receive(&[]);
        assert!(server.heard == noise(60_000));
    }
}

/// The client's side in our own hands.
struct Raw {
    tx: Cipher,
    rx: Cipher,
}

impl Raw {
    fn of(client: ClientConnection) -> Raw {
        let tls13 = client.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let secrets = client.dangerous_extract_secrets().unwrap();
        Raw { tx: Cipher::new(tls13, secrets.tx).unwrap(), rx: Cipher::new(tls13, secrets.rx).unwrap() }
    }

    fn seal(&mut self, ty: u8, content: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        self.tx.begin(&mut record);
        record.extend_from_slice(content);
        self.tx.seal(ty, &mut record, 0).unwrap();
        record
    }
}

type Said = fn(&mut Raw) -> Vec<u8>;

/// What is said, what it comes to, and the alert that answers it.
type Case = (&'static str, Said, Option<Fault>, Option<[u8; 2]>);

fn check(suite: CipherSuite, cases: &[Case]) {
    for (name, said, fault, alert) in cases {
        let (mut server, client) = pair(suite);
        let mut raw = Raw::of(client);
        let said = said(&mut raw);
        // All at once, and byte by byte.
        if said.len() % 2 == 0 {
            server.receive(&said);
        } else {
            said.iter().for_each(|byte| {
                if server.end.is_none() {
                    server.receive(&[*byte]);
                }
            });
        }
        assert_eq!(server.fault(), *fault, "{name}");
        let mut answer = server.send();
        match alert {
            None => assert!(answer.is_empty(), "{name}"),
            Some(alert) => {
                assert_eq!(raw.rx.open(&mut answer), Ok((21, &mut { *alert }[..])), "{name}");
            }
        }
    }
}

const MAC: (Option<Fault>, Option<[u8; 2]>) = (Some(Fault::BadRecordMac), Some([2, 20]));
const OVERFLOW: (Option<Fault>, Option<[u8; 2]>) = (Some(Fault::RecordOverflow), Some([2, 22]));
const UNEXPECTED: (Option<Fault>, Option<[u8; 2]>) = (Some(Fault::UnexpectedMessage), Some([2, 10]));
const DECODE: (Option<Fault>, Option<[u8; 2]>) = (Some(Fault::DecodeError), Some([2, 50]));
const ILLEGAL: (Option<Fault>, Option<[u8; 2]>) = (Some(Fault::IllegalParameter), Some([2, 47]));
const FINE: (Option<Fault>, Option<[u8; 2]>) = (None, None);

fn case(name: &'static str, (fault, alert): (Option<Fault>, Option<[u8; 2]>), said: Said) -> Case {
    (name, said, fault, alert)
}

fn of_both() -> Vec<Case> {
    vec![
        case("a changed tag", MAC, |raw| {
            let mut record = raw.seal(APPLICATION_DATA, b"hello");
            *record.last_mut().unwrap() ^= 1;
            record
        }),
        case("a changed header", MAC, |raw| {
            let mut record = raw.seal(APPLICATION_DATA, b"hello");
            record[2] ^= 1;
            record
        }),
        case("a record left out", MAC, |raw| {
            raw.seal(APPLICATION_DATA, b"hello");
            raw.seal(APPLICATION_DATA, b"hello")
        }),
        case("a record twice", MAC, |raw| raw.seal(APPLICATION_DATA, b"hello").repeat(2)),
        case("a record of nothing", MAC, |_| vec![23, 3, 3, 0, 0]),
        case("a record too short for its tag", MAC, |_| vec![23, 3, 3, 0, 4, 1, 2, 3, 4]),
        case("a record that is cut", FINE, |raw| {
            let mut record = raw.seal(APPLICATION_DATA, b"hello");
            record.pop();
            record
        }),
        case("an announced length beyond all", OVERFLOW, |_| vec![23, 3, 3, 0xff, 0xff]),
        case("content of a byte too much", OVERFLOW, |raw| raw.seal(APPLICATION_DATA, &[1; 16_385])),
        case("an unknown type", DECODE, |_| vec![99, 3, 3, 0, 1, 1]),
        case("a change of cipher", UNEXPECTED, |_| vec![20, 3, 3, 0, 1, 1]),
        case("no content", FINE, |raw| raw.seal(APPLICATION_DATA, b"")),
        case("an alert of nothing", UNEXPECTED, |raw| raw.seal(21, b"")),
        case("half an alert", DECODE, |raw| raw.seal(21, &[2])),
        case("two alerts in one", DECODE, |raw| raw.seal(21, &[1, 90, 1, 90])),
        case("an alert of no level", ILLEGAL, |raw| raw.seal(21, &[3, 40])),
        case("the peer gives up", (Some(Fault::Alert(80)), None), |raw| raw.seal(21, &[2, 80])),
        case("too many warnings", UNEXPECTED, |raw| (0..5).flat_map(|_| raw.seal(21, &[1, 90])).collect()),
        case("a few warnings", FINE, |raw| (0..4).flat_map(|_| raw.seal(21, &[1, 90])).collect()),
    ]
}

#[test]
fn rules_of_tls_1_3() {
    let mut cases = of_both();
    cases.extend([
        case("a type that is not hidden", UNEXPECTED, |raw| {
            let mut record = raw.seal(22, &[24, 0, 0, 1, 0]);
            record[0] = 22;
            record
        }),
        case("a warning that there is none of", DECODE, |raw| raw.seal(21, &[1, 112])),
        case("padding without a type", UNEXPECTED, |raw| raw.seal(0, b"\0\0\0")),
        case("a hidden change of cipher", UNEXPECTED, |raw| raw.seal(20, &[1])),
        case("a length that padding does not reach", OVERFLOW, |_| vec![23, 3, 3, 0x41, 0x01]),
        case("a handshake of nothing", UNEXPECTED, |raw| raw.seal(22, b"")),
        case("another handshake", UNEXPECTED, |raw| raw.seal(22, &[1, 0, 0, 0])),
        case("a certificate nobody asked for", UNEXPECTED, |raw| raw.seal(22, &[11, 0, 0, 4, 0, 0, 0, 0])),
        case("keys changed in a way that there is none of", ILLEGAL, |raw| raw.seal(22, &[24, 0, 0, 1, 2])),
        case("a change of keys too long", DECODE, |raw| raw.seal(22, &[24, 0, 0, 2, 0, 0])),
        case("a change of keys too short", DECODE, |raw| raw.seal(22, &[24, 0, 0, 0])),
        case("something behind a change of keys", UNEXPECTED, |raw| {
            raw.seal(22, &[24, 0, 0, 1, 0, 24, 0, 0, 1, 0])
        }),
        case("something within a change of keys", UNEXPECTED, |raw| {
            [raw.seal(22, &[24, 0]), raw.seal(APPLICATION_DATA, b"hello")].concat()
        }),
        case("old keys after a change in two pieces", MAC, |raw| {
            [raw.seal(22, &[24, 0]), raw.seal(22, &[0, 1, 0]), raw.seal(APPLICATION_DATA, b"hello")].concat()
        }),
    ]);
    check(TLS13[0], &cases);
}

#[test]
fn rules_of_tls_1_2() {
    let mut cases = of_both();
    cases.extend([
        case("another handshake", (Some(Fault::Renegotiation), Some([1, 100])), |raw| {
            raw.seal(22, &[1, 0, 0, 0])
        }),
        case("a change of keys, which there is none of", UNEXPECTED, |raw| raw.seal(22, &[24, 0, 0, 1, 0])),
        case("a warning", FINE, |raw| raw.seal(21, &[1, 100])),
        case("too little for a nonce", MAC, |_| vec![23, 3, 3, 0, 7, 1, 2, 3, 4, 5, 6, 7]),
    ]);
    check(TLS12[0], &cases);
}

#[test]
fn nothing_counts_after_the_end() {
    let (mut server, client) = pair(TLS13[0]);
    let mut raw = Raw::of(client);
    server.receive(&raw.seal(21, &[1, 0]));
    assert!(matches!(server.end, Some(Pumped::PeerClosed)));
    server.end = None;
    server.receive(&[raw.seal(APPLICATION_DATA, b"hello"), b"garbage".to_vec()].concat());
    assert!(matches!(server.end, Some(Pumped::PeerClosed)));
    assert!(server.heard.is_empty() && server.send().is_empty());
}
