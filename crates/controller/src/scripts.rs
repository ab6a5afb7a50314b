//! Checks of JavaScript before it is kept or put in force. Nothing is run.

/// Says what is wrong with a module, if anything.
pub(crate) fn check_module(name: &str, source: &[u8]) -> Result<(), String> {
    corral_script::check_module(name, source)
}

/// Says what is wrong with the expression of a template literal, if anything.
///
/// # Errors
///
/// The JavaScript error, on one line.
pub fn check_expression(source: &str) -> Result<(), String> {
    corral_script::check_template(source.as_bytes())
}
