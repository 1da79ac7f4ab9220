//! The places in which the clients of all vendors send their keys. A gateway has one set of keys for all of its endpoints, so
//! a key counts in each place at each endpoint.

use std::borrow::Cow;

use http::{HeaderMap, header};

use crate::telemetry::percent_decoded;

/// The headers that hold nothing but a key: those of Anthropic, Google and Azure.
const PLAIN: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];

/// The keys that a request holds. A client may send a dummy key beside the key of its user.
pub(crate) fn given<'r>(headers: &'r HeaderMap, query: &'r str) -> impl Iterator<Item = Cow<'r, str>> {
    let text = move |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let plain = PLAIN.into_iter().filter_map(text);
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
    let in_query = in_query.map(|key| Cow::Owned(percent_decoded(key)));
    bearer.into_iter().chain(plain).map(Cow::Borrowed).chain(in_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_key_is_read() {
        for (name, value, query) in [
            ("authorization", "Bearer k+/=", ""),
            ("authorization", "bearer  k+/= ", ""),
            ("x-api-key", "k+/=", ""),
            ("x-goog-api-key", "k+/=", "alt=sse"),
            ("api-key", "k+/=", ""),
            ("authorization", "Basic x", "alt=sse&key=k%2B%2f%3D"),
            ("authorization", "Bearer other", "key=k+/="),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect(value));
            assert!(given(&headers, query).any(|key| key == "k+/="), "{name}: {value} {query}");
        }
        let none = HeaderMap::new();
        assert_eq!(given(&none, "monkey=k&alt=sse").count(), 0);
    }
}
