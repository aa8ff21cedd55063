//! Numbers, in the text format of Prometheus.

use prometheus::{Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};

use super::Ended;

/// From a tenth of a short call to the longest deadline.
const SECONDS: [f64; 18] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

const BYTES: [f64; 7] = [1e6, 2e6, 4e6, 8e6, 16e6, 32e6, 64e6];

/// What is counted. Names of tools and classes of outcomes are the only labels: both are few, and no caller can make up more.
pub struct Meters {
    registry: Registry,
    calls: IntCounterVec,
    duration: HistogramVec,
    queue: HistogramVec,
    instantiate: HistogramVec,
    run: HistogramVec,
    memory: HistogramVec,
    refused: IntCounterVec,
    sessions: IntGauge,
    running: IntGauge,
    resident: IntGauge,
    build: IntGaugeVec,
}

/// What is looked at when somebody asks.
#[derive(Debug, Default)]
pub struct State {
    pub sessions: usize,
    pub running: usize,
}

impl Default for Meters {
    fn default() -> Meters {
        let registry = Registry::new();
        let seconds = |name: &str, help: &str| {
            let options = HistogramOpts::new(format!("zipfs_{name}_seconds"), help).buckets(SECONDS.to_vec());
            HistogramVec::new(options, &["tool"]).expect("the name is a name")
        };
        let gauge = |name: &str, help: &str| IntGauge::new(name, help).expect("the name is a name");
        let meters = Meters {
            calls: IntCounterVec::new(Opts::new("zipfs_calls_total", "Calls that are over."), &["tool", "outcome"])
                .expect("the name is a name"),
            duration: seconds("call", "From the arrival of a call to its answer."),
            queue: seconds("queue", "Waiting for a place to run."),
            instantiate: seconds("instantiate", "Making the instance."),
            run: seconds("run", "Running the guest."),
            memory: HistogramVec::new(
                HistogramOpts::new("zipfs_guest_memory_bytes", "The most memory that the guest of a call had.")
                    .buckets(BYTES.to_vec()),
                &["tool"],
            )
            .expect("the name is a name"),
            refused: IntCounterVec::new(
                Opts::new("zipfs_requests_refused_total", "Requests that were turned away before they became calls."),
                &["reason"],
            )
            .expect("the name is a name"),
            sessions: gauge("zipfs_sessions", "Open sessions."),
            running: gauge("zipfs_calls_running", "Calls that have a place now."),
            resident: gauge("process_resident_memory_bytes", "Resident memory of the server, its guests included."),
            build: IntGaugeVec::new(Opts::new("zipfs_build_info", "Always 1; the version is in the label."), &["version"])
                .expect("the name is a name"),
            registry,
        };
        let all: [Box<dyn prometheus::core::Collector>; 11] = [
            Box::new(meters.calls.clone()),
            Box::new(meters.duration.clone()),
            Box::new(meters.queue.clone()),
            Box::new(meters.instantiate.clone()),
            Box::new(meters.run.clone()),
            Box::new(meters.memory.clone()),
            Box::new(meters.refused.clone()),
            Box::new(meters.sessions.clone()),
            Box::new(meters.running.clone()),
            Box::new(meters.resident.clone()),
            Box::new(meters.build.clone()),
        ];
        for collector in all {
            meters.registry.register(collector).expect("each name is there once");
        }
        meters.build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        meters
    }
}

impl Meters {
    pub fn count(&self, ended: &Ended<'_>) {
        // A name that somebody made up would be a label that stays for ever.
        let tool = ended.tool.unwrap_or(match ended.method {
            "tools/call" => "(unknown)",
            method => method,
        });
        self.calls.with_label_values(&[tool, ended.outcome]).inc();
        self.duration.with_label_values(&[tool]).observe(ended.took.as_secs_f64());
        let spent = &ended.spent;
        for (histogram, time) in [(&self.queue, spent.queue), (&self.instantiate, spent.instantiate), (&self.run, spent.run)] {
            if let Some(time) = time {
                histogram.with_label_values(&[tool]).observe(time.as_secs_f64());
            }
        }
        if spent.memory > 0 {
            self.memory.with_label_values(&[tool]).observe(spent.memory as f64);
        }
    }

    /// Counts a request that did not become a call. Reasons are few, and no caller can make up more.
    pub fn refuse(&self, reason: &'static str) {
        self.refused.with_label_values(&[reason]).inc();
    }

    /// All of it as text.
    pub fn render(&self, state: &State) -> String {
        self.sessions.set(state.sessions as i64);
        self.running.set(state.running as i64);
        self.resident.set(resident_bytes());
        let mut text = Vec::new();
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn resident_bytes() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * rustix::param::page_size() as i64
}
