//! Tables for people.
//!
//! Invariant: names are never cut or broken, so that they can be copied; the last column takes what room is left, and
//! is wrapped or cut to it. Wide characters take two columns.
//! Not known here: what stands in the cells.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr as _;

use super::paint::Paint;
use super::safe::{clip, safe};

/// A last column that needs more than there is gets at least this much beside the others, or stands below.
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
    /// Nothing: it is as short as the others.
    Short,
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
    let width = if last == Last::Short { None } else { width };
    let Some(width) = width.map(usize::from) else { return beside(head, last, rows, None, paint) };
    let room = room_for_last(head, rows, width);
    let wanted = rows.iter().map(|row| safe(&row[N - 1]).width()).max().unwrap_or_default().max(head[N - 1].width());
    if room.is_some_and(|room| room >= wanted.min(LAST_COLUMNS_MIN)) {
        beside(head, last, rows, room.map(|room| (width, room)), paint)
    } else {
        below(head, last, rows, width, paint)
    }
}

/// With the last column where it belongs; `room` is how wide the terminal is, and how much of it that column has.
fn beside<const N: usize>(
    head: [&str; N],
    last: Last,
    rows: &[[String; N]],
    room: Option<(usize, usize)>,
    paint: Paint,
) -> String {
    let mut table = table(&head);
    if let Some((width, _)) = room {
        let width = u16::try_from(width).unwrap_or(u16::MAX);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        let columns_max = room.map_or(CUT_COLUMNS_MAX, |(_, room)| room);
        let cells = row.iter().enumerate().map(|(n, cell)| match last {
            _ if n + 1 < N => safe(cell).into_owned(),
            Last::Cut => clip(&safe(cell), columns_max).into_owned(),
            Last::Short | Last::Wrapped => cell.split('\n').map(safe).collect::<Vec<_>>().join("\n"),
        });
        table.add_row(cells);
    }
    for column in table.column_iter_mut().take(N - 1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let lines = lines_of(&table, paint);
    lines.concat()
}

/// With the last cell of each row below it, where there is no room beside it.
fn below<const N: usize>(head: [&str; N], last: Last, rows: &[[String; N]], width: usize, paint: Paint) -> String {
    let mut table = table(&head[..N - 1]);
    for row in rows {
        table.add_row(row[..N - 1].iter().map(|cell| safe(cell)));
    }
    let mut lines = lines_of(&table, paint).into_iter();
    let mut text = lines.next().unwrap_or_default();
    for (line, row) in lines.zip(rows) {
        text += &line;
        for part in row[N - 1].split('\n').filter(|part| !part.is_empty()) {
            let part = safe(part);
            let shown = if last == Last::Cut { clip(&part, width.saturating_sub(2 * GAP)) } else { part };
            text += &format!("{:GAP$}{shown}\n", "");
        }
    }
    text
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.iter().map(|name| name.to_uppercase()));
    table
}

/// The lines, each with its end, the head painted.
fn lines_of(table: &Table, paint: Paint) -> Vec<String> {
    let text = table.to_string();
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.enumerate().map(|(n, line)| if n == 0 { paint.bold(line) } else { line.to_owned() } + "\n").collect()
}

/// How many columns the others leave to the last one, if any.
fn room_for_last<const N: usize>(head: [&str; N], rows: &[[String; N]], width: usize) -> Option<usize> {
    let widest = |n: usize| {
        let cells = rows.iter().map(|row| safe(&row[n]).width());
        cells.chain([head[n].width()]).max().unwrap_or_default()
    };
    let others: usize = (0..N - 1).map(|n| widest(n) + GAP).sum();
    // One column at the right edge stays free: some terminals wrap when it is written.
    width.checked_sub(others + GAP)
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
    fn a_name_is_never_broken_and_what_has_no_room_beside_it_stands_below() {
        let name = "x".repeat(100);
        let value = "word ".repeat(20);
        for last in [Last::Wrapped, Last::Cut] {
            let lines = lines(last, &[[&name, &value], ["y", ""]], Some(40));
            assert_eq!((lines[0].as_str(), &lines[1], lines[3].as_str()), ("KEY", &name, "y"));
            assert!(lines[2].starts_with("  word word") && lines.len() == 4, "{lines:?}");
        }
    }

    #[test]
    fn a_hostile_cell_can_forge_neither_rows_nor_colours() {
        let lines = lines(Last::Wrapped, &[["a\nb", "\u{1b}[2J\nc"]], None);
        assert_eq!(lines, ["KEY   VALUE", "a\\nb  \\u{1b}[2J", "      c"]);
    }
}
