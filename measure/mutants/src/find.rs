//! Walks a file and finds the places where a rule could be wrong.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Lit, ReturnType, Stmt, UnOp};

use crate::render::{Shape, Source};
use crate::values;

/// Finds all places of a file.
pub fn find(path: String, text: String) -> syn::Result<Source> {
    let file = syn::parse_file(&text)?;
    let mut finder = Finder {
        source: Source::new(path, text),
        context: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder.source)
}

struct Finder {
    source: Source,
    /// Types and functions around the place at hand.
    context: Vec<String>,
}

fn range(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

/// Test code, and what runs at build time.
fn is_left_alone(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let path = attr.path();
        path.is_ident("test")
            || (path.is_ident("cfg")
                && attr
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|condition| condition == "test"))
    })
}

/// Whether `let` is part of the condition: then it is no expression that could stand in brackets.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// The operators that could stand there instead.
fn other_operators(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">", "<"],
        BinOp::Ge(_) => &["<", ">"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        _ => &[],
    }
}

/// The method that would be the likely slip of the pen.
fn other_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "min" => "max",
        "max" => "min",
        "min_by_key" => "max_by_key",
        "max_by_key" => "min_by_key",
        "any" => "all",
        "all" => "any",
        "is_some" => "is_none",
        "is_none" => "is_some",
        "is_ok" => "is_err",
        "is_err" => "is_ok",
        "first" => "last",
        "last" => "first",
        "saturating_add" => "saturating_sub",
        "saturating_sub" => "saturating_add",
        _ => return None,
    })
}

impl Finder {
    fn name(&self, at: &impl Spanned, what: &str) -> String {
        let start = at.span().start();
        let inside = self.context.join("::");
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(
            "{}:{}:{}: {what} in {inside}",
            self.source.path,
            start.line,
            start.column + 1
        )
    }

    fn text(&self, of: &impl Spanned) -> String {
        self.source.text(range(of)).to_owned()
    }

    /// An expression with others that could stand there, each with what to call the change.
    fn instead(&mut self, expr: &impl Spanned, at: &impl Spanned, others: Vec<(String, String)>) {
        let named = others
            .into_iter()
            .map(|(text, what)| (text, self.name(at, &what)))
            .collect();
        self.source.add(range(expr), Shape::Instead, named);
    }

    fn function(&mut self, name: String, output: &ReturnType, block: &Block) {
        self.context.push(name);
        let body = self.text(block);
        let body = body
            .trim_start_matches('{')
            .trim_end_matches('}')
            .trim()
            .to_owned();
        if !body.is_empty() {
            let at = range(block).start + 1;
            let mutants = values::of_return(output)
                .into_iter()
                .filter(|value| *value != body)
                .map(|value| {
                    (
                        value.clone(),
                        self.name(block, &format!("return {value} at once")),
                    )
                })
                .collect();
            self.source.add(at..at, Shape::Return, mutants);
        }
        visit::visit_block(self, block);
        self.context.pop();
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_left_alone(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    // What the compiler computes cannot ask at run time.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_left_alone(&item.attrs) && item.sig.constness.is_none() {
            self.function(item.sig.ident.to_string(), &item.sig.output, &item.block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_left_alone(&item.attrs) {
            return;
        }
        let of = self.text(&*item.self_ty);
        let what = match &item.trait_ {
            Some((_, of_trait, _)) => format!("<{} for {of}>", self.text(of_trait)),
            None => of,
        };
        self.context.push(what);
        visit::visit_item_impl(self, item);
        self.context.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_left_alone(&item.attrs) && item.sig.constness.is_none() {
            self.function(item.sig.ident.to_string(), &item.sig.output, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(item.sig.ident.to_string(), &item.sig.output, block);
        }
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_), Some(_)) = stmt {
            let what = self.name(stmt, &format!("leave out {}", self.text(stmt)));
            self.source
                .add(range(stmt), Shape::Without, vec![(String::new(), what)]);
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if !has_let(&expr.left) && !has_let(&expr.right) {
            let (left, right, op) = (
                self.text(&*expr.left),
                self.text(&*expr.right),
                self.text(&expr.op),
            );
            let others = other_operators(&expr.op)
                .iter()
                .map(|other| (format!("{left} {other} {right}"), format!("{op} becomes {other}")))
                .collect();
            self.instead(expr, &expr.op, others);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        if matches!(expr.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let what = format!("{} left out", self.text(&expr.op));
            let others = vec![(self.text(&*expr.expr), what)];
            self.instead(expr, expr, others);
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some(other) = other_method(&call.method.to_string()) {
            let (whole, method) = (range(call), range(&call.method));
            let text = format!(
                "{}{other}{}",
                self.source.text(whole.start..method.start),
                self.source.text(method.end..whole.end)
            );
            let others = vec![(text, format!("{} becomes {other}", call.method))];
            self.instead(call, &call.method, others);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_lit(&mut self, expr: &'ast syn::ExprLit) {
        let text = self.text(expr);
        let others: Vec<String> = match &expr.lit {
            Lit::Int(_) => vec![format!("({text} + 1)")],
            Lit::Bool(bool) => vec![(!bool.value).to_string()],
            _ => return,
        };
        let others = others
            .into_iter()
            .map(|other| (other.clone(), format!("{text} becomes {other}")))
            .collect();
        self.instead(expr, expr, others);
    }

    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        // The length is computed by the compiler.
        self.visit_expr(&expr.expr);
    }

    fn visit_expr_path(&mut self, expr: &'ast syn::ExprPath) {
        // A number that has a name; whether it is one the compiler says.
        let Some(last) = expr.path.segments.last() else {
            return;
        };
        let name = last.ident.to_string();
        if name.len() > 1
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
        {
            let text = self.text(expr);
            let others = vec![(format!("({text} + 1)"), format!("{text} becomes {text} + 1"))];
            self.instead(expr, expr, others);
        }
    }

    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        self.condition(&expr.cond);
        visit::visit_expr_if(self, expr);
    }

    fn visit_expr_while(&mut self, expr: &'ast syn::ExprWhile) {
        self.condition(&expr.cond);
        visit::visit_expr_while(self, expr);
    }

    fn visit_expr_macro(&mut self, expr: &'ast syn::ExprMacro) {
        if expr.mac.path.is_ident("matches") {
            let text = self.text(expr);
            self.instead(
                expr,
                expr,
                vec![(format!("!{text}"), "matches! denied".to_owned())],
            );
        }
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        self.visit_expr(&expr.expr);
        // A name in capitals, such as `None`, is a value and no variable.
        let is_variable = |name: &syn::Ident| name.to_string().starts_with(char::is_lowercase);
        let catches_all = |arm: &syn::Arm| match &arm.pat {
            syn::Pat::Wild(_) => arm.guard.is_none(),
            syn::Pat::Ident(name) => arm.guard.is_none() && is_variable(&name.ident),
            _ => false,
        };
        let deletable = expr.arms.iter().any(catches_all);
        for arm in &expr.arms {
            let pattern = self.text(&arm.pat);
            if let Some((_, guard)) = &arm.guard {
                let mut others: Vec<(String, String)> = ["true", "false"]
                    .into_iter()
                    .map(|other| {
                        let what = format!("guard {} becomes {other}", self.text(&**guard));
                        (other.to_owned(), self.name(&**guard, &what))
                    })
                    .collect();
                if has_let(guard) {
                    others.clear();
                }
                self.source.add(range(&**guard), Shape::Guard, others);
                self.visit_expr(guard);
            } else if deletable && !catches_all(arm) {
                let end = range(&arm.pat).end;
                let what = self.name(&arm.pat, &format!("arm {pattern} left out"));
                self.source
                    .add(end..end, Shape::NeverMatch, vec![(String::new(), what)]);
            }
            self.visit_expr(&arm.body);
        }
    }
}

impl Finder {
    /// A condition that no other change turns round.
    fn condition(&mut self, condition: &Expr) {
        if matches!(
            condition,
            Expr::MethodCall(_) | Expr::Call(_) | Expr::Path(_) | Expr::Field(_)
        ) {
            let text = self.text(condition);
            let what = format!("condition {text} denied");
            self.instead(condition, condition, vec![(format!("!({text})"), what)]);
        }
    }
}
