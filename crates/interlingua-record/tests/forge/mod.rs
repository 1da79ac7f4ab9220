//! Takes signature files apart and joins them again with changes, as a forger would.

#![allow(dead_code, reason = "each test file uses some of these helpers")]

use interlingua_record::signed::CborItem;

/// A map as the list of its members.
pub(crate) type Members = Vec<(CborItem<'static>, CborItem<'static>)>;

/// The parts of a COSE_Sign1.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) protected: CborItem<'static>,
    pub(crate) unprotected: Members,
    pub(crate) payload: CborItem<'static>,
    pub(crate) signature: CborItem<'static>,
}

/// A copy that borrows nothing.
pub(crate) fn owned(item: &CborItem<'_>) -> CborItem<'static> {
    match item {
        CborItem::Uint(value) => CborItem::Uint(*value),
        CborItem::Nint(value) => CborItem::Nint(*value),
        CborItem::Bytes(bytes) => CborItem::bytes(bytes.to_vec()),
        CborItem::Text(text) => CborItem::text(text.to_string()),
        CborItem::Array(items) => CborItem::Array(items.iter().map(owned).collect()),
        CborItem::Map(members) => {
            CborItem::Map(members.iter().map(|(key, value)| (owned(key), owned(value))).collect())
        }
        CborItem::Tag(tag, content) => CborItem::Tag(*tag, Box::new(owned(content))),
        CborItem::Bool(value) => CborItem::Bool(*value),
        CborItem::Null => CborItem::Null,
        CborItem::Float(bits) => CborItem::Float(*bits),
    }
}

impl Parts {
    pub(crate) fn of(file: &[u8]) -> Self {
        let CborItem::Tag(18, content) = owned(&CborItem::decode(file).unwrap()) else { panic!("no tag 18") };
        let CborItem::Array(parts) = *content else { panic!("no array") };
        let [protected, unprotected, payload, signature] = <[CborItem<'static>; 4]>::try_from(parts).unwrap();
        let CborItem::Map(unprotected) = unprotected else { panic!("no map") };
        Self { protected, unprotected, payload, signature }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { protected, unprotected, payload, signature } = self.clone();
        let parts = vec![protected, CborItem::Map(unprotected), payload, signature];
        CborItem::Tag(18, Box::new(CborItem::Array(parts))).encode()
    }

    /// The tree head in the unprotected header.
    pub(crate) fn head(&self) -> Self {
        Self::of(member_named(&self.unprotected, "tree-head").as_bytes().unwrap())
    }

    pub(crate) fn with_head(mut self, change: impl FnOnce(&mut Parts)) -> Vec<u8> {
        let mut head = self.head();
        change(&mut head);
        replace_member(&mut self.unprotected, "tree-head", CborItem::bytes(head.encode()));
        self.encode()
    }

    pub(crate) fn with_metadata(mut self, change: impl FnOnce(&mut Members)) -> Vec<u8> {
        for (label, value) in &mut self.unprotected {
            if *label == CborItem::int(100)
                && let CborItem::Map(metadata) = value
            {
                change(metadata);
                return self.encode();
            }
        }
        panic!("no metadata")
    }

    pub(crate) fn without(mut self, name: &str) -> Vec<u8> {
        self.unprotected.retain(|(label, _)| label.as_text() != Some(name));
        self.encode()
    }
}

pub(crate) fn member_named(members: &Members, name: &str) -> CborItem<'static> {
    members.iter().find(|(key, _)| key.as_text() == Some(name)).unwrap().1.clone()
}

pub(crate) fn replace_member(members: &mut Members, name: &str, value: CborItem<'static>) {
    members.retain(|(key, _)| key.as_text() != Some(name));
    members.push((CborItem::text(name.to_owned()), value));
}
