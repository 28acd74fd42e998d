//! A JSON object that carries its own checksum: `{"crc":"9a0b1c2d",…}`, where `crc` is the CRC-32 of everything behind
//! it. For every file that is read back and believed: a record of the journal, the snapshot, the supervisor's exits.

use serde::Serialize;

const PREFIX: &[u8] = b"{\"crc\":\"";
const DIGITS: usize = 8;
/// `{"crc":"` + 8 digits + `",`
const BODY_AT: usize = PREFIX.len() + DIGITS + 2;

/// Appends an object with its checksum to `out`, without a line feed.
///
/// # Errors
/// When the body cannot be written as JSON, which would be a bug.
pub fn encode(out: &mut Vec<u8>, body: &impl Serialize) -> serde_json::Result<()> {
    let body_at = begin(out);
    serde_json::to_writer(&mut *out, body)?;
    // The body's own opening brace goes: the first member is the checksum.
    out.remove(body_at);
    finish(out, body_at);
    Ok(())
}

/// Writes an object of members that are text already, the closing brace behind them included.
pub fn encode_members(out: &mut Vec<u8>, members: &[&str]) {
    let body_at = begin(out);
    members.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    finish(out, body_at);
}

fn begin(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(PREFIX);
    out.extend_from_slice(b"00000000\",");
    out.len()
}

fn finish(out: &mut [u8], body_at: usize) {
    let crc = digits(crc32fast::hash(&out[body_at..]));
    out[body_at - BODY_AT + PREFIX.len()..][..DIGITS].copy_from_slice(&crc);
}

/// The text behind the checksum of an object: its other members, and its closing brace.
///
/// # Errors
///
/// As [`verify`].
pub fn members(line: &[u8]) -> Result<&[u8], &'static str> {
    verify(line)?;
    Ok(&line[BODY_AT..])
}

/// Whether a line is such an object and its checksum is right; the error says what is wrong with it.
///
/// # Errors
/// In words, to be put behind the name of a place.
pub fn verify(line: &[u8]) -> Result<(), &'static str> {
    if line.len() < BODY_AT || !line.starts_with(PREFIX) || &line[BODY_AT - 2..BODY_AT] != b"\"," {
        return Err("not a record");
    }
    // Digit by digit: a checksum that only means the same (in capitals, say) was not written by us.
    if line[PREFIX.len()..][..DIGITS] != digits(crc32fast::hash(&line[BODY_AT..])) {
        return Err("its checksum does not match");
    }
    Ok(())
}

fn digits(crc: u32) -> [u8; DIGITS] {
    let mut text = [0; DIGITS];
    for (place, digit) in text.iter_mut().enumerate() {
        let nibble = (crc >> (28 - 4 * place)) & 0xf;
        *digit = b"0123456789abcdef"[nibble as usize];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_is_taken_for_the_object() {
        let mut line = Vec::new();
        encode(&mut line, &serde_json::json!({"one": 1, "two": "zwei"})).unwrap();
        assert!(verify(&line).is_ok());
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["two"], "zwei");
        for bit in 0..line.len() * 8 {
            let mut flipped = line.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&flipped).is_err(), "bit {bit}");
        }
        for cut in 0..line.len() {
            assert!(verify(&line[..cut]).is_err(), "cut at {cut}");
        }
    }
}
