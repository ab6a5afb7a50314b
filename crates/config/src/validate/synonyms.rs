//! Names that other servers have for an option, or that are the first to come to mind.

mod remarks;

use self::remarks::{REMARKS, REST};

/// The name that is meant by `written`, among those that are known at this place, and a sentence where a name
/// alone does not say enough.
pub(super) fn meant(
    written: &str,
    is_known: impl Fn(&str) -> bool,
) -> Option<(Option<&'static str>, String)> {
    let remark = REMARKS
        .iter()
        .find(|(names, beside, _)| is_known(beside) && names.iter().any(|name| is_same(name, written)));
    if let Some((_, _, sentence)) = remark {
        return Some((None, sentence.replace("{name}", written)));
    }
    let right = SYNONYMS
        .iter()
        .find(|(right, names)| is_known(right) && names.iter().any(|name| is_same(name, written)));
    right.map(|(right, _)| (Some(*right), String::new()))
}

/// The remark on a name that is near none, where an object has one for all of them.
pub(super) fn remark_on_the_rest(written: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let (_, sentence) = REST.iter().find(|(beside, _)| is_known(beside))?;
    Some(sentence.replace("{name}", written))
}

/// Compares names as `server_name`, `ServerName` and `server-name` are the same.
fn is_same(name: &str, written: &str) -> bool {
    plain(name).eq(plain(written))
}

fn plain(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).map(|c| c.to_ascii_lowercase())
}

/// Each name with what is written in its place.
const SYNONYMS: &[(&str, &[&str])] = &[
    // The document.
    ("applications", &["apps", "app", "application", "programs"]),
    ("listeners", &["listener"]),
    ("routes", &["route", "routing", "rules", "routers"]),
    ("access_log", &["access_logs", "accesslog", "log", "custom_log"]),
    ("upstreams", &["upstream", "backends", "pools", "load_balancers", "clusters"]),
    ("maps", &["map", "geo", "split_clients", "tables"]),
    // Maps.
    ("from", &["string", "variable", "input"]),
    ("table", &["map", "values", "entries"]),
    ("geo", &["networks", "ranges", "geoip"]),
    ("split", &["split_clients", "percentages", "shares"]),
    // Listeners.
    ("pass", &["route", "routes", "app", "application", "handler", "destination", "default_backend"]),
    ("tls", &["ssl", "https"]),
    (
        "https_only",
        &["hsts", "force_https", "https_redirect", "redirect_https", "redirect_to_https", "auto_https"],
    ),
    ("http2", &["h2", "http_2"]),
    ("backlog", &["listen_backlog"]),
    ("forwarded", &["real_ip", "trusted_proxies", "trust_proxy", "set_real_ip_from", "forwarded_headers"]),
    ("proxy_protocol", &["accept_proxy"]),
    ("sni", &["ssl_preread", "ssl_preread_server_name", "server_names", "req.ssl_sni"]),
    ("responses", &["proxy_responses"]),
    ("source", &["set_real_ip_from", "trusted", "trusted_proxies", "from"]),
    ("client_ip", &["real_ip_header", "header"]),
    ("recursive", &["real_ip_recursive"]),
    ("certificate", &["pem", "bundle", "certificates"]),
    ("acme", &["letsencrypt", "lets_encrypt", "automatic", "auto", "certbot", "cert_resolver"]),
    ("client", &["client_auth", "client_ca", "mtls", "ssl_client_certificate", "ssl_verify_client", "ca"]),
    ("session", &["ssl_session_cache", "ssl_session_timeout", "ssl_session_tickets"]),
    // Actions.
    ("return", &["status", "code", "respond"]),
    ("share", &["alias", "static", "file", "files", "file_server", "folder", "directory", "dir"]),
    ("proxy", &["proxy_pass", "reverse_proxy", "upstream", "backend", "grpc_pass", "proxy_to", "forward_to"]),
    ("uwsgi", &["uwsgi_pass"]),
    ("scgi", &["scgi_pass"]),
    ("location", &["to", "target", "redirect_to"]),
    ("body", &["text", "content", "html"]),
    ("content_type", &["default_type", "mime_type", "add_type"]),
    ("index", &["directory_index", "fastcgi_index", "index_files", "default_document"]),
    ("split_path", &["fastcgi_split_path_info"]),
    // Apache's word means this where there are both.
    ("environment", &["set_env"]),
    (
        "params",
        &[
            "fastcgi_param",
            "fastcgi_params",
            "uwsgi_param",
            "uwsgi_params",
            "scgi_param",
            "scgi_params",
            "set_env",
            "pass_env",
        ],
    ),
    ("follow_symlinks", &["disable_symlinks", "symlinks"]),
    ("listing", &["autoindex", "browse", "directory_listing"]),
    ("cache_control", &["cache", "caching", "max_age"]),
    ("expires", &["cache_control", "cache", "caching", "max_age"]),
    ("charset", &["add_default_charset", "override_charset", "source_charset"]),
    ("limit_rate", &["bandwidth", "bandwidth_limit", "throttle_rate", "set_output_filter_rate_limit"]),
    ("substitute", &["sub_filter", "subs_filter", "replace", "substitution", "replacements"]),
    ("substitute_types", &["sub_filter_types"]),
    ("gunzip", &["decompress", "inflate", "uncompress"]),
    ("clean_urls", &["clean_url", "pretty_urls", "strip_html", "try_html"]),
    ("request_id", &["x_request_id", "correlation_id", "unique_id", "trace_id"]),
    ("spa", &["single", "single_page", "history_fallback", "history_api_fallback", "fallback_resource"]),
    (
        "response_headers",
        &[
            "headers",
            "add_header",
            "header",
            "set_header",
            "set_headers",
            "more_set_headers",
            "custom_headers",
        ],
    ),
    ("request_headers", &["proxy_set_header", "request_header", "header_up", "custom_request_headers"]),
    ("rewrite", &["url_rewrite", "replace_path"]),
    ("try", &["try_files", "tryfiles"]),
    ("strip_prefix", &["strip", "stripprefix", "strip_path", "uri_strip_prefix", "remove_prefix"]),
    ("add_prefix", &["addprefix", "prepend", "path_prefix"]),
    ("cors", &["cross_origin", "access_control"]),
    ("origins", &["origin", "allow_origin", "allow_origins", "allowed_origins"]),
    ("methods", &["method", "allow_methods", "allowed_methods"]),
    ("headers", &["header", "allow_headers", "allowed_headers", "http_headers"]),
    ("expose", &["expose_headers", "exposed_headers"]),
    ("credentials", &["allow_credentials"]),
    ("mirror", &["shadow", "tee", "mirror_to", "copy_to"]),
    ("sample", &["percent", "percentage", "rate", "sampling"]),
    ("maintenance", &["closed", "down", "maintenance_mode"]),
    ("limit_requests", &["limit_req", "rate_limit", "ratelimit", "rate_limits", "throttle"]),
    ("limit_connections", &["limit_conn", "max_concurrent", "concurrency_limit", "in_flight_req"]),
    ("rate", &["requests", "average", "limit"]),
    ("key", &["zone", "limit_req_zone", "limit_conn_zone", "by"]),
    (
        "authenticate",
        &[
            "auth",
            "authentication",
            "auth_basic",
            "basic_auth",
            "auth_basic_user_file",
            "auth_type",
            "auth_name",
            "auth_user_file",
            "auth_request",
            "forward_auth",
            "htpasswd",
        ],
    ),
    ("basic", &["password", "passwords", "htpasswd", "auth_basic", "auth_basic_user_file"]),
    ("file", &["auth_basic_user_file", "auth_user_file", "htpasswd", "users_file"]),
    ("realm", &["auth_basic", "auth_name"]),
    ("jwt", &["token", "bearer", "auth_jwt", "oauth2", "openid"]),
    ("forward", &["auth_request", "forward_auth", "subrequest"]),
    ("signed_link", &["secure_link", "signed_url", "secure_link_md5", "signed_urls"]),
    ("secrets", &["secret", "key", "keys", "secure_link_secret"]),
    ("client_certificate", &["mtls", "certificate", "ssl_verify_client"]),
    ("exempt", &["except", "allow", "whitelist", "allowlist", "allow_list"]),
    ("errors", &["error_page", "error_pages", "error_document", "handle_errors"]),
    ("internal_redirect", &["x_accel_redirect", "x_sendfile"]),
    // Conditions.
    ("uri", &["path", "url", "location", "prefix", "uris", "paths", "path_prefix", "document_uri"]),
    ("host", &["server_name", "domain", "hostname", "domains", "vhost", "server_alias", "hosts"]),
    ("method", &["verb", "methods", "limit_except"]),
    ("arguments", &["args", "params", "parameters", "get"]),
    ("query", &["query_string"]),
    ("cookies", &["cookie"]),
    ("source", &["ip", "client", "remote_addr", "client_ip", "address", "remote_ip", "remote_address"]),
    ("scheme", &["proto", "protocol"]),
    ("if", &["condition", "when", "expression"]),
    ("file", &["files", "exists", "file_exists", "is_file", "is_dir", "is_folder", "request_filename"]),
    // Applications.
    ("type", &["language", "runtime", "kind"]),
    (
        "processes",
        &[
            "workers",
            "instances",
            "pm.max_children",
            "num_workers",
            "worker_processes",
            "replicas",
            "children",
        ],
    ),
    ("threads", &["worker_threads", "num_threads"]),
    ("environment", &["env", "environ", "variables", "set_env", "env_vars", "environment_variables"]),
    ("working_directory", &["cwd", "chdir", "directory", "workdir", "dir"]),
    ("executable", &["command", "cmd", "exec", "program", "binary", "path"]),
    ("arguments", &["argv"]),
    ("root", &["document_root", "docroot", "webroot", "web_root", "path", "folder"]),
    ("options", &["ini", "php_ini", "php_value", "php_admin_value", "settings"]),
    ("admin", &["php_admin_value", "php_admin_flag"]),
    ("user", &["php_value", "php_flag", "run_as", "uid", "owner"]),
    ("group", &["gid"]),
    ("options_by_path", &["options_by_folder", "per_dir", "htaccess"]),
    ("home", &["venv", "virtualenv"]),
    ("path", &["python_path", "pythonpath"]),
    ("module", &["wsgi", "wsgi_module", "asgi_module", "application", "app", "wsgi_script_alias"]),
    ("callable", &["application", "app", "function", "object"]),
    ("protocol", &["interface", "mode", "transport"]),
    ("script", &["rackup", "config_ru", "psgi", "entry", "entrypoint", "main", "app", "front_controller"]),
    ("webapp", &["war", "root"]),
    ("component", &["module", "wasm"]),
    ("requests", &["max_requests", "pm.max_requests"]),
    ("timeout", &["request_timeout", "max_execution_time", "request_terminate_timeout"]),
    ("slow", &["request_slowlog_timeout"]),
    ("spare", &["min", "min_spare", "pm.min_spare_servers"]),
    ("stderr", &["error_log", "errorlog"]),
    ("stdout", &["log_file", "output"]),
    ("inherit_environment", &["clear_env"]),
    // Settings and upstreams.
    ("max_body_size", &["client_max_body_size", "body_limit", "max_request_size", "limit_request_body"]),
    (
        "request_buffering",
        &[
            "buffering",
            "proxy_request_buffering",
            "fastcgi_request_buffering",
            "scgi_request_buffering",
            "uwsgi_request_buffering",
        ],
    ),
    ("listen_threads", &["worker_processes", "threads"]),
    ("idle_timeout", &["keepalive_timeout", "keep_alive", "proxy_timeout"]),
    ("header_read_timeout", &["client_header_timeout", "read_header_timeout"]),
    ("body_read_timeout", &["client_body_timeout"]),
    ("large_header_buffers", &["large_client_header_buffers"]),
    ("body_buffer_size", &["client_body_buffer_size"]),
    ("body_temp_path", &["client_body_temp_path"]),
    ("discard_unsafe_fields", &["ignore_invalid_headers", "underscores_in_headers"]),
    ("server_version", &["server_tokens", "server_signature"]),
    ("connections", &["worker_connections", "max_connections", "max_request_workers"]),
    ("connections_per_address", &["max_connections_per_ip"]),
    ("compression", &["gzip", "compress", "brotli", "encode", "deflate"]),
    ("types", &["gzip_types", "mime_types"]),
    ("level", &["gzip_comp_level", "comp_level"]),
    ("min_length", &["gzip_min_length"]),
    ("mime_types", &["types"]),
    ("cache_valid", &["open_file_cache", "open_file_cache_valid"]),
    (
        "servers",
        &["server", "members", "backends", "hosts", "addresses", "nodes", "targets", "endpoints", "urls"],
    ),
    ("balance", &["lb", "policy", "method", "load_balancing", "lb_policy", "strategy", "algorithm"]),
    ("health", &["health_check", "healthcheck", "health_checks", "check"]),
    ("down", &["disabled", "offline", "enabled"]),
    ("backup", &["reserve", "standby", "spare"]),
    ("max_conns", &["maxconn", "max_connections", "connections", "limit_conn", "slots"]),
    ("slow_start", &["slowstart", "warmup", "warm_up"]),
    ("queue", &["maxqueue", "max_queue", "queue_size"]),
    ("size", &["length", "max", "limit"]),
    ("retry_on", &["proxy_next_upstream", "next_upstream", "retry", "fastcgi_next_upstream"]),
    ("retry_timeout", &["proxy_next_upstream_timeout"]),
    ("sticky", &["sticky_cookie", "session_affinity", "affinity", "sticky_session", "stickiness"]),
    ("httponly", &["http_only"]),
    ("same_site", &["samesite"]),
    ("secret", &["key", "dynamic_cookie_key"]),
    ("bind", &["proxy_bind", "source_address", "local_address", "source"]),
    ("proxy_protocol", &["send_proxy", "send-proxy", "send-proxy-v2", "send_proxy_v2"]),
    ("certificate", &["proxy_ssl_certificate", "client_certificate", "crt"]),
    ("rewrite_location", &["proxy_redirect", "proxy_pass_reverse"]),
    ("rewrite_cookies", &["proxy_cookie_domain", "proxy_cookie_path", "proxy_cookie_flags"]),
    ("retries", &["proxy_next_upstream_tries", "max_tries"]),
    ("http2", &["grpc", "h2c", "proxy_http_version"]),
    ("verify", &["proxy_ssl_verify", "ssl_verify"]),
    ("ca", &["proxy_ssl_trusted_certificate", "ca_file", "trusted_certificate"]),
    ("server_name", &["proxy_ssl_name", "sni"]),
    ("connect", &["proxy_connect_timeout"]),
    ("response", &["proxy_read_timeout", "response_header_timeout"]),
    ("send", &["proxy_send_timeout"]),
    // The access log.
    ("path", &["file", "filename"]),
    ("format", &["log_format", "fields"]),
];

#[cfg(test)]
mod tests {
    use super::remarks::{REMARKS, REST};
    use super::{SYNONYMS, is_same};

    /// A name that no object has would never be suggested.
    #[test]
    fn every_right_name_is_one() {
        let schema = String::from_utf8(crate::configuration_schema().compact()).unwrap();
        let rights = SYNONYMS
            .iter()
            .map(|(right, _)| *right)
            .chain(REMARKS.iter().map(|(_, beside, _)| *beside))
            .chain(REST.iter().map(|(beside, _)| *beside));
        let missing: Vec<_> = rights.filter(|right| !schema.contains(&format!("\"{right}\":"))).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn names_are_compared_by_their_letters() {
        for (name, written) in
            [("server_name", "ServerName"), ("pm.max_children", "pm-max-children"), ("a", "A")]
        {
            assert!(is_same(name, written), "{written}");
        }
        for written in ["server_names", "erver_name", ""] {
            assert!(!is_same("server_name", written), "{written}");
        }
    }
}
