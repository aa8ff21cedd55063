//! The results for a person: one table for each measurement, then the promises.

use std::io::{Result, Write};

use crate::figures::{Better, Figure, Series, Spread};
use crate::machine::Machine;
use crate::measures::{Finding, Measure};
use crate::peers::{Absent, Role};
use crate::promise::{Promise, Verdict};

pub fn write_machine(out: &mut impl Write, machine: &Machine) -> Result<()> {
    writeln!(out, "{}, {} cores, kernel {}, load {:.2}", machine.processor, machine.cores, machine.kernel, machine.load)?;
    if machine.is_busy() {
        writeln!(out, "The machine is busy with something else: trust the ratios, not the times.")?;
    }
    Ok(())
}

pub fn write_finding(out: &mut impl Write, measure: &Measure, finding: &Finding) -> Result<()> {
    writeln!(out, "\n{}: {} ({})", measure.name, measure.about, measure.unit)?;
    let best = match measure.better {
        Better::Lower => "min",
        Better::Higher => "max",
    };
    let mut heads = vec!["", "p50", best, "p50 by round", "× floor", "zipfs ÷ it, p50"];
    if has_tail(finding) {
        heads.extend(["p99", "zipfs ÷ it, p99"]);
    }
    let mut rows = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let floor = finding.of(Role::Floor).next();
    let zipfs = finding.of(Role::Zipfs).next();
    rows.extend(finding.series.iter().map(|series| row(measure.better, series, floor, zipfs, has_tail(finding))));
    write_columns(out, &rows)?;
    write_absent(out, &finding.absent)
}

pub fn write_absent(out: &mut impl Write, absent: &[Absent]) -> Result<()> {
    for Absent { peer, reason } in absent {
        writeln!(out, "  not measured: {peer}: {reason}")?;
    }
    Ok(())
}

pub fn write_promises<'a>(out: &mut impl Write, promises: impl Iterator<Item = (&'a str, &'a Promise)>) -> Result<()> {
    let rows: Vec<Vec<String>> = promises.map(|(measure, promise)| describe(measure, promise)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\npromises (median over the rounds, lowest and highest round)")?;
    write_columns(out, &rows)
}

fn has_tail(finding: &Finding) -> bool {
    finding.series.iter().all(Series::has_tail)
}

fn row(better: Better, series: &Series, floor: Option<&Series>, zipfs: Option<&Series>, has_tail: bool) -> Vec<String> {
    let median = series.spread(Figure::Median);
    let against_floor = floor.map(|floor| number(series.over(floor, Figure::Median).median));
    // What is a part of zipfs itself is no peer of it.
    let is_peer = !matches!(series.role, Role::Zipfs | Role::ZipfsCall);
    let of_zipfs = |figure| zipfs.filter(|_| is_peer).map(|zipfs| with_range(zipfs.over(series, figure)));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let mut cells = vec![
        series.peer.clone(),
        number(median.median),
        number(series.best(better)),
        format!("{}…{}", number(median.low), number(median.high)),
        or_dash(against_floor),
        or_dash(of_zipfs(Figure::Median)),
    ];
    if has_tail {
        cells.extend([number(series.spread(Figure::P99).median), or_dash(of_zipfs(Figure::P99))]);
    }
    cells
}

fn describe(measure: &str, promise: &Promise) -> Vec<String> {
    let verdict = match promise.verdict() {
        Verdict::Holds => "holds",
        Verdict::Broken => "BROKEN",
        Verdict::NotMeasured => "not measured",
    };
    let found = promise.found.map_or_else(|| "–".to_owned(), with_range);
    let remark = if promise.is_checked { "" } else { "shown only" };
    let limit = format!("≤ {} {}", number(promise.limit), promise.unit);
    [&format!("{measure}: {}", promise.text), &limit, &found, verdict, remark].map(str::to_owned).to_vec()
}

fn with_range(spread: Spread) -> String {
    format!("{} ({}…{})", number(spread.median), number(spread.low), number(spread.high))
}

/// Three digits that count, and no more: the rest is noise.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The first column to the left, the others to the right.
fn write_columns(out: &mut impl Write, rows: &[Vec<String>]) -> Result<()> {
    let width_of = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let fill = " ".repeat(width_of(column) - cell.chars().count());
            line += &if column == 0 { format!(" {cell}{fill}") } else { format!("  {fill}{cell}") };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_letters() {
        let rows = vec![vec!["a".to_owned(), "µs".to_owned()], vec!["long".to_owned(), "10…20".to_owned()]];
        let mut out = Vec::new();
        write_columns(&mut out, &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  a        µs\n  long  10…20\n");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([1234.5, 99.94, 1.0, 0.2249].map(number), ["1234", "99.9", "1.00", "0.22"]);
    }
}
