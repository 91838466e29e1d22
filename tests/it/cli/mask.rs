//! What differs from run to run, replaced by `…`: times, ids, hashes, secrets, time spans, ports.
//!
//! **Invariant**: what is masked fits the text it was made of; masked again it is the same.

const ANYTHING: &str = "…";

/// The lines of `said`.
pub(super) fn masked(said: &str) -> Vec<String> {
    said.lines().map(|line| line_of(line.trim_end())).collect()
}

fn line_of(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let begins_here = !before.is_alphanumeric() || ends_with_colour(&text);
        match begins_here.then(|| volatile(&text, rest)).flatten() {
            Some(length) => {
                text.push_str(ANYTHING);
                before = rest[..length].chars().next_back().unwrap_or(' ');
                rest = &rest[length..];
            }
            None => {
                text.push(c);
                before = c;
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    text
}

/// How much of the beginning of `rest`, after `done`, differs from run to run.
fn volatile(done: &str, rest: &str) -> Option<usize> {
    const FORMS: [&str; 6] = [
        "dddd-dd-ddTdd:dd:dd.ddddddZ",
        "dddd-dd-ddTdd:dd:dd.dddZ",
        "dd:dd:dd.ddd",
        "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh",
        "dddd-dd-dd",
        "dddddddddddddddd",
    ];
    let by_form = FORMS.iter().find(|form| fits(form, rest)).map(|form| form.len());
    let hash = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    let by_hash = [16, 32, 64].contains(&hash).then_some(hash);
    let secret = rest.strip_prefix("kb_").map(|secret| 3 + secret.bytes().take_while(u8::is_ascii_hexdigit).count());
    let clock = done.ends_with("\"board_time\":").then(|| digits_of(rest)).filter(|digits| *digits > 0);
    let span = ["for ", "\"remaining_ms\": ", "\"remaining_ms\":", " --wait-ms "];
    let is_span = span.iter().any(|word| done.ends_with(word));
    let digits = digits_of(rest);
    let ends = [" more", "\n", ","].iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let by_span = (is_span && digits > 0).then(|| if done.ends_with("for ") { ends } else { digits });
    let port = done.ends_with("127.0.0.1:") && digits > 3 && !rest.starts_with("7411");
    by_hash.or(by_form).or(secret).or(by_span).or(port.then_some(digits)).or(clock)
}

fn digits_of(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Whether the last of `text` is `␛[…m`.
fn ends_with_colour(text: &str) -> bool {
    let Some(at) = text.rfind("␛[") else { return false };
    let code = &text[at + "␛[".len()..];
    code.strip_suffix('m').is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

fn fits(form: &str, text: &str) -> bool {
    let one = |(form, byte): (u8, u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b'h' => byte.is_ascii_hexdigit(),
        other => byte == other,
    };
    text.len() >= form.len() && form.bytes().zip(text.bytes()).all(one)
}

#[test]
fn what_differs_is_masked_and_what_is_told_is_kept() {
    for (line, wanted) in [
        ("now: version 2 at 2026-11-30T19:30:20.117Z", "now: version 2 at …"),
        ("19:30:20.117     1  ra       created working/plan v1", "…     1  ra       created working/plan v1"),
        ("held by ra for 9 min 59 s more, token 4", "held by ra for … more, token 4"),
        ("ra holds it for 599882 ms more", "ra holds it for … more"),
        ("position   0e63995c17dc4142.6", "position   ….6"),
        ("  \"remaining_ms\": 59994,", "  \"remaining_ms\": …,"),
        ("\"etag\": \"\\\"1-0e63995c17dc4142\\\"\"", "\"etag\": \"\\\"1-…\\\"\""),
        ("listening on http://127.0.0.1:40061", "listening on http://127.0.0.1:…"),
        ("http://127.0.0.1:7411 version 12 deadbeef", "http://127.0.0.1:7411 version 12 deadbeef"),
        ("  kb_00ff00ff", "  …"),
        ("␛[2m19:30:20.117␛[0m x", "␛[2m…␛[0m x"),
        ("\"hash\":\"00000000000000000000000000000000\"", "\"hash\":\"…\""),
        ("\"board_time\":1796069580851,", "\"board_time\":…,"),
    ] {
        assert_eq!(masked(line), [wanted]);
        assert_eq!(masked(wanted), [wanted]);
    }
}
