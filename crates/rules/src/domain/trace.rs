//! The trace that the spans of a run belong to, as W3C Trace Context names it.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::digest::Digest;

/// A trace and the span in it that a run is a child of: `TRACEPARENT`.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct TraceParent {
    /// The trace, 32 hexadecimal digits.
    trace: Box<str>,
    /// The span, 16 hexadecimal digits; zeros where the trace begins with the run.
    span: Box<str>,
    /// The flags, two hexadecimal digits: whether the trace is kept.
    flags: Box<str>,
}

/// The text is no trace context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not VERSION-TRACE-SPAN-FLAGS in hexadecimal digits")]
pub struct NoTrace;

/// The span of a run, by what makes its id.
pub const RUN_SPAN: &str = "run";

/// The span of a turn, by what makes its id.
pub fn turn_span(turn: impl fmt::Display) -> String {
    format!("turn {turn}")
}

/// The span of a call to an agent, by what makes its id.
pub fn call_span(call: impl fmt::Display) -> String {
    format!("call {call}")
}

/// The digits that stand for no span.
const NO_SPAN: &str = "0000000000000000";

impl TraceParent {
    /// A trace that begins with a run, of a number that nothing else has.
    pub fn beginning(number: u128) -> Self {
        Self { trace: format!("{:032x}", number.max(1)).into(), span: NO_SPAN.into(), flags: "01".into() }
    }

    /// What a program or a person hands on.
    ///
    /// # Errors
    /// Where it is none, or names no trace or no span.
    pub fn handed(text: &str) -> Result<Self, NoTrace> {
        let found: Self = text.trim().parse()?;
        if &*found.span == NO_SPAN { Err(NoTrace) } else { Ok(found) }
    }

    /// The trace, 32 hexadecimal digits.
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// The span that the run is a child of; `None` where the trace begins with it.
    pub fn parent(&self) -> Option<&str> {
        (&*self.span != NO_SPAN).then_some(&*self.span)
    }

    /// The span of something in the run, 16 hexadecimal digits: the same in each session of it.
    pub fn span_of(&self, what: &str) -> String {
        let digest = Digest::of(format!("{} {what}", self.trace).as_bytes()).to_string();
        digest.chars().rev().take(16).collect()
    }

    /// What something in the run hands on to the programs that it starts.
    #[must_use]
    pub fn within(&self, what: &str) -> Self {
        Self { span: self.span_of(what).into(), ..self.clone() }
    }
}

impl FromStr for TraceParent {
    type Err = NoTrace;

    fn from_str(text: &str) -> Result<Self, NoTrace> {
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let parts: Vec<&str> = text.splitn(5, '-').collect();
        let [version, trace, span, flags, ref more @ ..] = *parts else {
            return Err(NoTrace);
        };
        // Later versions may say more behind what the first one says.
        let is_version = is_hex(version, 2) && version != "ff" && (more.is_empty() || version != "00");
        let is_trace = is_hex(trace, 32) && trace.bytes().any(|digit| digit != b'0');
        if is_version && is_trace && is_hex(span, 16) && is_hex(flags, 2) {
            return Ok(Self { trace: trace.into(), span: span.into(), flags: flags.into() });
        }
        Err(NoTrace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{}", self.trace, self.span, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_read_and_written_as_the_standard_says() {
        let read = TraceParent::handed(GOOD).unwrap();
        assert_eq!((read.to_string().as_str(), read.parent()), (GOOD, Some("b7ad6b7169203331")));
        let inner = read.within("turn 0.1.1");
        assert_eq!((inner.trace(), inner.span_of("x")), (read.trace(), read.span_of("x")));
        assert_eq!(TraceParent::handed(&inner.to_string()).unwrap(), inner);
        assert!(TraceParent::handed("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more").is_ok());
        let own = TraceParent::beginning(7);
        assert_eq!((own.to_string().parse(), own.parent()), (Ok(own.clone()), None));
    }

    #[test]
    fn anything_else_is_none() {
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-é-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::handed(wrong), Err(NoTrace), "{wrong}");
        }
    }
}
