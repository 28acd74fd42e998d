//! `requiresApproval` and `approvalGates`: who must agree before a task starts (semantics, section 5).

use serde_json::json;

use crate::{
    domain::Millis,
    mission::file::{
        document::{Node, NodeKind},
        keys::{Keys, Value, keys},
        levels::shown,
        scalar::{Filled, Name},
        shape::Shape,
    },
};

keys! {
    /// Approvals before work starts.
    #[derive(Default)]
    pub struct Approval: "an approval" {
        #[doc = says!(approvers)]
        "approvers" approvers: Vec<Approver>, filled;
        #[doc = says!(approval_timeout)]
        "timeout" timeout: Option<Millis>;
        #[doc = says!(approval_message)]
        "message" message: Option<Box<str>>;
    }
}

keys! {
    /// A rule that makes tasks wait for somebody's agreement.
    #[derive(Default)]
    pub struct ApprovalGate: "an approval gate" {
        /// The name of the gate, unique in the mission.
        "name" name: Box<str> as Name, required;
        /// Which tasks it holds: an expression over `task` and `mission`, true or false [all].
        "when" when: Option<Box<str>> as Filled;
        #[doc = says!(approvers)]
        "approvers" approvers: Vec<Approver>, filled;
        #[doc = says!(approval_timeout)]
        "timeout" timeout: Option<Millis>;
        #[doc = says!(approval_message)]
        "message" message: Option<Box<str>>;
    }
}

shown!(Vec<ApprovalGate>: |gates| json!(gates.iter().map(|gate| &*gate.name).collect::<Vec<_>>()));

/// One who may agree.
#[derive(Debug, Clone, PartialEq)]
pub enum Approver {
    /// An agent of this name; where there is none, a person.
    Named(Box<str>),
    /// A command: exit 0 agrees, 1 refuses, anything else leaves it open.
    Command(Box<str>),
}

keys! {
    struct ApproverCommand: "an approver" {
        /// A command that decides, run as checks are.
        "command" command: Box<str> as Filled, required;
    }
}

impl Value for Approver {
    const SHAPE: Shape = Shape::Either(&[Shape::Map(ApproverCommand::TABLE), Shape::one::<Filled>()]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        match node.kind() {
            NodeKind::Map => ApproverCommand::read(node).map(|read| Self::Command(read.command)),
            _ => Some(Self::Named(node.text().into())),
        }
    }
}

/// `requiresApproval`: yes, no, or how.
pub struct YesOrHow;

impl Value<YesOrHow> for Option<Box<Approval>> {
    const SHAPE: Shape = Shape::Either(&[Shape::Map(Approval::TABLE), bool::SHAPE]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        match node.kind() {
            NodeKind::Map => Approval::read(node).map(|approval| Some(Box::new(approval))),
            _ => bool::read(node).map(|asked| asked.then(Box::default)),
        }
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(None)
    }
}
