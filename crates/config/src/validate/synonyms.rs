//! Names that other servers have for an option, or that are the first to come to mind.

/// The name that is meant by `written`, among those that are known at this place, and a sentence where a name
/// alone does not say enough.
pub(super) fn meant(
    written: &str,
    is_known: impl Fn(&str) -> bool,
) -> Option<(Option<&'static str>, &'static str)> {
    let is_written = |name: &str| name.eq_ignore_ascii_case(written);
    let remark = REMARKS
        .iter()
        .find(|(names, beside, _)| is_known(beside) && names.iter().any(|name| is_written(name)));
    if let Some((_, _, sentence)) = remark {
        return Some((None, sentence));
    }
    let right =
        SYNONYMS.iter().find(|(right, names)| is_known(right) && names.iter().any(|name| is_written(name)));
    right.map(|(right, _)| (Some(*right), ""))
}

/// Each name with what is written in its place.
const SYNONYMS: &[(&str, &[&str])] = &[
    // The document.
    ("applications", &["apps", "app"]),
    ("listeners", &["listen", "server", "servers", "ports"]),
    ("access_log", &["access_logs", "accesslog", "log"]),
    ("upstreams", &["backends", "pools"]),
    // Listeners and actions.
    ("pass", &["route", "routes", "app", "application", "handler", "destination"]),
    ("tls", &["ssl", "https", "certificate", "certificates"]),
    ("certificate", &["cert", "crt", "pem", "ssl_certificate", "bundle"]),
    ("conf_commands", &["protocols", "ciphers", "min_version"]),
    ("return", &["status", "code", "respond"]),
    ("share", &["root", "alias", "static", "file", "files", "file_server", "folder", "directory", "dir"]),
    ("proxy", &["proxy_pass", "reverse_proxy", "upstream", "backend"]),
    ("location", &["to", "target", "redirect_to"]),
    ("listing", &["autoindex", "browse", "directory_listing"]),
    ("response_headers", &["headers", "add_header", "header"]),
    ("request_headers", &["proxy_set_header"]),
    ("cors", &["cross_origin", "access_control"]),
    ("origins", &["origin", "allow_origin", "allow_origins", "allowed_origins", "allowOrigins"]),
    ("methods", &["method", "allow_methods", "allowed_methods"]),
    ("headers", &["header", "allow_headers", "allowed_headers"]),
    ("expose", &["expose_headers", "exposed_headers"]),
    ("credentials", &["allow_credentials"]),
    ("mirror", &["shadow", "tee", "mirror_to", "copy_to"]),
    ("sample", &["percent", "percentage", "rate", "sampling"]),
    ("maintenance", &["closed", "down", "maintenance_mode"]),
    ("limit_requests", &["limit_req", "rate_limit", "ratelimit", "rate_limits", "throttle"]),
    ("limit_connections", &["limit_conn", "max_concurrent", "concurrency_limit"]),
    (
        "authenticate",
        &["auth", "authentication", "auth_basic", "basic_auth", "basicauth", "auth_request", "forward_auth"],
    ),
    ("basic", &["password", "passwords", "htpasswd", "auth_basic", "auth_basic_user_file"]),
    ("jwt", &["token", "bearer", "auth_jwt", "oauth2", "openid"]),
    ("forward", &["auth_request", "forward_auth", "forwardAuth", "subrequest"]),
    ("client_certificate", &["mtls", "certificate", "ssl_verify_client"]),
    ("exempt", &["except", "allow", "whitelist", "allowlist", "allow_list"]),
    ("errors", &["error_page", "error_pages"]),
    // Conditions.
    ("uri", &["path", "url", "location", "prefix", "uris", "paths"]),
    ("host", &["server_name", "domain", "hostname", "domains", "vhost"]),
    ("method", &["verb"]),
    ("arguments", &["args", "params", "parameters", "get"]),
    ("query", &["query_string", "querystring"]),
    ("source", &["ip", "client", "remote_addr", "client_ip", "address"]),
    ("scheme", &["proto", "protocol"]),
    // Applications.
    ("type", &["language", "runtime", "kind"]),
    ("processes", &["workers", "instances", "pm.max_children"]),
    ("environment", &["env", "environ", "variables"]),
    ("working_directory", &["cwd", "chdir", "directory", "workdir", "dir"]),
    ("executable", &["command", "cmd", "exec", "program", "binary", "path"]),
    ("arguments", &["argv"]),
    ("root", &["document_root", "docroot", "webroot", "web_root", "path", "folder"]),
    ("options", &["ini", "php_ini", "php_value", "php_admin_value", "settings"]),
    ("admin", &["php_admin_value"]),
    ("home", &["venv", "virtualenv"]),
    ("path", &["python_path", "pythonpath"]),
    ("module", &["wsgi", "wsgi_module", "asgi_module", "application", "app"]),
    ("callable", &["application", "app", "function", "object"]),
    ("protocol", &["interface"]),
    ("script", &["rackup", "config_ru", "psgi", "entry", "entrypoint", "main", "app", "front_controller"]),
    ("webapp", &["war", "root"]),
    ("component", &["module", "wasm"]),
    ("requests", &["max_requests", "pm.max_requests"]),
    ("timeout", &["request_timeout", "max_execution_time", "request_terminate_timeout"]),
    ("slow", &["request_slowlog_timeout"]),
    ("spare", &["min", "min_spare", "pm.min_spare_servers"]),
    // Settings and upstreams.
    ("max_body_size", &["client_max_body_size", "body_limit", "max_request_size"]),
    ("listen_threads", &["worker_processes", "threads"]),
    ("idle_timeout", &["keepalive_timeout", "keep_alive"]),
    ("connections", &["worker_connections", "max_connections"]),
    ("compression", &["gzip", "compress"]),
    ("servers", &["members", "backends", "hosts", "addresses"]),
    ("balance", &["lb", "policy", "method", "load_balancing", "lb_policy"]),
    ("health", &["health_check", "healthcheck"]),
];

/// Names, a name that is known beside them, and what to do instead.
const REMARKS: &[(&[&str], &str, &str)] = &[
    (&["redirect", "rewrite_to"], "return", "A redirect is \"return\": 301 with a \"location\"."),
    (
        &["try_files", "index_files"],
        "share",
        "Give \"share\" the paths to try, one after the other, and \"fallback\" the action when there is none.",
    ),
    (
        &["fastcgi_pass"],
        "pass",
        "PHP needs no other server: give \"pass\" the name of an application of the type \"php\".",
    ),
    (
        &["certificates"],
        "listeners",
        "Certificates are uploaded: by `corral certificate put NAME FILE`, or to /certificates/NAME of the control \
        API.",
    ),
    (
        &["js_modules"],
        "listeners",
        "JavaScript modules are uploaded: by `corral js-module put NAME FILE`, or to /js_modules/NAME of the control \
        API.",
    ),
    (
        &["max_body_size", "client_max_body_size"],
        "listen_threads",
        "It belongs into \"http\": settings/http/max_body_size.",
    ),
    (
        &["port", "listen"],
        "backlog",
        "The address of a listener is its name: \"listeners\": {\"*:80\": {…}}.",
    ),
];

#[cfg(test)]
mod tests {
    use super::{REMARKS, SYNONYMS};

    /// A name that no object has would never be suggested.
    #[test]
    fn every_right_name_is_one() {
        let schema = String::from_utf8(crate::configuration_schema().compact()).unwrap();
        let rights =
            SYNONYMS.iter().map(|(right, _)| *right).chain(REMARKS.iter().map(|(_, beside, _)| *beside));
        let missing: Vec<_> = rights.filter(|right| !schema.contains(&format!("\"{right}\":"))).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
