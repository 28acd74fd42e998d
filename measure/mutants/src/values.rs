//! What a function could return instead, by the type it declares.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// Expressions of the type; those that do not compile are sorted out by the compiler.
pub fn of_return(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, of) => of_type(of, 0),
    }
}

fn of_type(of: &Type, depth: usize) -> Vec<String> {
    let fixed = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    if depth > 3 {
        return fixed(&["Default::default()"]);
    }
    match of {
        Type::Paren(inner) => of_type(&inner.elem, depth),
        Type::Group(inner) => of_type(&inner.elem, depth),
        Type::Tuple(tuple) if tuple.elems.is_empty() => fixed(&["()"]),
        Type::Tuple(tuple) => of_tuple(tuple, depth),
        Type::Reference(reference) => match (&*reference.elem, reference.mutability.is_some()) {
            (Type::Path(path), false) if path.path.is_ident("str") => fixed(&["\"\"", "\"xyzzy\""]),
            (Type::Slice(_), false) => fixed(&["&[]"]),
            (elem, mutable) => {
                let leak = |value| format!("Box::leak(Box::new({value}))");
                let values = of_type(elem, depth + 1).into_iter().map(leak);
                values
                    .map(|value| if mutable { value } else { format!("&*{value}") })
                    .collect()
            }
        },
        Type::Path(path) => of_path(path, depth),
        Type::Array(array) => {
            let values = of_type(&array.elem, depth + 1).into_iter();
            values
                .map(|value| format!("std::array::from_fn(|_| {value})"))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Every part varied, the others at their first value.
fn of_tuple(tuple: &syn::TypeTuple, depth: usize) -> Vec<String> {
    let parts: Vec<Vec<String>> = tuple.elems.iter().map(|elem| of_type(elem, depth + 1)).collect();
    if parts.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (varied, values) in parts.iter().enumerate() {
        for value in values {
            let items: Vec<&str> = parts
                .iter()
                .enumerate()
                .map(|(at, values)| {
                    if at == varied {
                        value.as_str()
                    } else {
                        values[0].as_str()
                    }
                })
                .collect();
            let tuple = format!("({})", items.join(", "));
            if !all.contains(&tuple) {
                all.push(tuple);
            }
        }
    }
    all
}

fn of_path(path: &syn::TypePath, depth: usize) -> Vec<String> {
    let Some(last) = path.path.segments.last() else {
        return Vec::new();
    };
    let first = match &last.arguments {
        PathArguments::AngleBracketed(args) => args.args.iter().find_map(|arg| match arg {
            GenericArgument::Type(of) => Some(of),
            _ => None,
        }),
        _ => None,
    };
    let wrapped = |wrap: &str, empty: Option<&str>| {
        let inner = first.map_or_else(
            || vec!["Default::default()".to_owned()],
            |of| of_type(of, depth + 1),
        );
        let values = inner.into_iter().map(|value| wrap.replace('%', &value));
        empty.map(str::to_owned).into_iter().chain(values).collect()
    };
    let fixed = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match last.ident.to_string().as_str() {
        "bool" => fixed(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => fixed(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => fixed(&["0", "1", "-1"]),
        "f32" | "f64" => fixed(&["0.0", "1.0", "-1.0"]),
        "String" => fixed(&["String::new()", "String::from(\"xyzzy\")"]),
        "Option" => wrapped("Some(%)", Some("None")),
        "Result" => wrapped("Ok(%)", None),
        "Vec" => wrapped("vec![%]", Some("Vec::new()")),
        "Box" => wrapped("Box::new(%)", None),
        "Rc" => wrapped("std::rc::Rc::new(%)", None),
        "Arc" => wrapped("std::sync::Arc::new(%)", None),
        "Cow" => fixed(&["\"\".into()", "\"xyzzy\".into()"]),
        "Ordering" => fixed(&[
            "std::cmp::Ordering::Less",
            "std::cmp::Ordering::Equal",
            "std::cmp::Ordering::Greater",
        ]),
        _ => fixed(&["Default::default()"]),
    }
}
