//! Values that this program makes up when it writes a log for another agent: no vendor writes them.

/// The text of the result that a conversion writes for a call without a result.
pub(super) const NO_RESULT: &str = "[No result of this tool call was recorded.]";

/// Whether an id has the form of a made-up item id: a UUID of version 4 whose last group is a small number, or a small
/// number after the top bit. A random UUID has this form once in 268 million times.
pub(super) fn is_made_up_id(id: &str) -> bool {
    let groups: Vec<&str> = id.split('-').collect();
    let [first, second, third, fourth, last] = groups[..] else { return false };
    let is_hex = |group: &str, length| {
        group.len() == length && group.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_uuid =
        is_hex(first, 8) && is_hex(second, 4) && is_hex(third, 4) && is_hex(fourth, 4) && is_hex(last, 12);
    let is_small = last.starts_with("000000") || last.starts_with("800000");
    // A UUID of equal digits, such as `00000000-0000-4000-8000-000000000001`, is a person's example. A made-up id has the
    // digits of a hash.
    let is_varied = |group: &str| group.bytes().any(|byte| Some(&byte) != group.as_bytes().first());
    let has_seed = is_varied(second) || is_varied(third.get(1..).unwrap_or_default());
    is_uuid && third.starts_with('4') && fourth.starts_with('8') && is_small && has_seed
}

#[cfg(test)]
mod tests {
    use super::is_made_up_id;

    #[test]
    fn only_ids_with_our_seed_and_a_small_number_are_made_up() {
        for (id, made_up) in [
            ("7c3d2a10-9f4e-4b21-8c0d-000000000007", true),
            ("7c3d2a10-9f4e-4b21-8c0d-800000000001", true),
            ("7c3d2a10-9f4e-4b21-8c0d-5f2a9b1c3d4e", false),
            ("7c3d2a10-9f4e-7b21-8c0d-000000000007", false),
            ("00000000-0000-4000-8000-000000000001", false),
            ("00000001-aaaa-4bbb-8ccc-000000000001", false),
            ("call_7", false),
            ("", false),
        ] {
            assert_eq!(is_made_up_id(id), made_up, "{id}");
        }
    }
}
