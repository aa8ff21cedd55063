//! Columns of text.

/// Aligns rows to the left, two spaces apart. The last column is left as it is.
pub fn align<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            match column + 1 == N {
                true => text += cell,
                false => text += &format!("{cell:<width$}  ", width = widths[column]),
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "b", "c"], ["äöü", "", "long"]].map(|row| row.map(str::to_owned));
        assert_eq!(align(rows.into_iter()), "a    b  c\näöü     long\n");
    }
}
