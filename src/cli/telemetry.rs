//! The spans of a session, handed to whoever collects them (`settings.telemetry`). What cannot be handed over is one warning, and no
//! verdict.

use crate::{
    agents::channel::{ChannelRoute, DeliveryChannel, append},
    report::{folds::spans::Spans, formats::otlp::otlp},
    runtime::recover,
    store::RunFolder,
};
use rules::{
    domain::TraceParent,
    engine::State,
    mission::model::{Channel, ChannelType, Telemetry},
    plan::ChannelPlan,
};

use super::event_loop::block_on;
use super::project::warn;
use super::screen::Screen;

/// Where collectors take traces, below their address.
const TRACES: &str = "/v1/traces";

/// The trace that a run is a part of: the one that whoever starts it hands on, or a new one where somebody collects spans.
pub fn trace(telemetry: &Telemetry) -> Option<TraceParent> {
    let handed = std::env::var("TRACEPARENT").ok().filter(|text| !text.trim().is_empty());
    let handed = handed.and_then(|text| {
        let read = TraceParent::handed(&text);
        read.inspect_err(|why| warn(&format!("TRACEPARENT is not heeded: {why}"))).ok()
    });
    let begun = || TraceParent::beginning(fastrand::u128(..));
    handed.or_else(|| telemetry.is_on().then(begun))
}

/// Hands over what ended in this session, and in those before it that did not come to hand anything over.
pub fn export(run: &RunFolder, state: &State, screen: &Screen) {
    let telemetry = &state.plan.rules.telemetry;
    if !telemetry.is_on() {
        return;
    }
    let failed = |why: &dyn std::fmt::Display| {
        screen.note(&format!("warning: the spans of the run were not handed over: {why}"));
    };
    let Some(trace) = state.options.trace.clone() else {
        return failed(&"it began without `settings.telemetry`");
    };
    let mut spans = Spans::new(run.id().clone(), trace, telemetry.content.unwrap_or_default());
    let walked = recover(run, |state, record| spans.take(state, record.at, &record.events));
    if let Err(why) = walked {
        return failed(&why);
    }
    let (trace, spans) = (spans.trace().to_owned(), spans.finish(state));
    let request = otlp(&trace, &spans);
    let whys = channels(telemetry).into_iter().filter_map(|channel| {
        let channel = DeliveryChannel::of_plan(&channel, &state.options.mission_folder, |name| {
            std::env::var(name).ok()
        });
        match channel {
            Err(why) => Some(why.to_string()),
            Ok(channel) => deliver(&channel, run, &request).err().map(|why| why.to_string()),
        }
    });
    let whys: Vec<String> = whys.collect();
    if !whys.is_empty() {
        failed(&whys.join("; "));
    }
}

fn deliver(channel: &DeliveryChannel, run: &RunFolder, request: &serde_json::Value) -> anyhow::Result<()> {
    let delivered = match &channel.way {
        ChannelRoute::Http(hook) => block_on(channel.post(hook, request))?,
        ChannelRoute::File(path) => append(path, run.state_folder().path(), request),
        ChannelRoute::Command(_) => Ok(()),
    };
    delivered.map_err(|error| anyhow::anyhow!(error.message))
}

/// What takes spans is a channel, as for notifications.
fn channels(telemetry: &Telemetry) -> Vec<ChannelPlan> {
    let plan = |spec| ChannelPlan { name: "telemetry".into(), spec };
    let posted = telemetry.otlp.as_deref().map(|url| {
        let url = url.trim_end_matches('/');
        let path = if url.ends_with(TRACES) { "" } else { TRACES };
        Channel {
            kind: ChannelType::Webhook,
            url: Some(format!("{url}{path}")),
            headers: headers(),
            ..Channel::default()
        }
    });
    let written = telemetry.file.as_deref();
    let written = written.map(|path| Channel {
        kind: ChannelType::File,
        path: Some(path.into()),
        ..Channel::default()
    });
    posted.into_iter().chain(written).map(plan).collect()
}

/// The headers for collectors, as other programs read them: `NAME=VALUE`, with commas between them.
fn headers() -> std::collections::BTreeMap<String, String> {
    let said = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let pairs = said.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}
