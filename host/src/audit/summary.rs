//! Lines for what may come too often for a line each: requests that are turned away before they are calls. Whoever sends a million
//! of them must neither fill the log nor go unseen, so the first of a kind is written at once and the others are counted.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::line::Line;
use super::log::Log;

/// Kinds that are counted apart. Principals are many where an issuer makes them; what is more is counted together.
/// Test: `audit::summary::tests::kinds_are_bounded`.
const MOST_KINDS: usize = 256;

/// Addresses that a line names.
const MOST_ADDRESSES: usize = 8;

/// Who they are of, where that is not known.
const NOBODY: &str = "nobody";
const OTHERS: &str = "(others)";

/// What was turned away and is not written down yet.
pub struct Summary {
    log: Arc<Log>,
    every: Duration,
    counted: Mutex<HashMap<(&'static str, Arc<str>), Counted>>,
}

struct Counted {
    number: u64,
    since: jiff::Timestamp,
    from: BTreeSet<IpAddr>,
    more: bool,
    /// When the next line of this kind may be written.
    next: Instant,
}

impl Summary {
    pub fn new(log: Arc<Log>) -> Summary {
        let every = Duration::from_millis(log.settings().summary_ms);
        Summary { log, every, counted: Mutex::default() }
    }

    /// Counts one: why it was turned away, whose it was if that is known, and where it came from.
    pub fn add(&self, outcome: &'static str, principal: Option<&Arc<str>>, from: IpAddr) {
        let line = {
            let mut counted = self.lock();
            let mut kind = (outcome, principal.cloned().unwrap_or_else(|| NOBODY.into()));
            if counted.len() >= MOST_KINDS && !counted.contains_key(&kind) {
                kind.1 = OTHERS.into();
            }
            let now = Instant::now();
            let one = counted.entry(kind.clone()).or_insert_with(|| Counted::none(now));
            one.count(from);
            (one.next <= now).then(|| one.line(&kind, now + self.every))
        };
        self.write(line);
    }

    /// Writes what has waited long enough, and forgets what does not come any more.
    pub fn tell(&self) {
        self.write_all(|one, now| one.next <= now);
    }

    /// Writes all that is counted, before the process ends.
    pub fn finish(&self) {
        self.write_all(|_, _| true);
    }

    /// Tells again and again, for as long as somebody holds the summary.
    pub fn tell_in_background(self: &Arc<Summary>) {
        let (summary, every) = (Arc::downgrade(self), self.every);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(summary) = summary.upgrade() else { return };
                let _ = tokio::task::spawn_blocking(move || summary.tell()).await;
            }
        });
    }

    fn write_all(&self, is_due: impl Fn(&Counted, Instant) -> bool) {
        let now = Instant::now();
        let lines: Vec<Line> = {
            let mut counted = self.lock();
            counted.retain(|_, one| one.number > 0 || !is_due(one, now));
            let due = counted.iter_mut().filter(|(_, one)| one.number > 0 && is_due(one, now));
            due.map(|(kind, one)| one.line(kind, now + self.every)).collect()
        };
        self.write(lines);
    }

    /// The request was refused in any case, so a log that cannot be written holds up nobody; it has said so itself.
    fn write(&self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            if let Ok(_owed) = self.log.admit() {
                let _ = self.log.add(&line);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(&'static str, Arc<str>), Counted>> {
        self.counted.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Counted {
    fn none(now: Instant) -> Counted {
        Counted { number: 0, since: jiff::Timestamp::now(), from: BTreeSet::new(), more: false, next: now }
    }

    fn count(&mut self, from: IpAddr) {
        if self.number == 0 {
            self.since = jiff::Timestamp::now();
        }
        self.number += 1;
        match self.from.len() < MOST_ADDRESSES {
            true => drop(self.from.insert(from)),
            false => self.more |= !self.from.contains(&from),
        }
    }

    /// The line for what was counted, from which on it is counted anew.
    fn line(&mut self, (outcome, principal): &(&'static str, Arc<str>), next: Instant) -> Line {
        let mut details = Map::new();
        details.insert("count".into(), self.number.into());
        details.insert("since".into(), self.since.to_string().into());
        details.insert("from".into(), self.from.iter().map(|address| json!(address.to_string())).collect::<Vec<Value>>().into());
        if self.more {
            details.insert("from_others".into(), true.into());
        }
        (self.number, self.more, self.next) = (0, false, next);
        self.from.clear();
        Line {
            timestamp: jiff::Timestamp::now().to_string(),
            kind: "refused",
            request_id: Uuid::new_v4().to_string(),
            principal: principal.to_string(),
            transport: "http",
            tool_name: "requests".into(),
            outcome: (*outcome).into(),
            details,
            ..Line::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Audit;

    fn lines(place: &tempfile::TempDir) -> Vec<Value> {
        let files = super::super::files(place.path()).unwrap();
        let text: String = files.iter().map(|(_, path)| std::fs::read_to_string(path).unwrap()).collect();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn summary(place: &tempfile::TempDir, summary_ms: u64) -> Summary {
        Summary::new(Log::new(place.path().to_owned(), Audit { summary_ms, ..Audit::default() }))
    }

    #[test]
    fn the_first_is_written_at_once_and_the_others_together() {
        let place = tempfile::tempdir().unwrap();
        let summary = summary(&place, 3_600_000);
        for number in 0..1000u32 {
            summary.add("UNAUTHENTICATED", None, IpAddr::from([10, 0, (number >> 8) as u8, number as u8]));
        }
        summary.tell();
        assert_eq!(lines(&place).len(), 1, "it is not time yet");
        summary.finish();
        summary.finish();
        let lines = lines(&place);
        let counts: Vec<u64> = lines.iter().map(|line| line["details"]["count"].as_u64().unwrap()).collect();
        assert_eq!(counts, [1, 999]);
        assert_eq!((&lines[1]["principal"], &lines[1]["outcome"]), (&json!("nobody"), &json!("UNAUTHENTICATED")));
        assert_eq!(lines[1]["details"]["from"].as_array().unwrap().len(), MOST_ADDRESSES);
        assert_eq!(lines[1]["details"]["from_others"], true);
    }

    #[test]
    fn kinds_are_bounded() {
        let place = tempfile::tempdir().unwrap();
        let summary = summary(&place, 3_600_000);
        for number in 0..2 * MOST_KINDS {
            summary.add("TOO_MANY_REQUESTS", Some(&format!("jwt:{number}").into()), IpAddr::from([127, 0, 0, 1]));
        }
        summary.finish();
        assert_eq!(lines(&place).len(), MOST_KINDS + 2, "one for each, and the rest in two");
        let counted: u64 = lines(&place).iter().map(|line| line["details"]["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, 2 * MOST_KINDS as u64, "nothing is lost");
    }

    #[test]
    fn what_does_not_come_any_more_is_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let summary = summary(&place, 1);
        summary.add("HOST_REFUSED", None, IpAddr::from([127, 0, 0, 1]));
        std::thread::sleep(Duration::from_millis(5));
        summary.tell();
        assert!(summary.lock().is_empty());
    }
}
