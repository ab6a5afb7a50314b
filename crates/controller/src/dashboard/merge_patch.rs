//! Merge patches (RFC 7396): what has to be changed in one object to make it another one. Neither may have `null` in
//! it, outside arrays: in a patch it means that a member is gone.

use corral_config::json::{Object, Value};

/// The patch that makes `new` of `old`; none if both are the same.
pub(super) fn patch(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => patch_members(old, new).map(Value::Object),
        _ => (old != new).then(|| new.clone()),
    }
}

fn patch_members(old: &Object, new: &Object) -> Option<Object> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let mut patched: Object = gone.map(|name| (name.clone(), Value::Null)).collect();
    for (name, value) in new {
        let change = match old.get(name) {
            Some(old) => patch(old, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            patched.insert(name.clone(), change);
        }
    }
    (!patched.is_empty()).then_some(patched)
}

#[cfg(test)]
mod tests {
    use corral_config::json::{self, Bytes};

    use super::*;

    /// RFC 7396, section 2.
    fn apply(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if target.as_object().is_none() {
            *target = Value::empty_object();
        }
        let Value::Object(members) = target else { unreachable!("it was made one") };
        for (name, value) in patch {
            if *value == Value::Null {
                members.shift_remove(name);
            } else {
                apply(members.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }

    #[track_caller]
    fn check(old: &Value, new: &Value) {
        let mut target = old.clone();
        match patch(old, new) {
            Some(patch) => apply(&mut target, &patch),
            None => assert_eq!(old, new),
        }
        assert_eq!(&target, new);
    }

    #[track_caller]
    fn check_patch(old: &str, new: &str, expected: Option<&str>) {
        let [old, new] = [old, new].map(|text| json::parse(text.as_bytes()).unwrap());
        let patched = patch(&old, &new).map(|patch| String::from_utf8(patch.compact()).unwrap());
        assert_eq!(patched.as_deref(), expected);
        check(&old, &new);
    }

    #[test]
    fn a_patch_has_what_differs() {
        check_patch("{}", "{}", None);
        check_patch(r#"{"a":1,"b":{"c":[1]}}"#, r#"{"a":1,"b":{"c":[1]}}"#, None);
        check_patch(r#"{"a":1,"b":2}"#, r#"{"b":3,"c":4}"#, Some(r#"{"a":null,"b":3,"c":4}"#));
        check_patch(r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":3}}"#, Some(r#"{"a":{"c":3}}"#));
        check_patch(r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, Some(r#"{"a":{"b":null}}"#));
        check_patch(r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, Some(r#"{"a":[1]}"#));
        check_patch(r#"{"a":1}"#, r#"{"a":{"b":{}}}"#, Some(r#"{"a":{"b":{}}}"#));
        check_patch(r#"{"a":{"b":1}}"#, r#"{"a":1}"#, Some(r#"{"a":1}"#));
    }

    /// A generator of documents: each draw decides about one thing.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, end: u64) -> u64 {
            // A generator of Lehmer's kind is enough for shapes.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        fn value(&mut self, depth: u32) -> Value {
            match self.below(if depth == 0 { 3 } else { 6 }) {
                0 => Value::from(self.below(3)),
                1 => Value::Bool(self.below(2) == 0),
                2 => Value::from(["a", "b", ""][self.below(3) as usize]),
                3 => Value::Array((0..self.below(3)).map(|_| self.value(depth - 1)).collect()),
                _ => self.object(depth),
            }
        }

        fn object(&mut self, depth: u32) -> Value {
            let members = (0..self.below(5)).map(|_| {
                let name = Bytes::from(["a", "b", "c", "d"][self.below(4) as usize]);
                (name, self.value(depth - 1))
            });
            Value::Object(members.collect())
        }
    }

    #[test]
    fn a_patch_makes_the_new_object_of_the_old_one() {
        let mut draws = Draws(7);
        for _ in 0..20_000 {
            let (old, new) = (draws.object(4), draws.object(4));
            check(&old, &new);
        }
    }
}
