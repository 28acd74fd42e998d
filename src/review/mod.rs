//! Performing one judging step: gathering evidence, writing the prompt, making one seat call, running one check.
//! Counts nothing, loops over nothing: how often something is done is the engine's business.

pub mod checks;
pub mod evidence;
