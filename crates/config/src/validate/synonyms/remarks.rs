//! Remedies for names that are right elsewhere, or that have no counterpart of one word.

/// Names, a name that is known beside them, and what to do instead. `{name}` stands for what was written.
pub(super) const REMARKS: &[(&[&str], &str, &str)] = &[
    // The document.
    (&["port", "listen", "bind", "address", "ports", "entrypoints", "frontend"], "listeners", ADDRESSES),
    (
        &["server", "servers", "vhost", "vhosts", "virtual_host", "virtual_hosts", "sites"],
        "listeners",
        VIRTUAL_HOST,
    ),
    (&["server_name", "server_alias", "domain", "domains", "host", "hostname"], "listeners", HOST),
    (
        &["location", "locations", "uri", "path", "paths", "handle", "match", "action"],
        "listeners",
        "Paths are conditions of steps: \"routes\": [{\"match\": {\"uri\": \"/api/*\"}, \"action\": {…}}].",
    ),
    (
        &["root", "document_root", "docroot", "webroot", "share", "static", "files", "file_server", "public"],
        "listeners",
        "Files are served by an action: \"routes\": [{\"action\": {\"share\": \"/srv/www$uri\"}}].",
    ),
    (
        &["proxy", "proxy_pass", "reverse_proxy", "backend", "services"],
        "listeners",
        "Another server is named by an action: \"routes\": [{\"action\": {\"proxy\": \"http://127.0.0.1:3000\"}}].",
    ),
    (
        &["tls", "ssl", "https", "certificate", "acme", "letsencrypt"],
        "listeners",
        "TLS belongs to a listener: \"listeners\": {\"*:443\": {\"pass\": \"routes\", \"tls\": {…}}}.",
    ),
    (
        &["stream", "streams", "tcp", "udp"],
        "listeners",
        "Another protocol than HTTP is passed on by a listener: \"*:5432\": {\"protocol\": \"tcp\", \"pass\": \
        \"upstreams/NAME\"}.",
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
        &["user", "group"],
        "listeners",
        "The daemon's own is told to it at its start, as `--{name} NAME`; that of an application is its \"{name}\".",
    ),
    (
        &["include", "includes", "import"],
        "listeners",
        "Several files are merged: name them all, or their folder, as in `corral check FOLDER` and \
        `corral run --config FOLDER`.",
    ),
    (
        &["error_log", "log_level", "logging", "pid", "pid_file"],
        "listeners",
        "The daemon's log and process id are told to it at its start: `--log FILE`, `--pid FILE`.",
    ),
    (
        &["worker_processes", "threads", "listen_threads", "http", "limits"],
        "listeners",
        "It belongs in \"settings\", as \"listen_threads\", \"http\" and \"limits\" do.",
    ),
    (
        &[
            "gzip",
            "compression",
            "encode",
            "max_body_size",
            "client_max_body_size",
            "keepalive_timeout",
            "idle_timeout",
            "server_tokens",
            "mime_types",
            "types",
        ],
        "listeners",
        "It belongs in \"settings\": {\"http\": {…}}.",
    ),
    (
        &["php", "python", "ruby", "perl", "node", "nodejs", "java", "go", "processes", "workers", "command"],
        "listeners",
        "An application has a name and a type: \"applications\": {\"NAME\": {\"type\": \"php\", …}}.",
    ),
    // Listeners.
    (
        &[
            "response_headers",
            "request_headers",
            "headers",
            "cors",
            "errors",
            "access_log",
            "params",
            "max_body_size",
            "body_read_timeout",
            "send_timeout",
        ],
        "backlog",
        "What holds for all requests of a listener belongs in its \"defaults\": {\"{name}\": …}.",
    ),
    (
        &["port", "listen", "bind", "address"],
        "backlog",
        "The address of a listener is its name: \"listeners\": {\"*:80\": {…}}.",
    ),
    (&["server_name", "server_alias", "domain", "domains", "host", "hostname"], "backlog", HOST),
    (
        &[
            "location",
            "locations",
            "root",
            "document_root",
            "index",
            "share",
            "proxy",
            "proxy_pass",
            "reverse_proxy",
            "return",
            "redirect",
            "rewrite",
            "try_files",
            "action",
            "match",
            "response_headers",
            "add_header",
            "error_page",
        ],
        "backlog",
        "A listener passes requests on: \"pass\": \"routes\"; in \"routes\" each step has a \"match\" and an \
         \"action\".",
    ),
    (
        &["certificate", "certificates", "cert", "ssl_certificate", "ssl_certificate_key", "key", "acme"],
        "backlog",
        "TLS has an object of its own: \"tls\": {\"certificate\": \"NAME\"}, or \"tls\": {\"acme\": true}.",
    ),
    (&["http3", "h3", "quic"], "backlog", "HTTP/3 is not spoken; HTTP/2 is, wherever there is TLS."),
    (
        &[
            "key",
            "private_key",
            "key_file",
            "ssl_certificate_key",
            "cert",
            "crt",
            "cert_file",
            "ssl_certificate",
            "chain",
        ],
        "conf_commands",
        super::super::advice::BUNDLE,
    ),
    (
        &["protocols", "ssl_protocols", "min_version", "tls_min_version", "versions", "protocol"],
        "conf_commands",
        "Versions are named by \"conf_commands\": {\"MinProtocol\": \"TLSv1.2\"}.",
    ),
    (
        &["ciphers", "ssl_ciphers", "cipher_suites"],
        "conf_commands",
        "Cipher suites are named by \"conf_commands\": {\"CipherString\": \"…\", \"Ciphersuites\": \"…\"}.",
    ),
    // Steps.
    (
        &[
            "uri",
            "path",
            "location",
            "prefix",
            "url",
            "host",
            "server_name",
            "domain",
            "method",
            "query",
            "arguments",
            "headers",
            "cookies",
            "source",
            "scheme",
            "if",
            "condition",
            "rule",
        ],
        "match",
        "Conditions belong in \"match\": {\"match\": {\"uri\": \"/api/*\"}, \"action\": {…}}.",
    ),
    (
        &["pass", "return", "share", "proxy", "fastcgi", "scgi", "uwsgi"],
        "match",
        "What is done belongs in \"action\": {\"action\": {\"{name}\": …}}.",
    ),
    (
        &[
            "root",
            "alias",
            "proxy_pass",
            "reverse_proxy",
            "redirect",
            "rewrite",
            "try_files",
            "handler",
            "file_server",
            "response_headers",
        ],
        "match",
        "What is done belongs in \"action\": {\"action\": {…}}, with \"pass\", \"share\", \"proxy\" or \"return\".",
    ),
    (
        &["allow", "deny", "from", "require", "ip_allow_list", "ip_white_list"],
        "scheme",
        "Clients are chosen by \"source\": [\"10.0.0.0/8\"], and \"!10.0.0.0/8\" stands for all others.",
    ),
    (
        &["not", "except", "unless"],
        "scheme",
        "A \"!\" in front of a pattern negates it: \"uri\": \"!/admin/*\".",
    ),
    // Actions.
    (
        &["redirect", "rewrite_to", "redir", "redirect_permanent", "redirect_match", "redirect_regex"],
        "return",
        "A redirect is \"return\": 301 with a \"location\".",
    ),
    (
        &["try_files"],
        "share",
        "Give \"share\" the paths to try, one after the other, and \"fallback\" the action when there is none. Beside \
        \"pass\" and \"fastcgi\" they are \"try\".",
    ),
    (
        &["root", "document_root", "docroot", "webroot"],
        "share",
        "Files are served by \"share\": \"/srv/www$uri\"; the folder of scripts is the \"root\" of their application.",
    ),
    (
        &["root", "document_root", "docroot", "webroot"],
        "response_headers",
        "The folder of scripts is the \"root\" of their application; files are served by an action with \"share\". A \
        folder for \"try\" belongs in that: \"try\": {\"root\": \"/srv/site\", \"paths\": […]}.",
    ),
    (
        &["fastcgi_pass", "php_fastcgi", "php"],
        "pass",
        "PHP needs no other server: give \"pass\" the name of an application of the type \"php\".",
    ),
    (
        &["script_alias", "cgi", "cgi_bin", "cgi_pass"],
        "pass",
        "Scripts of CGI are an application of the type \"cgi\": \"pass\": \"applications/NAME\".",
    ),
    (
        &["wsgi_script_alias", "wsgi", "passenger_enabled"],
        "pass",
        "It is an application with a name: \"pass\": \"applications/NAME\".",
    ),
    (
        &["expires_by_type", "expires_default", "expires_active"],
        "expires",
        "How long responses may be kept says \"expires\": \"1d\", or by type {\"image/*\": \"30d\"}.",
    ),
    (
        &["secure_link", "secure_link_md5", "signed_link"],
        "authenticate",
        "It is a method of \"authenticate\": {\"signed_link\": {\"secrets\": FILE}}.",
    ),
    (
        &["limit_rate_after"],
        "limit_rate",
        "It is the burst of \"limit_rate\": {\"rate\": BYTES, \"burst\": BYTES}.",
    ),
    (
        &["charset_types", "gzip_types"],
        "charset",
        "Texts are known by their MIME types; those of compression are settings/http/compression/types.",
    ),
    (
        &["rewrite_rule", "rewrite_cond", "rewrite_engine", "replace_path_regex"],
        "rewrite",
        "\"rewrite\" is the new path; which requests get it says the \"match\" of the step.",
    ),
    (
        &["allow", "deny", "require", "whitelist", "ip_allow_list", "ip_white_list"],
        "response_headers",
        "Which clients an action is for says \"source\" in the \"match\" of the step; the step behind it answers the \
        others, as with \"return\": 403.",
    ),
    (
        &["if", "condition", "uri", "host", "server_name", "method", "location_match"],
        "response_headers",
        "Conditions belong in the \"match\" of the step, beside its \"action\".",
    ),
    (
        &["websocket", "websockets", "upgrade", "ws"],
        "proxy_options",
        "WebSocket needs no option: connections that ask for it are upgraded.",
    ),
    (
        &["timeout", "timeouts", "proxy_read_timeout", "proxy_connect_timeout", "proxy_send_timeout"],
        "proxy_options",
        "It belongs in \"proxy_options\": {\"timeouts\": {\"connect\": 5, \"response\": 60}}.",
    ),
    (
        &["gzip", "compression", "encode", "compress"],
        "response_headers",
        "Compression is switched on for all: \"settings\": {\"http\": {\"compression\": {…}}}.",
    ),
    // Applications.
    (
        &["port", "listen", "bind", "address", "server_name", "domain"],
        "working_directory",
        "Requests come from a listener or a step: \"pass\": \"applications/NAME\".",
    ),
    (
        &[
            "max_requests",
            "pm.max_requests",
            "memory",
            "max_memory",
            "timeout",
            "request_terminate_timeout",
            "harakiri",
        ],
        "working_directory",
        "It belongs in \"limits\": {\"requests\": 1000, \"timeout\": 60, \"memory\": 134217728}.",
    ),
    (
        &["watch", "reload", "autoreload", "debug"],
        "working_directory",
        "`corral run` watches the code; a daemon starts an application anew by `corral restart NAME`.",
    ),
    (
        &["rootfs", "namespaces", "cgroup", "seccomp", "chroot"],
        "working_directory",
        "It belongs in \"isolation\".",
    ),
    (
        &[
            "memory_limit",
            "upload_max_filesize",
            "post_max_size",
            "display_errors",
            "max_execution_time",
            "error_reporting",
            "open_basedir",
            "php_admin_flag",
            "php_flag",
        ],
        "options",
        "PHP's settings belong in \"options\": {\"admin\": {\"memory_limit\": \"256M\"}}.",
    ),
    (
        &["environment"],
        "params",
        "An environment is that of processes, which are the application's. \"params\" sets variables of requests.",
    ),
    // Settings and upstreams.
    (
        &["max_body_size", "client_max_body_size"],
        "listen_threads",
        "It belongs in \"http\": settings/http/max_body_size.",
    ),
    (
        &[
            "header_read_timeout",
            "body_read_timeout",
            "send_timeout",
            "idle_timeout",
            "keepalive_timeout",
            "server_version",
            "server_tokens",
            "error_format",
            "log_route",
            "compression",
            "gzip",
            "static",
            "mime_types",
            "websocket",
            "http2",
        ],
        "listen_threads",
        "It belongs in \"http\": \"settings\": {\"http\": {…}}.",
    ),
    (&["least_conn", "least_connections"], "servers", "Write \"balance\": \"least_connections\"."),
    (&["least_time"], "servers", "Write \"balance\": \"least_time\"."),
    (&["ip_hash", "hash", "sticky_ip"], "servers", "Write \"balance\": {\"hash\": \"$remote_addr\"}."),
    (
        &["access_log", "log"],
        "backlog",
        "The access log is one for all, beside \"listeners\"; its \"if\" chooses requests.",
    ),
];

/// Objects in which all other names mean the same thing, by a name that is known there.
pub(super) const REST: &[(&str, &str)] = &[(
    "sapi_name",
    "Settings of PHP belong in \"admin\", or in \"user\" where scripts may change them: \"options\": \
    {\"admin\": {\"{name}\": \"…\"}}.",
)];

const ADDRESSES: &str =
    "Addresses are the names of listeners: \"listeners\": {\"*:80\": {\"pass\": \"routes\"}}.";

const VIRTUAL_HOST: &str = "The port of a server is the name of a listener, and its host a condition of a step: \
    \"routes\": [{\"match\": {\"host\": \"example.org\"}, \"action\": {…}}].";

const HOST: &str = "Host names are conditions of steps: \"routes\": [{\"match\": {\"host\": \"example.org\"}, \
    \"action\": {…}}].";
