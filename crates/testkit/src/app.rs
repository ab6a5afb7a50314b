//! Configuration of an application, for tests.

use serde_json::{Value, json};

use crate::site::Site;

/// A PHP application named `php`.
#[derive(Debug, Clone)]
pub struct PhpApp {
    pub(crate) value: Value,
}

/// Serves `site` with one process.
#[must_use]
pub fn php_app(site: &Site) -> PhpApp {
    php_app_in(&site.root())
}

fn php_app_in(root: &str) -> PhpApp {
    PhpApp { value: json!({ "type": "php", "root": root }) }
}

impl PhpApp {
    /// As many processes, always.
    #[must_use]
    pub fn processes(self, n: u32) -> Self {
        self.with("processes", json!(n))
    }

    /// Every request runs this script.
    #[must_use]
    pub fn script(self, script: &str) -> Self {
        self.with("script", json!(script))
    }

    /// A setting of `options.admin`.
    #[must_use]
    pub fn admin(mut self, key: &str, value: &str) -> Self {
        self.value["options"]["admin"][key] = json!(value);
        self
    }

    /// Any option.
    #[must_use]
    pub fn with(mut self, option: &str, value: Value) -> Self {
        self.value[option] = value;
        self
    }

    /// As in the configuration.
    #[must_use]
    pub fn value(self) -> Value {
        self.value
    }
}

/// A Python application named `python`.
#[derive(Debug, Clone)]
pub struct PythonApp {
    pub(crate) value: Value,
}

/// Runs `application` of the site's `app.py` with one process.
#[must_use]
pub fn python_app(site: &Site) -> PythonApp {
    PythonApp { value: json!({ "type": "python", "path": site.root(), "module": "app" }) }
}

impl PythonApp {
    /// Any option.
    #[must_use]
    pub fn with(mut self, option: &str, value: Value) -> Self {
        self.value[option] = value;
        self
    }

    /// As in the configuration.
    #[must_use]
    pub fn value(self) -> Value {
        self.value
    }

    /// Without an option.
    #[must_use]
    pub fn without(mut self, option: &str) -> Self {
        self.value.as_object_mut().expect("it is an object").remove(option);
        self
    }
}
