//! The signed tree head: a small COSE_Sign1 over the size and the root of the tree, the session, the time and the hash of
//! the frame (the bytes of the record outside its entries).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cbor::CborItem;
use super::certificates::CertificateChain;
use super::cose::{Sign1, label};
use super::digest::Hash;
use super::keys::{PublicKey, SigningKey};
use super::leaf::EntrySalts;
use super::salts::SaltSet;
use super::verify::SignatureFault;

/// The content type of a tree head.
pub const TREE_HEAD_TYPE: &str = "application/vnd.interlingua.tree-head+cbor";

/// The form of the tree, in the payload of the head.
const FORM: &str = "rfc9162-sha256-salted";

/// The unprotected header with the salts.
pub(super) const SALTS: &str = "salts";
/// The unprotected header with the salts of entries without some parts.
pub(super) const PART_SALTS: &str = "part-salts";

/// The content of a signed tree head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// The number of entries.
    pub size: u64,
    /// The root of the tree.
    pub root: Hash,
    /// The id of the session.
    pub session: String,
    /// Seconds since 1970, by the signer's clock.
    pub time: u64,
    /// The hash of the record's bytes outside its entries.
    pub frame: Hash,
    /// The signer's name.
    pub signer: String,
}

impl TreeHead {
    pub(super) fn sign(
        &self,
        key: &SigningKey,
        chain: Option<&CertificateChain>,
    ) -> Result<Sign1<'static>, SignatureFault> {
        let text = |text: &str| CborItem::text(text.to_owned());
        let payload = CborItem::Map(vec![
            (text("form"), text(FORM)),
            (text("size"), CborItem::Uint(self.size)),
            (text("root"), CborItem::bytes(self.root.to_vec())),
            (text("session-id"), text(&self.session)),
            (text("time"), CborItem::Uint(self.time)),
            (text("frame"), CborItem::bytes(self.frame.to_vec())),
        ])
        .encode();
        let mut protected = vec![
            (CborItem::int(label::ALG), CborItem::int(key.public().algorithm().cose_number())),
            (CborItem::int(label::CONTENT_TYPE), CborItem::text(TREE_HEAD_TYPE)),
            (CborItem::int(label::KID), CborItem::bytes(key.public().kid().to_vec())),
            (CborItem::int(label::CWT_CLAIMS), claims(&self.signer, &self.session, self.time)),
        ];
        protected.extend(chain.map(CertificateChain::headers).transpose()?.into_iter().flatten());
        let mut sign1 = Sign1::sign(key, &CborItem::Map(protected), CborItem::Map(Vec::new()), &payload)?;
        sign1.payload = Some(Cow::Owned(payload));
        Ok(sign1)
    }

    /// Verifies the signature of a head, and reads its content.
    pub fn verify(sign1: &Sign1<'_>, key: &PublicKey) -> Result<Self, SignatureFault> {
        if content_type(sign1) != Some(TREE_HEAD_TYPE) {
            return Err(SignatureFault::NotAHead);
        }
        sign1.verify(key, None)?;
        let Claims { signer, session, time } = read_claims(sign1)?;
        let payload = sign1.payload.as_deref().unwrap_or_default();
        let item = CborItem::decode(payload).map_err(|error| SignatureFault::Cose(error.into()))?;
        let hash = |name| -> Option<Hash> { item.named(name)?.as_bytes()?.try_into().ok() };
        let read = || {
            let head = Self {
                size: item.named("size")?.as_uint()?,
                root: hash("root")?,
                session: item.named("session-id")?.as_text()?.to_owned(),
                time: item.named("time")?.as_uint()?,
                frame: hash("frame")?,
                signer,
            };
            let is_known = item.named("form")?.as_text()? == FORM && item.as_map()?.len() == 6;
            (is_known && head.session == session && Some(head.time) == time).then_some(head)
        };
        read().ok_or(SignatureFault::BadHead)
    }
}

/// The salts beside a head, in its unprotected header. Wrong salts lead to another root.
#[derive(Clone)]
pub(super) struct RecordSalts {
    pub(super) whole: SaltSet,
    /// The salts of entries from which parts were removed.
    pub(super) partial: BTreeMap<u64, EntrySalts>,
}

impl RecordSalts {
    pub(super) fn of(&mut self, entry: u64) -> EntrySalts {
        match (self.partial.get(&entry), self.whole.salt(entry)) {
            (Some(salts), _) => salts.clone(),
            (None, Some(salt)) => EntrySalts::Whole(salt),
            (None, None) => EntrySalts::Removed,
        }
    }

    pub(super) fn to_unprotected(&self) -> CborItem<'static> {
        let mut members = vec![(CborItem::text(SALTS), self.whole.to_cbor())];
        if !self.partial.is_empty() {
            let entry = |(index, salts): (&u64, &EntrySalts)| {
                CborItem::Array(vec![CborItem::Uint(*index), salts.to_cbor()])
            };
            members.push((
                CborItem::text(PART_SALTS),
                CborItem::Array(self.partial.iter().map(entry).collect()),
            ));
        }
        CborItem::Map(members)
    }

    pub(super) fn from_unprotected(unprotected: &CborItem<'_>) -> Option<Self> {
        let whole = SaltSet::from_cbor(unprotected.named(SALTS)?)?;
        let mut partial = BTreeMap::new();
        if let Some(list) = unprotected.named(PART_SALTS) {
            for item in list.as_array()? {
                let [index, salts] = item.as_array()? else { return None };
                let index = index.as_uint()?;
                // In ascending order, so that each entry has one list of salts.
                if partial.last_key_value().is_some_and(|(last, _)| *last >= index) {
                    return None;
                }
                partial.insert(index, EntrySalts::from_cbor(salts)?);
            }
        }
        Some(Self { whole, partial })
    }
}

pub(super) fn content_type<'s>(sign1: &'s Sign1<'_>) -> Option<&'s str> {
    sign1.protected.member(label::CONTENT_TYPE)?.as_text()
}

/// The CWT claims of a signature.
pub(super) struct Claims {
    pub(super) signer: String,
    pub(super) session: String,
    pub(super) time: Option<u64>,
}

/// The claims `iss`, `sub` and `iat`.
pub(super) fn claims(signer: &str, session: &str, time: u64) -> CborItem<'static> {
    CborItem::Map(vec![
        (CborItem::int(1), CborItem::text(signer.to_owned())),
        (CborItem::int(2), CborItem::text(session.to_owned())),
        (CborItem::int(6), CborItem::Uint(time)),
    ])
}

pub(super) fn read_claims(sign1: &Sign1<'_>) -> Result<Claims, SignatureFault> {
    let claims = sign1.protected.member(label::CWT_CLAIMS).ok_or(SignatureFault::NoClaims)?;
    let text = |number| claims.member(number).and_then(CborItem::as_text).filter(|text| !text.is_empty());
    let (Some(signer), Some(session)) = (text(1), text(2)) else { return Err(SignatureFault::NoClaims) };
    // A limit that is not evaluated must not be ignored.
    if claims.member(4).or_else(|| claims.member(5)).is_some() {
        return Err(SignatureFault::LimitedTime);
    }
    let time = match claims.member(6) {
        Some(time) => Some(time.as_uint().ok_or(SignatureFault::BadTime)?),
        None => None,
    };
    Ok(Claims { signer: signer.to_owned(), session: session.to_owned(), time })
}
