//! Placeholder until the adapter is merged.
use crate::domain::{FailureClass, Millis};
use crate::mission::AgentPlan;
use rust_decimal::Decimal;
use std::time::Duration;
#[derive(Debug, Clone)]
pub struct Endpoint;
impl Endpoint {
    pub fn of(_a: &AgentPlan, _l: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        Err("not merged".into())
    }
}
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub system: Option<String>,
    pub prompt: String,
    pub schema: Option<serde_json::Value>,
    pub temperature: Option<Decimal>,
    pub max_tokens: Option<u32>,
    pub timeout: Duration,
}
impl ModelRequest {
    pub fn new(prompt: String, timeout: Duration) -> Self {
        Self {
            system: None,
            prompt,
            schema: None,
            temperature: None,
            max_tokens: None,
            timeout,
        }
    }
}
#[derive(Debug, Clone, Default)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}
#[derive(Debug, Clone)]
pub struct ModelReply {
    pub text: String,
    pub model: Option<String>,
    pub usage: Usage,
}
#[derive(Debug, Clone)]
pub struct ModelError {
    pub class: FailureClass,
    pub status: Option<u16>,
    pub retry_after: Option<Millis>,
    pub message: String,
    pub schema_unsupported: bool,
}
pub fn client() -> Result<reqwest::Client, String> {
    Err("no".into())
}
pub async fn complete(
    _c: &reqwest::Client,
    _e: &Endpoint,
    _r: &ModelRequest,
) -> Result<ModelReply, ModelError> {
    Err(ModelError {
        class: FailureClass::Unknown,
        status: None,
        retry_after: None,
        message: String::new(),
        schema_unsupported: false,
    })
}
