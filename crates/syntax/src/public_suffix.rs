//! The public suffix list: domains below which names belong to different people.
//!
//! The list is code, and large. It is compiled once, as only these functions use it.

/// The domain of one owner that a name is a part of; none for a public suffix.
#[must_use]
pub fn registered_domain(name: &str) -> Option<&str> {
    psl::domain_str(name)
}

/// Whether the list has a rule for the end of a domain.
#[must_use]
pub fn is_below_listed_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_those_that_can_be_registered() {
        assert_eq!(registered_domain("www.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registered_domain("co.uk"), None);
        assert!(is_below_listed_suffix("dev") && is_below_listed_suffix("example.org"));
        assert!(!is_below_listed_suffix("nobodys"));
    }
}
