//! What of a request a provider refuses, by the parameter that it names, else by its words.

use rules::domain::Millis;

/// An error as a provider's body tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProviderError<'a> {
    /// The status, where the body repeats it.
    pub status: Option<u16>,
    /// The codes and types of the error.
    pub codes: Vec<&'a str>,
    /// The words of the error.
    pub message: &'a str,
    /// The parameter of the request that it is about.
    pub about: Option<&'a str>,
    /// How long the provider asks to be left alone, where the body says so.
    pub retry_after: Option<Millis>,
}

worded! {
    /// A part of a request that some models refuse.
    #[derive(PartialOrd, Ord)]
    pub(crate) enum RequestPart {
        /// The old name of the limit of tokens.
        LimitName = "`max_tokens` (it is told as `max_completion_tokens`)",
        Limit = "`maxTokens`",
        Temperature = "`temperature`",
        System = "a system message (it stands before the prompt)",
        Schema = "a schema",
    }
}

impl RequestPart {
    /// The one that a refusal names, of those that were sent: in the order of the words.
    pub fn refused(sent: [bool; 4], told: &ProviderError<'_>) -> Option<Self> {
        const WORDS: [(RequestPart, &[&str]); 4] = [
            (RequestPart::LimitName, &["max_completion_tokens"]),
            (
                RequestPart::Limit,
                &[
                    "max_tokens",
                    "max_completion_tokens",
                    "max_output_tokens",
                    "maxoutputtokens",
                    "num_predict",
                ],
            ),
            (RequestPart::Temperature, &["temperature"]),
            (RequestPart::System, &["messages[0].role", "system", "developer instruction"]),
        ];
        let mut parts = WORDS.iter().zip(sent);
        let named = parts.find(|((_, words), is_sent)| *is_sent && told.refuses(words));
        named.map(|((part, _), _)| *part)
    }
}

/// Words with which a provider refuses what it names.
const REFUSING: [&str; 3] = [
    "not support|n't support|unsupported|not enabled|not available|not allowed|not permitted|not accept|not valid",
    "not implemented|no endpoints|invalid|deprecated|unknown|unrecognized|unexpected|extra |requires|must |cannot|only ",
    "instead|range|too large|too high|greater than|less than|exceeds",
];

impl ProviderError<'_> {
    /// Whether the error refuses something that one of the words names: a provider also repeats what it was
    /// asked.
    fn refuses(&self, words: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        let is_refusal = self.about.is_some()
            || REFUSING.iter().flat_map(|words| words.split('|')).any(|word| message.contains(word));
        is_refusal && self.is_about(words)
    }

    /// Whether the error is about something that one of the words names: by the parameter, else by its message.
    fn is_about(&self, words: &[&str]) -> bool {
        let texts = self.about.into_iter().chain([self.message]);
        let mut texts = texts.map(str::to_ascii_lowercase);
        texts.any(|text| words.iter().any(|word| text.contains(word)))
    }
}

/// Whether a refusal is about tools: by the parameter that it names, else by its words.
pub fn refuses_tools(status: u16, told: &ProviderError<'_>) -> bool {
    const WORDS: [&str; 4] = ["tool", "function call", "function_call", "functiondeclaration"];
    // One widespread server says it with a 500.
    if !matches!(status, 400 | 404 | 422 | 500 | 501) {
        return false;
    }
    told.refuses(&WORDS)
}

/// Whether a refusal is about the reply's format: by the parameter that it names, else by its words.
pub fn refuses_schema(words: &[&str], status: u16, told: &ProviderError<'_>) -> bool {
    if !matches!(status, 400 | 404 | 422 | 501) {
        return false;
    }
    told.is_about(words)
}
