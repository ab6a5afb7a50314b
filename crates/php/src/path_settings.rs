//! `options_by_path`: settings for the requests whose paths match.

use anyhow::Context;
use corral_config::pattern::{Flavor, GivenUp, PatternSet};
use corral_config::plan::{PhpPathOptions, PhpSpec};
use corral_worker::complain;

use crate::ffi::{Setting, SettingCheck, SettingMode};
use crate::module::{PhpString, SapiModule};

/// The settings of all patterns.
pub(crate) struct PathSettings {
    rules: Vec<Rule>,
    /// The settings of one request; a buffer that is used again.
    chosen: Vec<Setting>,
}

struct Rule {
    pattern: PatternSet,
    settings: Vec<(PhpString, PhpString, SettingMode)>,
}

impl PathSettings {
    /// Prepares them. What PHP refuses is told and left out.
    ///
    /// # Errors
    /// When a pattern is not one.
    pub(crate) fn new(module: &SapiModule, spec: &PhpSpec) -> anyhow::Result<Self> {
        let rules = spec
            .by_path
            .iter()
            .map(|options| Rule::new(module, spec, options))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { rules, chosen: Vec::new() })
    }

    /// The settings for a path, decoded and normalised; a later one has the last word.
    ///
    /// # Errors
    /// When a regular expression is given up: settings that protect must not be missing.
    pub(crate) fn choose(&mut self, path: &[u8]) -> Result<&[Setting], GivenUp> {
        self.chosen.clear();
        for rule in &self.rules {
            if rule.pattern.matches(path)? {
                let settings = rule.settings.iter();
                self.chosen.extend(settings.map(|(name, value, mode)| Setting {
                    name: name.as_ptr(),
                    value: value.as_ptr(),
                    mode: *mode,
                }));
            }
        }
        Ok(&self.chosen)
    }
}

impl Rule {
    fn new(module: &SapiModule, spec: &PhpSpec, options: &PhpPathOptions) -> anyhow::Result<Self> {
        let mut pattern = PatternSet::default();
        let added = pattern.add(options.pattern.as_bytes(), Flavor::PercentEncoded);
        added.with_context(|| format!("compile the pattern \"{}\"", options.pattern))?;
        let admin = options.admin.iter().map(|setting| (setting, SettingMode::System));
        let user = options.user.iter().map(|setting| (setting, SettingMode::User));
        let fits = |((name, value), mode): &(&(String, String), SettingMode)| {
            // Where `options` protect a setting, scripts cannot change it for that reason alone.
            let is_protected = spec.admin.iter().any(|(protected, _)| protected == name);
            let mode = if is_protected { SettingMode::System } else { *mode };
            is_told_to_fit(module, (name.as_str(), value.as_str()), mode, &options.pattern)
        };
        let settings = admin.chain(user).filter(fits);
        let settings = settings.map(|((name, value), mode)| {
            (module.string(name.as_bytes()), module.string(value.as_bytes()), mode)
        });
        Ok(Self { pattern, settings: settings.collect() })
    }
}

/// Whether requests can have a setting; says why not.
fn is_told_to_fit(
    module: &SapiModule,
    (name, value): (&str, &str),
    mode: SettingMode,
    pattern: &str,
) -> bool {
    let reason = match module.check(name, value, mode) {
        SettingCheck::Fits => return true,
        SettingCheck::Unknown => "there is no such setting",
        SettingCheck::Admin => "scripts cannot change it: it belongs in \"admin\"",
        SettingCheck::Refused => "PHP refuses the value",
    };
    complain(format_args!(
        "options_by_path \"{pattern}\": setting \"{name}: {value}\" has no effect: {reason}"
    ));
    false
}
