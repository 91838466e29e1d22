//! Pages of lists: consistent over several requests.
//!
//! Invariant: all pages of a list show the board at one revision. A page token lives 60 s from when it was given, and
//! at most 1,000 states are kept for them; each is a persistent map that shares what did not change.
//! A token is made of digits and letters, so that it can be put into a URL as it is.
//! Not known here: what is listed.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use kokuban_core::board::Board;
use kokuban_core::ids::{BoardName, Position};
use tokio::time::Instant;

const LIVES: Duration = Duration::from_secs(60);
const STATES_MAX: usize = 1_000;

/// A name as it stands in a token.
#[must_use]
pub fn written(name: &str) -> String {
    name.bytes().fold(String::with_capacity(2 * name.len()), |mut token, byte| {
        token.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).expect("four bits")));
        token
    })
}

/// The name in a token, if it is one that [`written`] made.
#[must_use]
pub fn read(token: &str) -> Option<String> {
    let digits: Option<Vec<u8>> =
        token.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    String::from_utf8(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()).ok()
}

#[derive(Debug, Default)]
pub struct Pages {
    states: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    board: Board,
    until: Instant,
}

impl Pages {
    /// Keeps a state for the next page, of which a token is given now.
    pub fn keep(&self, board: &Board) {
        let mut states = self.states.lock().expect("no code panics while it holds the pages");
        let now = Instant::now();
        states.retain(|kept| kept.until > now && !kept.shows(board.name(), board.position()));
        if states.len() >= STATES_MAX {
            states.pop_front();
        }
        states.push_back(Kept { board: board.clone(), until: now + LIVES });
    }

    /// The state at `revision` (of the same life), if a page of it was given within the last 60 s.
    pub fn find(&self, board: &BoardName, position: Position) -> Option<Board> {
        let states = self.states.lock().expect("no code panics while it holds the pages");
        let now = Instant::now();
        let fits = |kept: &&Kept| kept.until > now && kept.shows(board, Some(position));
        states.iter().rev().find(fits).map(|kept| kept.board.clone())
    }
}

impl Kept {
    fn shows(&self, board: &BoardName, position: Option<Position>) -> bool {
        self.board.position() == position && self.board.name() == board
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::tests::stage::Stage;

    #[test]
    fn a_name_survives_a_token_and_nothing_else_is_read_as_one() {
        for name in ["a+b/学生", "k", ""] {
            let token = written(name);
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert_eq!(read(&token).as_deref(), Some(name));
        }
        for token in ["0", "zz", "é", "ff", "6 1", "+6"] {
            assert_eq!(read(token), None, "{token}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_lives_sixty_seconds_from_when_it_was_given() {
        let stage = Stage::new().await;
        stage.put("working/k", serde_json::json!({"value": 1})).await;
        let handle = stage.app.engine.board(&"b".parse().unwrap()).await.unwrap().unwrap();
        let board = handle.published().board.clone();
        let (name, position) = (board.name().clone(), board.position().unwrap());
        let pages = Pages::default();
        pages.keep(&board);
        tokio::time::advance(Duration::from_secs(50)).await;
        pages.keep(&board);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert!(pages.find(&name, position).is_some(), "the page in between gave a token of its own");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(pages.find(&name, position).is_none());
        assert_eq!(pages.states.lock().unwrap().len(), 1, "one state for all tokens of a revision");
    }
}
