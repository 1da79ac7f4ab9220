//! An exchange as one entry of a journal: every value in a fixed order, and a checksum.

use bytes::Bytes;
use interlingua::model::Usage;

use crate::exchange::{ExchangeFacts, StoredAttempt, StoredExchange, StoredFailure};

/// The bytes before an entry: the length of the entry and its checksum.
pub(crate) const HEAD: usize = 8;

/// The longest entry: its length has 32 bits.
const LONGEST: usize = u32::MAX as usize;

/// Appends an exchange with its head to `out`. Returns whether the exchange fits in an entry; if not, `out` is unchanged.
pub(crate) fn append(exchange: &StoredExchange, out: &mut Vec<u8>) -> bool {
    let StoredExchange { facts, receipt, request, response } = exchange;
    if receipt.len() + request.len() + response.len() > LONGEST / 2 {
        return false;
    }
    let start = out.len();
    out.reserve(HEAD + exchange.weight());
    out.extend_from_slice(&[0; HEAD]);
    append_facts(facts, out);
    for body in [receipt.as_bytes(), request, response] {
        append_bytes(body, out);
    }
    let (head, entry) = out[start..].split_at_mut(HEAD);
    let Ok(length) = u32::try_from(entry.len()) else {
        out.truncate(start);
        return false;
    };
    let (length_place, sum_place) = head.split_at_mut(4);
    length_place.copy_from_slice(&length.to_le_bytes());
    sum_place.copy_from_slice(&checksum(entry).to_le_bytes());
    true
}

/// The length and the checksum of an entry, from its head.
pub(crate) fn head(head: [u8; HEAD]) -> (u32, u32) {
    let both = u64::from_le_bytes(head);
    (both as u32, (both >> 32) as u32)
}

/// The exchange in an entry; `None` if the entry is damaged.
pub(crate) fn read(entry: &Bytes, sum: u32) -> Option<StoredExchange> {
    if checksum(entry) != sum {
        return None;
    }
    let mut rest = Values(entry);
    let facts = rest.facts()?;
    let receipt = rest.text()?;
    let mut body = || Some(entry.slice_ref(rest.bytes()?));
    let (request, response) = (body()?, body()?);
    rest.0.is_empty().then_some(StoredExchange { facts, receipt, request, response })
}

fn checksum(entry: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(entry);
    sum.sum()
}

fn append_facts(facts: &ExchangeFacts, out: &mut Vec<u8>) {
    let ExchangeFacts {
        id,
        started_ms,
        duration_ms,
        client_dialect,
        path,
        client,
        conversation,
        response_id,
        previous_response,
        backend,
        backend_dialect,
        model_asked,
        model_sent,
        status,
        streamed,
        cancelled,
        failure,
        stop,
        usage,
        cost,
        losses,
        attempts,
    } = facts;
    // A query may hold a key, as Gemini's does.
    let path = path.split('?').next().unwrap_or_default();
    for text in
        [id, client_dialect, path, client, conversation, backend, backend_dialect, model_asked, model_sent]
    {
        append_bytes(text.as_bytes(), out);
    }
    let (class, message) = failure.as_ref().map(|StoredFailure { class, message }| (class, message)).unzip();
    for text in [response_id.as_ref(), previous_response.as_ref(), class, message, stop.as_ref()] {
        append_optional(text, out, |text, out| append_bytes(text.as_bytes(), out));
    }
    for number in [*started_ms, *duration_ms, *losses] {
        append_number(number, out);
    }
    // The store holds these counts of a usage.
    let Usage { input, cache_read, cache_write, output, reasoning, .. } = *usage;
    let status = Some(u64::from(*status));
    for number in [status, input, cache_read, cache_write, output, reasoning, *cost] {
        append_optional(number, out, append_number);
    }
    out.extend([u8::from(*streamed), u8::from(*cancelled)]);
    append_number(attempts.len() as u64, out);
    for StoredAttempt { backend, status, reason, duration_ms } in attempts {
        append_bytes(backend.as_bytes(), out);
        append_bytes(reason.as_bytes(), out);
        append_optional(status.map(u64::from), out, append_number);
        append_number(*duration_ms, out);
    }
}

fn append_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    append_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn append_optional<T>(value: Option<T>, out: &mut Vec<u8>, append: impl FnOnce(T, &mut Vec<u8>)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        append(value, out);
    }
}

/// The values of an entry that are not read yet.
struct Values<'e>(&'e [u8]);

impl<'e> Values<'e> {
    fn facts(&mut self) -> Option<ExchangeFacts> {
        let mut facts = ExchangeFacts {
            id: self.text()?,
            client_dialect: self.text()?,
            path: self.text()?,
            client: self.text()?,
            conversation: self.text()?,
            backend: self.text()?,
            backend_dialect: self.text()?,
            model_asked: self.text()?,
            model_sent: self.text()?,
            response_id: self.optional(Self::text)?,
            previous_response: self.optional(Self::text)?,
            ..ExchangeFacts::default()
        };
        let (class, message) = (self.optional(Self::text)?, self.optional(Self::text)?);
        facts.failure = class.map(|class| StoredFailure { class, message: message.unwrap_or_default() });
        facts.stop = self.optional(Self::text)?;
        facts.started_ms = self.number()?;
        facts.duration_ms = self.number()?;
        facts.losses = self.number()?;
        facts.status = u16::try_from(self.optional(Self::number)??).ok()?;
        facts.usage.input = self.optional(Self::number)?;
        facts.usage.cache_read = self.optional(Self::number)?;
        facts.usage.cache_write = self.optional(Self::number)?;
        facts.usage.output = self.optional(Self::number)?;
        facts.usage.reasoning = self.optional(Self::number)?;
        facts.cost = self.optional(Self::number)?;
        facts.streamed = self.flag()?;
        facts.cancelled = self.flag()?;
        for _ in 0..self.number()? {
            let (backend, reason) = (self.text()?, self.text()?);
            let status = match self.optional(Self::number)? {
                Some(status) => Some(u16::try_from(status).ok()?),
                None => None,
            };
            facts.attempts.push(StoredAttempt { backend, status, reason, duration_ms: self.number()? });
        }
        Some(facts)
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn bytes(&mut self) -> Option<&'e [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        let (flag, rest) = self.0.split_first()?;
        self.0 = rest;
        match flag {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[expect(
        clippy::option_option,
        reason = "the outer `None` is a damaged entry, the inner one a missing value"
    )]
    fn optional<T>(&mut self, value: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { value(self).map(Some) } else { Some(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> StoredExchange {
        let mut exchange = StoredExchange::begin();
        let facts = &mut exchange.facts;
        facts.path = "/v1/messages?key=secret".to_owned();
        facts.client = "ann".to_owned();
        facts.response_id = Some("r".to_owned());
        facts.status = 529;
        facts.streamed = true;
        facts.failure =
            Some(StoredFailure { class: "overloaded".to_owned(), message: "no\n\u{1f980}".to_owned() });
        facts.usage.input = Some(u64::MAX);
        facts.usage.reasoning = Some(0);
        facts.cost = Some(7);
        facts.losses = 3;
        facts.attempts = vec![
            StoredAttempt {
                backend: "a".to_owned(),
                status: None,
                reason: "refused".to_owned(),
                duration_ms: 3,
            },
            StoredAttempt { backend: "b".to_owned(), status: Some(529), ..StoredAttempt::default() },
        ];
        exchange.receipt = "{}".to_owned();
        exchange.request = Bytes::from_static(&[0, 255, 10]);
        exchange
    }

    fn parsed(bytes: &[u8]) -> Option<StoredExchange> {
        let (length, sum) = head(*bytes.first_chunk()?);
        let entry = Bytes::copy_from_slice(bytes.get(HEAD..)?);
        (entry.len() == length as usize).then(|| read(&entry, sum))?
    }

    #[test]
    fn exchanges_come_back_without_their_query() {
        let mut exchange = full();
        let mut bytes = Vec::new();
        assert!(append(&exchange, &mut bytes));
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
        exchange.facts.path = "/v1/messages".to_owned();
        assert_eq!(parsed(&bytes), Some(exchange));
        let mut bytes = Vec::new();
        assert!(append(&StoredExchange::default(), &mut bytes));
        assert_eq!(parsed(&bytes), Some(StoredExchange::default()));
    }

    #[test]
    fn each_changed_byte_is_found() {
        let mut bytes = Vec::new();
        assert!(append(&full(), &mut bytes));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(parsed(&changed), None, "{at}");
        }
        for end in 0..bytes.len() {
            assert_eq!(parsed(&bytes[..end]), None, "{end}");
        }
    }
}
