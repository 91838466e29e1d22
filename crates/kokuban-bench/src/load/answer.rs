//! Answers, read as far as their status, length and version.
//!
//! Invariant: an answer counts when all of it has come; what is not framed by a Content-Length is refused, not guessed.
//! Not known here: what was asked.

use memchr::memmem;

/// One whole answer at the beginning of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer<'b> {
    pub(crate) status: u16,
    pub(crate) body: &'b [u8],
    /// Of the head, with the blank line.
    pub(crate) head_bytes: usize,
}

impl<'b> Answer<'b> {
    /// `None` until all of it has come.
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Option<Self>, String> {
        let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = &bytes[..end + 2];
        let refuse = || format!("no answer that can be read: {}", String::from_utf8_lossy(head));
        let status = head.strip_prefix(b"HTTP/1.1 ").and_then(number).ok_or_else(refuse)?;
        let length = header(head, b"content-length: ").and_then(number).ok_or_else(refuse)?;
        let (status, length) =
            (u16::try_from(status).map_err(|_| refuse())?, usize::try_from(length).map_err(|_| refuse())?);
        let head_bytes = end + 4;
        let body = bytes.get(head_bytes..head_bytes + length);
        Ok(body.map(|body| Self { status, body, head_bytes }))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.head_bytes + self.body.len()
    }

    /// The version that a receipt or an entry names.
    pub(crate) fn version(&self) -> Option<u64> {
        // A value that had such a member itself would come later in a receipt, and in quotes otherwise.
        let at = memmem::find(self.body, b"\"version\":")?;
        number(self.body[at + b"\"version\":".len()..].trim_ascii_start())
    }

    /// For an error: what came instead of what was expected.
    pub(crate) fn shown(&self) -> String {
        const SHOWN_BYTES: usize = 400;
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN_BYTES)]);
        format!("{} {body}", self.status)
    }
}

/// What follows `name: ` in a line of its own; hyper writes names in lower case.
fn header<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let begins = memmem::find_iter(head, name).find(|at| head[..*at].ends_with(b"\r\n"))?;
    Some(&head[begins + name.len()..])
}

/// The digits at the beginning.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    let n_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&bytes[..n_digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[u8] = b"HTTP/1.1 201 Created\r\nx-content-length: 9\r\ncontent-length: 13\r\n\r\n{\"version\":7}";

    #[test]
    fn an_answer_is_read_when_all_of_it_is_there() {
        for n in 0..WHOLE.len() {
            assert_eq!(Answer::read(&WHOLE[..n]), Ok(None), "{n} bytes");
        }
        let answer = Answer::read(WHOLE).expect("sound").expect("whole");
        assert_eq!((answer.status, answer.version(), answer.bytes()), (201, Some(7), WHOLE.len()));
    }

    #[test]
    fn what_follows_is_left_alone() {
        let two = [WHOLE, WHOLE].concat();
        assert_eq!(Answer::read(&two).expect("sound").expect("whole").bytes(), WHOLE.len());
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(Answer::read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(Answer::read(b"SSH-2.0\r\n\r\n").is_err());
        assert!(Answer::read(b"HTTP/1.1 99999 OK\r\ncontent-length: 0\r\n\r\n").is_err());
    }

    #[test]
    fn a_version_of_a_yardstick_may_stand_behind_blanks() {
        let answer = Answer { status: 200, body: b"{\"version\": 12 }", head_bytes: 0 };
        assert_eq!(answer.version(), Some(12));
        assert_eq!(Answer { body: b"{}", ..answer }.version(), None);
    }
}
