//! The results as a picture: zipfs over each peer, one bar each, on a logarithmic scale around "as fast". Drawn from the JSON, so
//! that what is shown is what was written down.

use std::fmt::Write;

use serde_json::Value;

const WIDTH: f64 = 900.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 24.0;
const TOP: f64 = 78.0;
/// Where the scale begins and ends, left of it the names and right of it the figures.
const LEFT: f64 = 330.0;
const RIGHT: f64 = 830.0;
/// The scale goes from a thirty-second to sixteen times; what is beyond ends at the edge and says its figure all the same.
const LEAST: f64 = 1.0 / 32.0;
const MOST: f64 = 16.0;

/// Colours that are read on white and on black, and by those who tell red from green badly.
const STYLE: &str = "
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.head { font-weight: 600; }
.note { fill: #59636e; font-size: 11px; }
.grid { stroke: #d1d9e0; }
.one { stroke: #59636e; }
.better { fill: #0969da; }
.worse { fill: #bc4c00; }
.range { stroke: #59636e; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.note { fill: #9198a1; }
.grid { stroke: #3d444d; }
.one, .range { stroke: #9198a1; }
.better { fill: #4493f8; }
.worse { fill: #db6d28; }
}
";

/// A bar: how many times the peer's time zipfs takes.
struct Bar {
    peer: String,
    ratio: f64,
    low: f64,
    high: f64,
}

/// The picture, as SVG.
pub fn draw(results: &Value) -> String {
    let groups: Vec<(String, Vec<Bar>)> = list(&results["measures"])
        .iter()
        .map(|measure| (format!("{}: {}", text(&measure["name"]), text(&measure["about"])), bars(measure)))
        .filter(|(_, bars)| !bars.is_empty())
        .collect();
    let rows: usize = groups.iter().map(|(_, bars)| bars.len()).sum();
    let height = TOP + groups.len() as f64 * HEAD + rows as f64 * ROW + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>zipfs beside its peers</title>\n<style>{STYLE}</style>\n"
    );
    let machine = &results["machine"];
    let words = format!(
        "{}, {}, {} cores, Linux {}; lines show the range of single rounds",
        text(&machine["date"]),
        text(&machine["processor"]),
        machine["cores"],
        text(&machine["kernel"]),
    );
    put(&mut svg, 12.0, 24.0, "title", "start", "Time that zipfs takes, as a multiple of the peer's in the same run");
    put(&mut svg, 12.0, 42.0, "note", "start", &words);
    for (label, value) in [
        ("1/32", LEAST),
        ("1/16", 0.0625),
        ("1/8", 0.125),
        ("1/4", 0.25),
        ("1/2", 0.5),
        ("1 ×", 1.0),
        ("2", 2.0),
        ("4", 4.0),
        ("8", 8.0),
        ("16", MOST),
    ] {
        let (x, class) = (place(value), if value == 1.0 { "one" } else { "grid" });
        let _ =
            writeln!(svg, "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"/>", TOP - 6.0, height - 20.0);
        put(&mut svg, x, TOP - 10.0, "note", "middle", label);
    }
    let mut y = TOP;
    for (name, bars) in &groups {
        y += HEAD;
        put(&mut svg, 12.0, y - 6.0, "head", "start", name);
        for bar in bars {
            draw_bar(&mut svg, y, bar);
            y += ROW;
        }
    }
    svg + "</svg>\n"
}

fn draw_bar(svg: &mut String, y: f64, bar: &Bar) {
    let (from, to) = (place(1.0).min(place(bar.ratio)), place(1.0).max(place(bar.ratio)));
    let class = if bar.ratio <= 1.0 { "better" } else { "worse" };
    let _ =
        writeln!(svg, "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"11\"/>", y + 1.0, to - from);
    let (low, high, middle) = (place(bar.low), place(bar.high), y + 6.5);
    let _ = writeln!(svg, "<line class=\"range\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>");
    put(svg, LEFT - 10.0, y + 11.0, "", "end", &bar.peer);
    put(svg, RIGHT + 10.0, y + 11.0, "", "start", &format!("{} ×", figure(bar.ratio)));
}

/// Of the peers that do the same work. A floor does none of it, and a row without a ratio is zipfs itself.
fn bars(measure: &Value) -> Vec<Bar> {
    let more_is_better = measure["better"] == "higher";
    let of = |peer: &Value| {
        let ratio = &peer["p50"]["zipfs_over_it"];
        let read = |key: &str| ratio[key].as_f64().map(|value| if more_is_better { 1.0 / value } else { value });
        let (ratio, one, other) = (read("median")?, read("low")?, read("high")?);
        Some(Bar { peer: text(&peer["peer"]).to_owned(), ratio, low: one.min(other), high: one.max(other) })
    };
    let is_peer = |peer: &&Value| !["zipfs", "zipfs-call", "floor"].contains(&text(&peer["role"]));
    // Megabytes are no times.
    if measure["unit"] == "MB" { Vec::new() } else { list(&measure["peers"]).iter().filter(is_peer).filter_map(of).collect() }
}

fn place(ratio: f64) -> f64 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).log2() / (MOST / LEAST).log2();
    LEFT + share * (RIGHT - LEFT)
}

fn put(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn figure(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bar_for_each_peer_that_was_compared_and_none_for_the_floor() {
        let peer = |name: &str, role: &str, ratio: f64| json!({"peer": name, "role": role, "p50": {"zipfs_over_it": {"median": ratio, "low": ratio, "high": ratio}}});
        let results = json!({"machine": {"date": "d", "processor": "p", "cores": 2, "kernel": "k"}, "measures": [{
            "name": "read", "about": "a <file>", "better": "lower", "unit": "µs",
            "peers": [peer("zipfs", "zipfs", 1.0), peer("A & B", "native", 0.25), peer("echo", "floor", 9.0)],
        }]});
        let svg = draw(&results);
        assert_eq!(svg.matches("<rect").count(), 1, "{svg}");
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt;file&gt;") && svg.contains("0.25 ×"), "{svg}");
    }

    #[test]
    fn the_scale_has_its_middle_at_one() {
        assert_eq!((place(LEAST), place(MOST)), (LEFT, RIGHT));
        assert!(place(0.5) < place(1.0) && place(1.0) < place(2.0));
        assert_eq!(place(1e9), RIGHT);
    }
}
