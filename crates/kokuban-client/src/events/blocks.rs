//! The bytes of a stream as blocks: `sse_stream` behind a bound on the size of one block.
//!
//! Invariant: however the bytes are cut into chunks, the same blocks come out; a block without data comes out too,
//! because its id alone moves the position (a browser's EventSource would hold it back); what waits in memory is at
//! most one block.
//! Not known here: what the blocks mean, and the connection they come from.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use sse_stream::SseByteStream;

/// One block: a value of 256 KiB for each of the 128 writes of a transaction would fit.
pub(crate) const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Blocks from chunks of bytes.
pub(crate) type Blocks<S> = SseByteStream<Bounded<S>>;

/// Reads `chunks` as blocks of at most `block_bytes_max` bytes; a larger one is an error.
pub(crate) fn blocks<S>(chunks: S, block_bytes_max: usize) -> Blocks<S>
where
    S: Stream<Item = io::Result<Bytes>> + Unpin,
{
    SseByteStream::new(Bounded { chunks, meter: BlockMeter::default(), block_bytes_max })
}

/// Chunks that end with an error as soon as a block among them grows too large.
#[derive(Debug)]
pub(crate) struct Bounded<S> {
    chunks: S,
    meter: BlockMeter,
    block_bytes_max: usize,
}

impl<S: Stream<Item = io::Result<Bytes>> + Unpin> Stream for Bounded<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(chunk) = ready!(Pin::new(&mut this.chunks).poll_next(context)?) else { return Poll::Ready(None) };
        let size = this.meter.feed(&chunk);
        if size > this.block_bytes_max {
            let text = format!("a block of the stream exceeds {} bytes", this.block_bytes_max);
            return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::InvalidData, text))));
        }
        Poll::Ready(Some(Ok(chunk)))
    }
}

/// Counts the bytes since the last empty line.
#[derive(Debug, Default)]
struct BlockMeter {
    open_bytes: usize,
    line_is_empty: bool,
    after_cr: bool,
}

impl BlockMeter {
    /// The size of the largest block that `chunk` ends or leaves open.
    fn feed(&mut self, chunk: &[u8]) -> usize {
        let mut largest = 0;
        for &byte in chunk {
            self.open_bytes += 1;
            largest = largest.max(self.open_bytes);
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    if self.line_is_empty {
                        self.open_bytes = 0;
                    }
                    self.line_is_empty = true;
                    self.after_cr = byte == b'\r';
                }
                _ => (self.line_is_empty, self.after_cr) = (false, false),
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::{StreamExt, stream};
    use sse_stream::Sse;

    use super::*;

    const STREAM: &str = "retry: 2500\n\nevent: hello\nid: 00000000000000ab.3\ndata: {\"epoch\":\"00000000000000ab\"}\n\n\
        :\n\nid: 00000000000000ab.4\n\nevent: commit\r\nid: 00000000000000ab.5\r\ndata: {\"by\":\"需求\"}\r\n\r\n\
        : keep\n\nid: 00000000000000ab.6\r\revent: bye\rdata: {}\r\r";

    fn read(chunks: Vec<&[u8]>, block_bytes_max: usize) -> Vec<Result<Sse, String>> {
        let owned: Vec<_> = chunks.into_iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let blocks = blocks(stream::iter(owned), block_bytes_max);
        block_on(blocks.map(|block| block.map_err(|e| e.to_string())).collect())
    }

    fn expected() -> Vec<Result<Sse, String>> {
        let id = |n: u8| format!("00000000000000ab.{n}");
        vec![
            Ok(Sse::default().retry(2500)),
            Ok(Sse::default().event("hello").id(id(3)).data("{\"epoch\":\"00000000000000ab\"}")),
            Ok(Sse::default().id(id(4))),
            Ok(Sse::default().event("commit").id(id(5)).data("{\"by\":\"需求\"}")),
            Ok(Sse::default().id(id(6))),
            Ok(Sse::default().event("bye").data("{}")),
        ]
    }

    #[test]
    fn the_same_blocks_come_out_wherever_the_bytes_are_cut_in_two() {
        let bytes = STREAM.as_bytes();
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(read(vec![first, second], 1000), expected(), "cut at {cut}");
        }
    }

    #[test]
    fn the_same_blocks_come_out_one_byte_at_a_time() {
        assert_eq!(read(STREAM.as_bytes().chunks(1).collect(), 1000), expected());
    }

    #[test]
    fn the_same_blocks_come_out_of_three_chunks_wherever_they_are_cut() {
        let bytes = STREAM.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let chunks = vec![&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(read(chunks, 1000), expected(), "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn a_block_that_is_cut_off_is_never_delivered() {
        let complete = "id: 00000000000000ab.4\n\n";
        let broken = "event: commit\nid: 00000000000000ab.5\ndata: {\"a\":1}";
        for end in 0..=broken.len() {
            let text = format!("{complete}{}", &broken[..end]);
            assert_eq!(read(vec![text.as_bytes()], 1000).len(), 1, "cut off after {end} bytes");
        }
    }

    #[test]
    fn a_block_over_the_bound_is_an_error_and_silence_is_no_block() {
        let huge = format!("data: {}\n\n", "x".repeat(200));
        let last = read(huge.as_bytes().chunks(7).collect(), 100).pop().expect("an outcome");
        assert!(last.expect_err("too large").contains("exceeds 100 bytes"));
        let silence = ":\n\n".repeat(200) + "id: 00000000000000ab.4\n\n";
        assert_eq!(
            read(silence.as_bytes().chunks(7).collect(), 100),
            vec![Ok(Sse::default().id("00000000000000ab.4"))]
        );
    }
}
