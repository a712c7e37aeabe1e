//! HPACK: the examples of RFC 7541, the stories of hpack-test-case, and what is encoded comes back.

use proptest::prelude::*;
use ringbolt_protocol::hpack::{Decoder, Encoder, Error, Fields};
use ringbolt_protocol::limits::HEAD_BYTES_MAX;

use crate::support::fixtures;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let mut fields = Fields::new(HEAD_BYTES_MAX);
    decoder.decode(block, &mut fields)?;
    assert!(!fields.too_large);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(fields.iter().map(|(name, value)| (text(name), text(value))).collect())
}

fn check(decoder: &mut Decoder, block: &str, expect: &[(&str, &str)]) {
    let got = decode(decoder, &hex(block)).unwrap();
    let expect: Vec<(String, String)> =
        expect.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(got, expect, "{block}");
}

/// RFC 7541 appendix C.2.
#[test]
fn field_representations() {
    let fresh = Decoder::new;
    check(
        &mut fresh(),
        "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
        &[("custom-key", "custom-header")],
    );
    check(&mut fresh(), "040c2f73616d706c652f70617468", &[(":path", "/sample/path")]);
    check(&mut fresh(), "100870617373776f726406736563726574", &[("password", "secret")]);
    check(&mut fresh(), "82", &[(":method", "GET")]);
}

/// RFC 7541 appendices C.3 and C.4: the same requests, plain and in Huffman code.
#[test]
fn requests() {
    let blocks = [
        [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ],
        [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
    ];
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
    let mut second = get.to_vec();
    second.push(("cache-control", "no-cache"));
    let third = [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ];
    for [a, b, c] in blocks {
        let mut decoder = Decoder::new();
        check(&mut decoder, a, &get);
        check(&mut decoder, b, &second);
        check(&mut decoder, c, &third);
    }
}

/// RFC 7541 appendices C.5 and C.6: responses in a table of 256 bytes, with evictions.
#[test]
fn responses() {
    let blocks = [
        [
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e17
             68747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d41
             53444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b207665727369
             6f6e3d31",
        ],
        [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97
             c8e9ae82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd
             5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ],
    ];
    let location = ("location", "https://www.example.com");
    let date = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    let private = ("cache-control", "private");
    let later = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
    let cookie = ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");
    for [a, b, c] in blocks {
        let mut decoder = Decoder::with_table_size(256);
        check(&mut decoder, a, &[(":status", "302"), private, date, location]);
        check(&mut decoder, b, &[(":status", "307"), private, date, location]);
        let third = [(":status", "200"), private, later, location, ("content-encoding", "gzip"), cookie];
        check(&mut decoder, c, &third);
    }
}

#[test]
fn broken_blocks() {
    let cases = [
        ("80", Error::Index),
        ("be", Error::Index),
        ("7f", Error::Truncated),
        ("0085f2b24a84ff", Error::Truncated),
        ("ff80808080808001", Error::Integer),
        ("ffffffffff7f", Error::Integer),
        ("3fe21f", Error::TableSize),
        ("8220", Error::TableSize),
        ("0081fe0161", Error::Huffman),
        ("00", Error::Truncated),
        ("0003", Error::Truncated),
    ];
    for (block, error) in cases {
        assert_eq!(decode(&mut Decoder::new(), &hex(block)), Err(error), "{block}");
    }
}

/// A block that names one large entry again and again may not grow the head beyond its limit.
#[test]
fn a_bomb_is_cut() {
    let mut decoder = Decoder::new();
    let mut fields = Fields::new(HEAD_BYTES_MAX);
    // A literal with indexing, whose value of 3900 bytes has the length 127 + 3773 in digits of seven bits.
    let mut block = vec![0x40, 1, b'x', 0x7f, 0xbd, 0x1d];
    block.extend(std::iter::repeat_n(b'v', 3900));
    block.extend(std::iter::repeat_n(0xbe, 100_000));
    decoder.decode(&block, &mut fields).unwrap();
    assert!(fields.too_large);
    assert!(fields.buffer.len() <= HEAD_BYTES_MAX);
    fields.clear();
    assert!(!fields.too_large && fields.buffer.capacity() <= 4096);
}

#[test]
fn stories() {
    let Some(fixtures) = fixtures() else { return };
    let (mut stories, mut blocks) = (0, 0);
    for folder in ["go-hpack", "haskell-http2-linear-huffman", "nghttp2", "nghttp2-change-table-size"] {
        for file in std::fs::read_dir(fixtures.join("hpack").join(folder)).unwrap() {
            let path = file.unwrap().path();
            let story: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let mut decoder = Decoder::new();
            for case in story["cases"].as_array().unwrap() {
                let size = case["header_table_size"].as_u64().unwrap_or(4096) as usize;
                if case["seqno"] == 0 {
                    decoder = Decoder::with_table_size(size.max(4096));
                }
                let got = decode(&mut decoder, &hex(case["wire"].as_str().unwrap())).unwrap();
                assert_eq!(got, headers(case), "{} {}", path.display(), case["seqno"]);
                blocks += 1;
            }
            stories += 1;
        }
    }
    assert!(stories > 60 && blocks > 1000, "{stories} stories, {blocks} blocks");
}

fn headers(case: &serde_json::Value) -> Vec<(String, String)> {
    let one = |header: &serde_json::Value| {
        let (name, value) = header.as_object().unwrap().iter().next().unwrap();
        (name.clone(), value.as_str().unwrap().to_owned())
    };
    case["headers"].as_array().unwrap().iter().map(one).collect()
}

/// The stories as input for the encoder, its output read by our decoder.
#[test]
fn stories_come_back() {
    let Some(fixtures) = fixtures() else { return };
    let (mut plain, mut coded) = (0, 0);
    for file in std::fs::read_dir(fixtures.join("hpack/raw-data")).unwrap() {
        let story: serde_json::Value =
            serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        for case in story["cases"].as_array().unwrap() {
            let expect = headers(case);
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in &expect {
                encoder.field(&mut block, name, value.as_bytes());
                plain += name.len() + value.len();
            }
            coded += block.len();
            assert_eq!(decode(&mut decoder, &block).unwrap(), expect);
        }
    }
    assert!(coded * 2 < plain, "{coded} of {plain} bytes");
}

proptest! {
    #[test]
    fn encoded_fields_come_back(
        blocks in prop::collection::vec(
            (prop::option::of(0usize..6000), prop::collection::vec(("[a-z-]{1,12}", ".{0,40}"), 0..12)),
            1..12,
        )
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        for (size, fields) in blocks {
            if let Some(size) = size {
                encoder.set_table_size(size);
            }
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in &fields {
                encoder.field(&mut block, name, value.as_bytes());
            }
            prop_assert_eq!(decode(&mut decoder, &block).unwrap(), fields);
        }
    }

    #[test]
    fn any_bytes_decode_or_fail(block in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut fields = Fields::new(1000);
        let _ = Decoder::new().decode(&block, &mut fields);
        prop_assert!(fields.buffer.len() <= 1000 + 400);
    }
}
