//! Tables for people.
//!
//! Invariant: names are never cut or broken, so that they can be copied; the last column takes what room is left, and
//! is wrapped or cut to it. Wide characters take two columns.
//! Not known here: what stands in the cells.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr as _;

use super::paint::Paint;
use super::safe::{clip, safe};

/// In less room than this, broken lines read worse than long ones.
const LAST_COLUMNS_MIN: usize = 24;
/// Longest last cell where nobody knows the room, in columns.
const CUT_COLUMNS_MAX: usize = 60;
/// Blanks between two columns.
const GAP: usize = 2;

/// The columns of a list, and what stands in them. The last cell of a row may have several lines.
#[derive(Debug)]
pub(crate) struct Columns<T, const N: usize> {
    pub(crate) head: [&'static str; N],
    pub(crate) row: fn(&T) -> [String; N],
    pub(crate) last: Last,
    /// What to say where there are no rows.
    pub(crate) none: &'static str,
}

/// What becomes of a last cell for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// It goes on below.
    Wrapped,
    /// It ends; there is another command that shows it whole.
    Cut,
}

/// The table as lines, for a terminal of `width` columns.
pub(super) fn render<const N: usize>(
    head: [&str; N],
    last: Last,
    rows: &[[String; N]],
    width: Option<u16>,
    paint: Paint,
) -> String {
    let room = width.and_then(|width| room_for_last(head, rows, usize::from(width)));
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.map(str::to_uppercase));
    if let (Some(width), Some(_)) = (width, room) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        let cells = row.iter().enumerate().map(|(n, cell)| match last {
            _ if n + 1 < N => safe(cell).into_owned(),
            Last::Cut => clip(&safe(cell), room.unwrap_or(CUT_COLUMNS_MAX)).into_owned(),
            Last::Wrapped => cell.split('\n').map(safe).collect::<Vec<_>>().join("\n"),
        });
        table.add_row(cells);
    }
    for column in table.column_iter_mut().take(N - 1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let text = table.to_string();
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    let lines = lines.enumerate().map(|(n, line)| if n == 0 { paint.bold(line) } else { line.to_owned() } + "\n");
    lines.collect()
}

/// How many columns the others leave to the last one; `None` where it is to have all it needs.
fn room_for_last<const N: usize>(head: [&str; N], rows: &[[String; N]], width: usize) -> Option<usize> {
    let widest = |n: usize| {
        let cells = rows.iter().map(|row| safe(&row[n]).width());
        cells.chain([head[n].width()]).max().unwrap_or_default()
    };
    let others: usize = (0..N - 1).map(|n| widest(n) + GAP).sum();
    // One column at the right edge stays free: some terminals wrap when it is written.
    let room = width.checked_sub(others + GAP)?;
    (room >= LAST_COLUMNS_MIN).then_some(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(last: Last, rows: &[[&str; 2]], width: Option<u16>) -> Vec<String> {
        let rows: Vec<_> = rows.iter().map(|row| row.map(str::to_owned)).collect();
        let text = render(["key", "value"], last, &rows, width, Paint::none());
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_has_a_head_and_a_line_for_each_row() {
        assert_eq!(lines(Last::Wrapped, &[["a", "1"]], None), ["KEY  VALUE", "a    1"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let lines = lines(Last::Wrapped, &[["需求", "x"], ["abcd", "y"]], Some(80));
        assert_eq!(lines, ["KEY   VALUE", "需求  x", "abcd  y"]);
    }

    #[test]
    fn a_long_last_cell_is_wrapped_or_cut_to_the_room_there_is() {
        let words = "word ".repeat(20);
        let wrapped = lines(Last::Wrapped, &[["key", &words]], Some(40));
        assert!(wrapped.len() > 2 && wrapped.iter().all(|line| line.width() < 40), "{wrapped:?}");
        assert_eq!(wrapped.join(" ").matches("word").count(), 20);
        let cut = lines(Last::Cut, &[["key", &words]], Some(40));
        assert!(cut.len() == 2 && cut[1].ends_with('…') && cut[1].width() < 40, "{cut:?}");
    }

    #[test]
    fn a_name_is_never_broken_however_little_room_there_is() {
        let name = "x".repeat(100);
        for last in [Last::Wrapped, Last::Cut] {
            assert!(lines(last, &[[&name, "1"]], Some(40))[1].contains(&name));
        }
    }

    #[test]
    fn a_hostile_cell_can_forge_neither_rows_nor_colours() {
        let lines = lines(Last::Wrapped, &[["a\nb", "\u{1b}[2J\nc"]], None);
        assert_eq!(lines, ["KEY   VALUE", "a\\nb  \\u{1b}[2J", "      c"]);
    }
}
