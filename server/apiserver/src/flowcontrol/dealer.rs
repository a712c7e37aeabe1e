//! Shuffle sharding: which few of many queues a flow may use.
//!
//! Two flows rarely have the same hand, so one that fills its queues leaves others at least some of theirs.

/// Largest hand that a level may deal: more distinct cards than that, one 64-bit hash cannot choose.
pub const HAND_MAX: usize = 64;

/// A hand of queues.
#[derive(Clone, Copy, Debug)]
pub struct Hand {
    cards: [u32; HAND_MAX],
    len: usize,
}

impl Hand {
    /// Deals `size` different cards of a deck of `deck`, as the hash says. A hand has at least one card, and no more
    /// than the deck.
    ///
    /// The hash is read as digits in falling bases: the first chooses among all cards, the next among those that are
    /// left, and so on. A digit stands for the place among the cards that were not dealt, in order.
    pub fn deal(mut hash: u64, deck: u32, size: u32) -> Hand {
        let deck = deck.max(1);
        let len = (size.max(1).min(deck) as usize).min(HAND_MAX);
        let mut hand = Hand { cards: [0; HAND_MAX], len };
        // The cards dealt so far in rising order, to skip over.
        let mut dealt = [0_u32; HAND_MAX];
        for at in 0..len {
            let base = u64::from(deck) - at as u64;
            let mut card = (hash % base) as u32;
            hash /= base;
            let mut place = 0;
            while place < at && dealt[place] <= card {
                card += 1;
                place += 1;
            }
            dealt.copy_within(place..at, place + 1);
            dealt[place] = card;
            hand.cards[at] = card;
        }
        hand
    }

    /// The cards in the order in which they were dealt.
    pub fn cards(&self) -> &[u32] {
        &self.cards[..self.len]
    }
}

/// The hash of a flow: which schema, and what the schema tells its flows apart by.
pub fn hash_flow(flow_schema: &str, distinguisher: &str) -> u64 {
    // FNV-1a, then mixed so that all digits of the hand depend on all of the text.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in flow_schema.bytes().chain([0]).chain(distinguisher.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn every_hand_of_a_small_deck_comes_up_equally_often() {
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::new();
        for hash in 0..60 * 7 {
            let hand = Hand::deal(hash, 5, 3);
            assert_eq!(hand.cards().iter().collect::<HashSet<_>>().len(), 3, "{:?}", hand.cards());
            assert!(hand.cards().iter().all(|card| *card < 5));
            *seen.entry(hand.cards().to_vec()).or_default() += 1;
        }
        assert_eq!(seen.len(), 60, "5 × 4 × 3 ordered hands");
        assert!(seen.values().all(|count| *count == 7), "{seen:?}");
    }

    #[test]
    fn odd_sizes() {
        assert_eq!(Hand::deal(12345, 1, 1).cards(), [0]);
        assert_eq!(Hand::deal(12345, 0, 0).cards(), [0]);
        assert_eq!(Hand::deal(u64::MAX, 3, 9).cards().len(), 3);
        assert_eq!(Hand::deal(u64::MAX, 1000, 500).cards().len(), HAND_MAX);
    }

    #[test]
    fn flows_of_alike_names_have_different_hands() {
        let hands: HashSet<Vec<u32>> = (0..1000)
            .map(|user| Hand::deal(hash_flow("s", &format!("user-{user}")), 128, 6).cards().to_vec())
            .collect();
        assert_eq!(hands.len(), 1000);
        assert_ne!(hash_flow("ab", "c"), hash_flow("a", "bc"));
    }
}
