//! The table of keys and the structs say the same: a built key has a field, a key that is not built has none.

use std::collections::BTreeSet;

use serde::de::value::Error;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use crate::mission::keys::{Built, MISSION, Shape, Table};
use crate::mission::model::{Agent, Gate, Mission, Settings, Task};

/// A deserializer that only reports which fields a struct asks for.
struct FieldNames<'a>(&'a mut BTreeSet<&'static str>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("only structs are looked at"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.extend(fields);
        Err(Error::custom("the fields are known"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields_of<'de, T: Deserialize<'de>>() -> BTreeSet<&'static str> {
    let mut fields = BTreeSet::new();
    assert!(T::deserialize(FieldNames(&mut fields)).is_err());
    fields
}

/// The table below a key of a mission.
fn table(key: &str) -> &'static Table {
    match MISSION.key(key).map(|key| &key.shape) {
        Some(Shape::List(Shape::Map(table)) | Shape::Named(_, Shape::Map(table)) | Shape::Map(table)) => {
            table
        }
        _ => panic!("{key} has no table"),
    }
}

#[test]
fn built_keys_have_fields_and_others_have_none() {
    for (table, fields) in [
        (&MISSION, fields_of::<Mission>()),
        (table("agents"), fields_of::<Agent>()),
        (table("settings"), fields_of::<Settings>()),
        (table("tasks"), fields_of::<Task>()),
        (table("qualityGates"), fields_of::<Gate>()),
    ] {
        let built = table
            .keys
            .iter()
            .filter(|key| !matches!(key.built, Built::Later { .. }));
        let built: BTreeSet<_> = built.map(|key| key.name).collect();
        assert_eq!(built, fields, "{}", table.name);
    }
}

#[test]
fn keys_are_unique_and_camel_case() {
    for table in [
        &MISSION,
        table("agents"),
        table("settings"),
        table("tasks"),
        table("qualityGates"),
    ] {
        let names: BTreeSet<_> = table.keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), table.keys.len(), "{}", table.name);
        assert!(
            names.iter().all(|name| name.chars().all(char::is_alphanumeric)),
            "{}",
            table.name
        );
    }
}

#[test]
fn every_key_of_the_contract_is_known() {
    let mission = "name description requires workspace isolation deadline qualityThreshold agents channels rubrics \
        settings tasks qualityGates checkpoints delays budget redTeam vision stages autonomy stakes onExhausted";
    let agent = "adapter run input env timeout staleThreshold maxConcurrent role reportsTo family model baseUrl apiKey headers \
        temperature maxTokens vision tools fallback maxCostPerTurn passEnv session permissions queue sandbox network files";
    let settings = "concurrency orchestrator evaluate evalThreshold failOpenOnUnparsedEval maxAttempts maxFixAttempts \
        maxRetries maxQuestionRounds maxResolutionAttempts maxAssessmentRetries taskTimeout staleThreshold \
        approvalGates autoRejectOnTimeout independence consensus panel referBelow judgeBreaker verifyPriorFeedback \
        tellCriteria finalChecks foundation maxDelegationDepth maxDelegations onDependencyFailed protect checksMayWrite sla budget middleware clarification \
        hooks prices defaultChannels worktree sandbox network files maxWindowWait maxOutput";
    let task = "title assignTo description type workspace isolation sandbox network files deadline autonomy stakes onExhausted maxAttempts \
        maxFixAttempts maxRetries maxDuration staleThreshold onDependencyFailed dependsOn priority tags exclusive sideEffects \
        requiresApproval requiresToolCalls targetFiles protect checksMayWrite delegatedBy review expectations acceptance \
        verification decomposer verify stages middleware onPass onFail onRefer maxVisits";
    for (table, keys) in [
        (&MISSION, mission),
        (table("agents"), agent),
        (table("settings"), settings),
        (table("tasks"), task),
    ] {
        let expected: BTreeSet<_> = keys.split_whitespace().collect();
        let known: BTreeSet<_> = table.keys.iter().map(|key| key.name).collect();
        assert_eq!(known, expected, "{}", table.name);
    }
}
