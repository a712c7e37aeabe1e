//! What is written reads back, and nothing that is read can make the reader fail.

use proptest::prelude::*;

use super::{
    frame::{self, Block, Frames, Identity, Kind},
    record::{Record, RecordKind},
    segment::SegmentHeader,
    snapshot_file::read_snapshot,
};
use crate::disk::BLOCK;

fn identity(sequence: u64) -> Identity {
    Identity { kind: Kind::Records, tag: 7, sequence, chain: 9 }
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut frames = Frames::default();
    frames.reset(frame::blocks(payload.len()));
    frames.push(identity(5), payload);
    assert_eq!(frames.bytes().as_ptr().addr() % BLOCK, 0);
    frames.bytes().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_round_trip(payload in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        let region = framed(&payload);
        let mut read = Vec::new();
        let batch = frame::read(&region, 0, identity(5), &mut read).unwrap();
        prop_assert_eq!(&read, &payload);
        prop_assert_eq!(batch.blocks * BLOCK, region.len());
        // Another one is expected, or it is not all there.
        prop_assert_eq!(frame::read(&region, 0, identity(6), &mut read), None);
        prop_assert_eq!(frame::read(&region[..region.len() - 1], 0, identity(5), &mut read), None);
    }

    #[test]
    fn a_flipped_bit_is_damage_and_a_missing_sector_is_not(
        payload in proptest::collection::vec(1..=u8::MAX, 4000..4032),
        bit in 0..BLOCK * 8,
        sector in 0..BLOCK / frame::SECTOR,
    ) {
        let mut region = framed(&payload);
        region[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(frame::examine(&region), Block::Damaged);
        region[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(matches!(frame::examine(&region), Block::Good(_)));
        region[sector * frame::SECTOR..(sector + 1) * frame::SECTOR].fill(0);
        prop_assert!(matches!(frame::examine(&region), Block::Torn(_)));
    }

    #[test]
    fn records_round_trip(
        namespace in "[a-z]{0,10}",
        name in "[a-z]{1,20}",
        revision in any::<u64>(),
        expires in any::<u64>(),
        json in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let namespaced = format!("{namespace}/{name}");
        let key = if namespace.is_empty() { &name } else { &namespaced };
        let record = Record {
            kind: RecordKind::Put,
            resource: "pods",
            key,
            namespace_len: namespace.len() as u16,
            revision,
            expires,
            splice: (0, json.len() as u32 / 2),
            json: &json,
        };
        let mut payload = Vec::new();
        record.encode(&mut payload);
        prop_assert_eq!(payload.len(), super::record::size("pods", key, json.len()));
        Record::end(3).encode(&mut payload);
        let mut rest = payload.as_slice();
        prop_assert_eq!(Record::decode(&mut rest), Some(record));
        prop_assert_eq!(Record::decode(&mut rest), Some(Record::end(3)));
        prop_assert!(rest.is_empty());
        // Cut anywhere, it is no record.
        for len in 0..payload.len() - super::record::size("", "", 0) {
            prop_assert_eq!(Record::decode(&mut &payload[..len]), None);
        }
    }

    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..3 * BLOCK)) {
        let mut rest = bytes.as_slice();
        while Record::decode(&mut rest).is_some() {}
        prop_assert_eq!(SegmentHeader::read(&bytes, 1), None);
        prop_assert!(!matches!(read_snapshot(&mut bytes.as_slice(), None, |_| Ok(())), Ok(Ok(_))));
    }

    #[test]
    fn any_payload_can_be_read(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        // With checksums that are right.
        let mut region = framed(&payload);
        region[36] = 9;
        prop_assert_eq!(frame::examine(&region), Block::Damaged);
        let mut rest = payload.as_slice();
        while let Some(record) = Record::decode(&mut rest) {
            prop_assert!(record.splice.0 <= record.splice.1);
            prop_assert!(record.json.is_empty() || record.splice.1 as usize <= record.json.len());
        }
    }
}
