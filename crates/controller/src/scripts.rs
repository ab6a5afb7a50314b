//! Checks of JavaScript before it is kept or put in force.

/// What is wrong with the expression of a template literal, if anything.
pub fn check_expression(source: &str) -> Result<(), String> {
    corral_script::check_template(source.as_bytes())
}
