//! The table, in Markdown that is also fit for a terminal: columns are as wide as their widest cell.

use crate::figure::Figure;

const HEAD: [&str; 7] = ["goal", "what", "figure", "must", "aim", "reached", "min – max"];

pub(crate) fn table(figures: &[Figure]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(figures.iter().map(row));
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default());
    let mut lines: Vec<_> = rows.iter().map(|row| line(row, widths)).collect();
    lines.insert(1, format!("|{}", widths.map(|width| format!(" {} |", "-".repeat(width))).concat()));
    let beside = figures.iter().filter(|figure| !figure.beside.is_empty());
    lines.push(String::new());
    lines.extend(beside.map(|figure| format!("- {} {}: {}", figure.goal, figure.what, figure.beside)));
    lines.join("\n") + "\n"
}

fn row(figure: &Figure) -> [String; 7] {
    let shown = |value| figure.unit.shown(value);
    let bound = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), shown);
    let spread = match figure.value.samples() {
        [_] => "–".to_owned(),
        _ => format!("{} – {}", shown(figure.value.min()), shown(figure.value.max())),
    };
    [
        figure.goal.to_owned(),
        figure.what.clone(),
        shown(figure.value.median()),
        bound(figure.bounds.map(|bounds| bounds.must)),
        bound(figure.bounds.map(|bounds| bounds.aim)),
        figure.verdict().map_or_else(|| "–".to_owned(), |verdict| verdict.to_string()),
        spread,
    ]
}

fn line(row: &[String; 7], widths: [usize; 7]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:<width$} |"));
    format!("|{}", cells.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Bounds, Unit};
    use crate::stats::Sampled;

    fn figure(samples: &[f64], bounds: Option<Bounds>) -> Figure {
        Figure {
            goal: "4",
            what: "durable".to_owned(),
            unit: Unit::Times,
            value: Sampled::of(samples.iter().copied()).expect("samples"),
            bounds,
            beside: String::new(),
        }
    }

    #[test]
    fn a_row_says_what_was_reached_and_how_far_slices_lie_apart() {
        let table = table(&[figure(&[0.4, 0.6, 0.5], Some(Bounds::at_least(0.5, 0.65))), figure(&[0.1], None)]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "| goal | what    | figure | must  | aim   | reached | min – max     |");
        assert_eq!(lines[1], "| ---- | ------- | ------ | ----- | ----- | ------- | ------------- |");
        assert_eq!(lines[2], "| 4    | durable | 0.50x  | 0.50x | 0.65x | must    | 0.40x – 0.60x |");
        assert_eq!(lines[3], "| 4    | durable | 0.10x  | –     | –     | –       | –             |");
    }

    #[test]
    fn what_stands_beside_a_figure_follows_the_table() {
        let beside = Figure { beside: "7 slices".to_owned(), ..figure(&[1.0], None) };
        assert!(table(&[beside]).ends_with("\n\n- 4 durable: 7 slices\n"));
    }
}
