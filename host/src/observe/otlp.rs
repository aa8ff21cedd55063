//! Traces and numbers for OpenTelemetry: one span for each call, with a part for waiting, instantiating and running, and the same
//! durations as histograms. Sent in the background; a collector that is away costs calls nothing.

use std::time::{Duration, SystemTime};

use opentelemetry::metrics::{Histogram, MeterProvider};
use opentelemetry::trace::{
    Span, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use super::Ended;
use super::collector::Collector;
use crate::config::Telemetry;
use crate::failure::Failure;

/// How often numbers are sent.
const EVERY: Duration = Duration::from_secs(10);

/// How long a server that stops waits for what is not sent yet.
const LAST: Duration = Duration::from_secs(3);

pub struct Otlp {
    tracer: SdkTracer,
    traces: SdkTracerProvider,
    numbers: SdkMeterProvider,
    call: Histogram<f64>,
    queue: Histogram<f64>,
    instantiate: Histogram<f64>,
    run: Histogram<f64>,
}

impl Otlp {
    /// Starts to send, if it is known where to. Only in a runtime that lives as long as the server.
    pub fn start(settings: &Telemetry) -> Result<Option<Otlp>, Failure> {
        let Some(endpoint) = settings.otlp_endpoint.as_deref() else { return Ok(None) };
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::invalid(format!("telemetry.otlp_endpoint {endpoint:?} cannot be used: {error}."))
                .suggest("Give the base address of a collector, as in http://127.0.0.1:4318")
        };
        let collector = Collector::new(settings).map_err(|error| wrong(&error))?;
        let address = |signal: &str| format!("{}/v1/{signal}", endpoint.trim_end_matches('/'));
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(collector.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address("traces"))
            .build()
            .map_err(|error| wrong(&error))?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_http_client(collector)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address("metrics"))
            .build()
            .map_err(|error| wrong(&error))?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name("zipfs").with_attribute(version).build();
        let traces = SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource.clone()).build();
        let reader = PeriodicReader::builder(metrics).with_interval(EVERY).build();
        let numbers = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = numbers.meter("zipfs");
        let seconds = |name: &'static str, what: &'static str| {
            let bounds = vec![0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
            meter.f64_histogram(name).with_unit("s").with_description(what).with_boundaries(bounds).build()
        };
        Ok(Some(Otlp {
            call: seconds("zipfs.call.duration", "From the arrival of a call to its answer."),
            queue: seconds("zipfs.call.queue", "Waiting for a place to run."),
            instantiate: seconds("zipfs.call.instantiate", "Making the instance."),
            run: seconds("zipfs.call.run", "Running the guest."),
            tracer: traces.tracer("zipfs"),
            traces,
            numbers,
        }))
    }

    pub fn send(&self, ended: &Ended<'_>) {
        let tool = ended.tool.unwrap_or("(unknown)").to_owned();
        let labels = [KeyValue::new("gen_ai.tool.name", tool.clone()), KeyValue::new("zipfs.outcome", ended.outcome)];
        self.call.record(ended.took.as_secs_f64(), &labels);
        let spent = &ended.spent;
        for (histogram, time) in [(&self.queue, spent.queue), (&self.instantiate, spent.instantiate), (&self.run, spent.run)] {
            if let Some(time) = time {
                histogram.record(time.as_secs_f64(), &labels[..1]);
            }
        }
        self.trace(ended, tool);
    }

    fn trace(&self, ended: &Ended<'_>, tool: String) {
        let above = ended.trace.map_or_else(Context::new, |trace| {
            let flags = if trace.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
            let (trace, span) = (TraceId::from_bytes(trace.trace), SpanId::from_bytes(trace.span));
            Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, true, TraceState::default()))
        });
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", ended.method.to_owned()),
            KeyValue::new("gen_ai.tool.name", tool.clone()),
            KeyValue::new("zipfs.request", ended.request.to_owned()),
            KeyValue::new("zipfs.principal", ended.principal.to_owned()),
            KeyValue::new("zipfs.transport", ended.transport),
            KeyValue::new("zipfs.outcome", ended.outcome),
        ];
        let optional = [("zipfs.plugin", ended.plugin), ("zipfs.session", ended.session), ("error.type", ended.code)];
        attributes.extend(optional.into_iter().filter_map(|(key, value)| Some(KeyValue::new(key, value?.to_owned()))));
        let end = ended.began + ended.took;
        let mut span = self
            .tracer
            .span_builder(format!("{} {tool}", ended.method))
            .with_kind(SpanKind::Server)
            .with_start_time(ended.began)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, &above);
        if let Some(code) = ended.code {
            span.set_status(Status::error(code.to_owned()));
        }
        // The parts lie at the end of the call, one behind the other; before them it was found, checked and locked.
        let spent = &ended.spent;
        let within = Context::new().with_remote_span_context(span.span_context().clone());
        let parts = [("queue", spent.queue), ("instantiate", spent.instantiate), ("run", spent.run)];
        let mut at = end - parts.iter().filter_map(|(_, time)| *time).sum::<Duration>();
        for (name, time) in parts {
            let Some(time) = time else { continue };
            self.part(name, at, time, &within);
            at += time;
        }
        span.end_with_timestamp(end);
    }

    fn part(&self, name: &'static str, at: SystemTime, time: Duration, within: &Context) {
        let part = self.tracer.span_builder(name).with_kind(SpanKind::Internal).with_start_time(at);
        part.start_with_context(&self.tracer, within).end_with_timestamp(at + time);
    }

    /// Sends what is left.
    pub fn stop(&self) {
        let _ = self.traces.shutdown_with_timeout(LAST);
        let _ = self.numbers.shutdown_with_timeout(LAST);
    }
}
