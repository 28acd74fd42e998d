//! Spans as OpenTelemetry's collectors take them: OTLP in its JSON form, one request.

use serde_json::{Value, json};

use crate::report::folds::spans::{Attribute, SpanEvent, TraceSpan};
use rules::domain::Timestamp;

/// The conventions that the names of attributes follow; they are in development.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/gen-ai-dev/1.0.0-dev";
/// The number of `SPAN_KIND_INTERNAL` in the protocol.
const INTERNAL: u8 = 1;

/// The request of one trace.
pub fn otlp(trace: &str, spans: &[TraceSpan]) -> Value {
    let spans: Vec<Value> = spans.iter().map(|span| written(trace, span)).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&[
            ("service.name", json!("quorum")),
            ("service.version", json!(env!("CARGO_PKG_VERSION"))),
        ])},
        "scopeSpans": [{"scope": {"name": "quorum"}, "schemaUrl": CONVENTIONS, "spans": spans}],
    }]})
}

fn written(trace: &str, span: &TraceSpan) -> Value {
    let mut value = json!({
        "traceId": trace,
        "spanId": span.id,
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(span.start),
        "endTimeUnixNano": nanoseconds(span.end),
        "attributes": attributes(&span.attributes),
        "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "status": match span.is_ok {
            None => json!({}),
            Some(true) => json!({"code": 1}),
            Some(false) => json!({"code": 2}),
        },
    });
    if let Some(parent) = &span.parent {
        value["parentSpanId"] = json!(parent);
    }
    value
}

fn event(event: &SpanEvent) -> Value {
    json!({
        "timeUnixNano": nanoseconds(event.at),
        "name": event.name,
        "attributes": attributes(&event.attributes),
    })
}

fn attributes(attributes: &[Attribute]) -> Value {
    attributes.iter().map(|(key, value)| json!({"key": key, "value": typed(value)})).collect()
}

/// Whole numbers are texts, as the JSON form of protocol buffers writes 64 bits.
fn typed(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Bool(truth) => json!({"boolValue": truth}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    }
}

fn nanoseconds(at: Timestamp) -> String {
    (u128::from(at.0) * 1_000_000).to_string()
}
