//! The variables that every document knows: their names here, and those that other servers have for them.

use super::{TlsVariable, UpstreamVariable, Variable};

/// A variable as the manual shows it, or a name of other servers for which there is none.
#[derive(Debug, Clone, Copy)]
pub struct VariableRow {
    /// As it is written behind `$`, with `NAME` for a free part; empty if there is none.
    pub name: &'static str,
    /// The names that nginx has for it, without `$` and with blanks between them.
    pub nginx: &'static str,
    /// The form in which Apache has it in a log format or in a rewriting rule.
    pub apache: &'static str,
    /// In Markdown: the value; or, in a sentence, what is done in its place.
    pub meaning: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    One(&'static Variable),
    /// Makes a variable of the free part of its name.
    Family(fn(&str) -> Variable),
    Absent,
}

impl Variable {
    /// The variable that is written as `$name`; `dollar` is none.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        ROWS.iter().find_map(|row| match row.kind {
            Kind::One(variable) => (row.name == name).then(|| variable.clone()),
            Kind::Family(family) => {
                let rest = name.strip_prefix(row.stem())?;
                (!rest.is_empty()).then(|| family(rest))
            }
            Kind::Absent => None,
        })
    }
}

impl VariableRow {
    /// All of them, in the order of the manual.
    #[must_use]
    pub fn all() -> &'static [Self] {
        ROWS
    }

    /// The row of which this is nginx's name, or the word that Apache's rewriting rules have.
    pub(crate) fn of_others(name: &str) -> Option<(&'static Self, &str)> {
        let by_nginx = |row: &'static Self| {
            let mut names = row.nginx.split(' ').filter(|known| !known.is_empty());
            Some((row, names.find_map(|known| free_part(known, name))?))
        };
        let by_apache = || {
            let written = format!("%{{{name}}}");
            let row = ROWS.iter().find(|row| row.apache.split(' ').any(|known| known == written))?;
            Some((row, ""))
        };
        ROWS.iter().find_map(by_nginx).or_else(by_apache)
    }

    /// Whether a variable has exactly this name.
    pub(super) fn is_name(name: &[u8]) -> bool {
        ROWS.iter().any(|row| matches!(row.kind, Kind::One(_)) && row.name.as_bytes() == name)
    }

    /// The name without its free part.
    pub(crate) fn stem(&self) -> &'static str {
        self.name.strip_suffix("NAME").unwrap_or(self.name)
    }

    /// Whether the name ends in a free part.
    pub(crate) fn is_family(&self) -> bool {
        matches!(self.kind, Kind::Family(_))
    }
}

/// The free part of a name that `known` is the pattern of; empty where the pattern has none.
fn free_part<'n>(known: &str, name: &'n str) -> Option<&'n str> {
    match known.strip_suffix("NAME") {
        Some(stem) => name.strip_prefix(stem).filter(|rest| !rest.is_empty()),
        None => (known == name).then_some(""),
    }
}

/// A field's name as it is compared: lower case, `-` for `_`.
fn field_name(name: &str) -> Vec<u8> {
    name.to_ascii_lowercase().replace('_', "-").into_bytes()
}

const fn one(name: &'static str, variable: &'static Variable) -> VariableRow {
    VariableRow { name, nginx: "", apache: "", meaning: "", kind: Kind::One(variable) }
}

const fn family(name: &'static str, family: fn(&str) -> Variable) -> VariableRow {
    VariableRow { name, nginx: "", apache: "", meaning: "", kind: Kind::Family(family) }
}

/// Names of other servers for which there is no variable.
const fn absent(nginx: &'static str, apache: &'static str, meaning: &'static str) -> VariableRow {
    VariableRow { name: "", nginx, apache, meaning, kind: Kind::Absent }
}

impl VariableRow {
    const fn nginx(self, nginx: &'static str) -> Self {
        Self { nginx, ..self }
    }

    const fn apache(self, apache: &'static str) -> Self {
        Self { apache, ..self }
    }

    const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }
}

const ROWS: &[VariableRow] = &[
    // The request.
    one("method", &Variable::Method)
        .nginx("request_method")
        .apache("%m %{REQUEST_METHOD}")
        .means("the method as the client sent it"),
    one("request_line", &Variable::RequestLine)
        .nginx("request")
        .apache("%r %{THE_REQUEST}")
        .means("the first line as the client sent it; with HTTP/2 what HTTP/1 would have, with `HTTP/2.0`"),
    one("request_uri", &Variable::RequestUri)
        .nginx("request_uri")
        .means("the target as the client sent it, with its query; a `rewrite` does not change it"),
    one("protocol", &Variable::Protocol)
        .nginx("server_protocol")
        .apache("%H %{SERVER_PROTOCOL}")
        .means("the version of HTTP: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2.0` (beyond Unit)"),
    one("scheme", &Variable::Scheme)
        .nginx("scheme")
        .apache("%{REQUEST_SCHEME}")
        .means("`http` or `https`, as the client speaks it; also behind [trusted proxies](clients.md) (beyond Unit)"),
    one("uri", &Variable::Uri)
        .nginx("uri document_uri")
        .apache("%U %{REQUEST_URI}")
        .means("the decoded, normalised path; a `rewrite` changes it"),
    one("args", &Variable::Args)
        .nginx("args query_string")
        .apache("%{QUERY_STRING}")
        .means("the query as it stands in a target, without `?`; a `rewrite` changes it (beyond Unit)"),
    one("is_args", &Variable::IsArgs)
        .nginx("is_args")
        .means(
            "`?` if there is a query, else nothing: Apache's `%q` is `$is_args$args`; a `rewrite` has `?` itself \
             (beyond Unit)",
        ),
    one("received_args", &Variable::ReceivedArgs)
        .means("the query as the client sent it; a `rewrite` does not change it (beyond Unit)"),
    family("arg_NAME", |name| Variable::Argument(name.as_bytes().to_vec()))
        .nginx("arg_NAME")
        .means("the last parameter of this name, decoded (nginx: the first, as it came)"),
    one("host", &Variable::Host)
        .nginx("host")
        .apache("%{HTTP_HOST}")
        .means("the normalised `Host`: in lower case, without port"),
    family("header_NAME", |name| Variable::Header(field_name(name)))
        .nginx("http_NAME")
        .apache("%{NAME}i %{HTTP:NAME}")
        .means("the first request header of this name, `_` for `-`"),
    family("cookie_NAME", |name| Variable::Cookie(name.as_bytes().to_vec()))
        .nginx("cookie_NAME")
        .apache("%{NAME}C")
        .means("the first cookie of this name"),
    one("request_length", &Variable::RequestLength)
        .nginx("request_length bytes_received")
        .apache("%I")
        .means(
            "bytes of the request: its head, with HTTP/2 as HTTP/1 would have it, and its body if `Content-Length` \
             tells how long that is (beyond Unit)",
        ),
    one("request_id", &Variable::RequestId)
        .nginx("request_id")
        .apache("%L %{UNIQUE_ID}e")
        .means("32 hexadecimal digits, the same throughout a request"),
    // The client and the server.
    one("remote_addr", &Variable::RemoteAddr)
        .nginx("remote_addr realip_remote_addr binary_remote_addr proxy_protocol_addr")
        .apache("%a %h %{REMOTE_ADDR} %{REMOTE_HOST}")
        .means(
            "the client's address without port, behind [trusted proxies](clients.md) too; `unix:` for a Unix socket",
        ),
    one("remote_port", &Variable::RemotePort)
        .nginx("remote_port realip_remote_port proxy_protocol_port")
        .apache("%{remote}p %{REMOTE_PORT}")
        .means("the client's port; 0 where a trusted proxy tells the address alone (beyond Unit)"),
    one("remote_user", &Variable::RemoteUser)
        .nginx("remote_user")
        .apache("%u %{REMOTE_USER}")
        .means("the user that [`authenticate`](authentication.md) has let pass; empty without one"),
    family("jwt_claim_NAME", |name| Variable::Claim(name.to_owned()))
        .nginx("jwt_claim_NAME")
        .means(
            "a claim of [the token](authentication.md#tokens): an array with commas between its elements, an object \
             as JSON",
        ),
    one("server_name", &Variable::ServerName)
        .nginx("server_name")
        .apache("%v %V %{SERVER_NAME}")
        .means("`$host`, or `localhost` without one, as `SERVER_NAME` of applications (beyond Unit)"),
    one("server_addr", &Variable::ServerAddr)
        .nginx("server_addr proxy_protocol_server_addr")
        .apache("%A %{SERVER_ADDR}")
        .means("the address that the client has connected to; `unix:` for a Unix socket (beyond Unit)"),
    one("server_port", &Variable::ServerPort)
        .nginx("server_port proxy_protocol_server_port")
        .apache("%p %{SERVER_PORT}")
        .means("the port that the client has connected to; of a Unix socket 80, or 443 for HTTPS (beyond Unit)"),
    one("hostname", &Variable::Hostname)
        .nginx("hostname")
        .means("the name of the machine, as it was at the router's start (beyond Unit)"),
    one("listener", &Variable::Listener)
        .means("the listener as the configuration names it, such as `*:443` (beyond Unit)"),
    one("route", &Variable::Route)
        .means("the name of the last route on the way; empty if `routes` is an array (beyond Unit)"),
    one("application", &Variable::Application)
        .means("the name of the application that was asked last (beyond Unit)"),
    one("connection", &Variable::Connection)
        .nginx("connection")
        .means("the number of the connection, as in [the server's log](logs.md#the-servers-log) (beyond Unit)"),
    one("connection_requests", &Variable::ConnectionRequests)
        .nginx("connection_requests")
        .apache("%k")
        .means("which request of its connection it is, from 1 (Apache: from 0; beyond Unit)"),
    // TLS.
    one("tls_protocol", &Variable::Tls(TlsVariable::Protocol))
        .nginx("ssl_protocol")
        .apache("%{SSL_PROTOCOL}x")
        .means("`TLSv1.2` or `TLSv1.3`; all variables of TLS are empty without TLS (beyond Unit)"),
    one("tls_cipher", &Variable::Tls(TlsVariable::Cipher))
        .nginx("ssl_cipher")
        .apache("%{SSL_CIPHER}x")
        .means("the cipher suite in OpenSSL's spelling (beyond Unit)"),
    one("tls_group", &Variable::Tls(TlsVariable::Group))
        .nginx("ssl_curve")
        .means(
            "the group of the key exchange, such as `X25519`; empty in a resumed session of TLS 1.2 (beyond Unit)",
        ),
    one("tls_server_name", &Variable::Tls(TlsVariable::ServerName))
        .nginx("ssl_server_name ssl_preread_server_name")
        .apache("%{SSL_TLS_SNI}x")
        .means("the host name that the client has asked for in its first message (SNI; beyond Unit)"),
    one("tls_alpn", &Variable::Tls(TlsVariable::Alpn))
        .nginx("ssl_alpn_protocol")
        .means("the protocol that was agreed on by ALPN, `h2` or `http/1.1` (beyond Unit)"),
    one("tls_session_reused", &Variable::Tls(TlsVariable::SessionReused))
        .nginx("ssl_session_reused")
        .apache("%{SSL_SESSION_RESUMED}x")
        .means("`r` if a session was resumed, else `.` (beyond Unit)"),
    one("tls_client_verify", &Variable::Tls(TlsVariable::ClientVerify))
        .nginx("ssl_client_verify")
        .apache("%{SSL_CLIENT_VERIFY}x")
        .means(
            "`SUCCESS` if the client has shown [a certificate](authentication.md#certificates), else `NONE`; one that \
             is not valid ends the connection (beyond Unit)",
        ),
    one("tls_client_subject", &Variable::Tls(TlsVariable::ClientSubject))
        .nginx("ssl_client_s_dn")
        .apache("%{SSL_CLIENT_S_DN}x")
        .means("whose certificate it is: `CN=Alice, O=Example` (beyond Unit)"),
    one("tls_client_issuer", &Variable::Tls(TlsVariable::ClientIssuer))
        .nginx("ssl_client_i_dn")
        .apache("%{SSL_CLIENT_I_DN}x")
        .means("who has issued it, in the same form (beyond Unit)"),
    one("tls_client_serial", &Variable::Tls(TlsVariable::ClientSerial))
        .nginx("ssl_client_serial")
        .apache("%{SSL_CLIENT_M_SERIAL}x")
        .means("its serial number in hexadecimal, in capitals (beyond Unit)"),
    one("tls_client_fingerprint", &Variable::Tls(TlsVariable::ClientFingerprint))
        .nginx("ssl_client_fingerprint")
        .means("its SHA-256 in hexadecimal (nginx: SHA-1; beyond Unit)"),
    one("tls_client_not_before", &Variable::Tls(TlsVariable::ClientNotBefore))
        .nginx("ssl_client_v_start")
        .apache("%{SSL_CLIENT_V_START}x")
        .means(
            "the beginning of its validity, `2026-01-31T09:00:00Z` (nginx: `Jan 31 09:00:00 2026 GMT`; beyond Unit)",
        ),
    one("tls_client_not_after", &Variable::Tls(TlsVariable::ClientNotAfter))
        .nginx("ssl_client_v_end")
        .apache("%{SSL_CLIENT_V_END}x")
        .means("the end of its validity, in the same form (beyond Unit)"),
    one("tls_client_days_left", &Variable::Tls(TlsVariable::ClientDaysLeft))
        .nginx("ssl_client_v_remain")
        .apache("%{SSL_CLIENT_V_REMAIN}x")
        .means("whole days until then, 0 behind it (beyond Unit)"),
    one("tls_client_certificate", &Variable::Tls(TlsVariable::ClientCertificate))
        .nginx("ssl_client_escaped_cert")
        .means("the certificate itself in PEM, percent-encoded (beyond Unit)"),
    // Time.
    one("time_local", &Variable::TimeLocal)
        .nginx("time_local")
        .apache("%t")
        .means("`31/Dec/1986:19:40:00 +0300`; Apache has it in brackets"),
    one("time_iso8601", &Variable::TimeIso8601)
        .nginx("time_iso8601")
        .apache("%{%FT%T%z}t")
        .means("`1986-12-31T19:40:00+03:00` (beyond Unit)"),
    one("msec", &Variable::Msec)
        .nginx("msec")
        .apache("%{sec}t")
        .means("seconds since 1970, `S.mmm` (beyond Unit)"),
    one("request_time", &Variable::RequestTime)
        .nginx("request_time")
        .apache("%T %{ms}T %D")
        .means("seconds since the request's first byte, `S.mmm` (Apache: in the unit that it names)"),
    // The reply.
    one("status", &Variable::Status)
        .nginx("status")
        .apache("%s %>s")
        .means("the status of the reply, once it is known"),
    one("body_bytes_sent", &Variable::BodyBytesSent)
        .nginx("body_bytes_sent")
        .apache("%B %b")
        .means("bytes that were sent of the body"),
    one("bytes_sent", &Variable::BytesSent)
        .nginx("bytes_sent")
        .apache("%O")
        .means(
            "the same with the head, which is counted as HTTP/1 has it, and without what frames the body (beyond \
             Unit)",
        ),
    one("connection_end", &Variable::ConnectionEnd)
        .means(
            "why a [connection](tcp.md#logs-and-figures) has ended that was passed on; nothing for requests (beyond \
             Unit)",
        ),
    one("request_completion", &Variable::RequestCompletion)
        .nginx("request_completion")
        .apache("%X")
        .means("`OK` if all of the reply was sent, else nothing (beyond Unit)"),
    family("response_header_NAME", |name| Variable::ResponseHeader(field_name(name)))
        .nginx("sent_http_NAME upstream_http_NAME")
        .apache("%{NAME}o")
        .means("the first header of the reply of this name"),
    one("upstream_addr", &Variable::Upstream(UpstreamVariable::Address))
        .nginx("upstream_addr proxy_host")
        .means(
            "the server that a `proxy`, a gateway or an upstream has passed the request to; of several that were \
             tried, all, with a comma and a blank between them, here as below (beyond Unit)",
        ),
    one("upstream_status", &Variable::Upstream(UpstreamVariable::Status))
        .nginx("upstream_status")
        .means("its status, or `-` without a response (beyond Unit)"),
    one("upstream_connect_time", &Variable::Upstream(UpstreamVariable::ConnectTime))
        .nginx("upstream_connect_time")
        .means("seconds until it was connected, `S.mmm`; 0.000 on a kept connection (beyond Unit)"),
    one("upstream_header_time", &Variable::Upstream(UpstreamVariable::HeaderTime))
        .nginx("upstream_header_time")
        .means("seconds until the head of its response was there (beyond Unit)"),
    one("upstream_response_time", &Variable::Upstream(UpstreamVariable::ResponseTime))
        .nginx("upstream_response_time")
        .means("seconds until its response was over, or as many as have gone by (beyond Unit)"),
    // What there is in other ways, or not at all.
    absent("https", "%{HTTPS}", "Compare `$scheme` with `https`."),
    absent("content_type", "%{CONTENT_TYPE}", "`$header_content_type`"),
    absent("content_length", "%{CONTENT_LENGTH}", "`$header_content_length`"),
    absent("http2 http3 spdy", "", "Compare `$protocol` with `HTTP/2.0`."),
    absent(
        "sent_trailer_NAME upstream_trailer_NAME",
        "%{NAME}^to",
        "There are no variables of trailers.",
    ),
    absent("upstream_cookie_NAME", "", "`$response_header_set_cookie`"),
    absent("date_gmt", "", "`$response_header_date`, or `$time_iso8601`"),
    absent("date_local", "", "`$time_local`, or `$time_iso8601`"),
    absent(
        "connection_time",
        "",
        "There is no such variable; `$connection_requests` tells new connections from old ones.",
    ),
    absent(
        "pipe",
        "",
        "There is no such variable; `$connection_requests` counts the requests of a connection.",
    ),
    absent(
        "pid",
        "%P %{pid}P",
        "All requests are answered by the router; `$connection` tells connections apart.",
    ),
    absent("nginx_version", "%{SERVER_SOFTWARE}", "`$response_header_server`"),
    absent(
        "request_body request_body_file",
        "",
        "A body may be larger than memory, and is on its way while a request is answered; a `mirror` gets copies of \
         it.",
    ),
    absent(
        "document_root realpath_root",
        "%{DOCUMENT_ROOT}",
        "Paths of `share` and `root` are known, and links are followed for each request.",
    ),
    absent(
        "request_filename",
        "%f %{REQUEST_FILENAME} %{SCRIPT_FILENAME}",
        "A `share` finds files by itself, with a `fallback` where there is none.",
    ),
    absent(
        "fastcgi_script_name fastcgi_path_info",
        "%{PATH_INFO}",
        "The `params` of [`fastcgi`](fastcgi.md) have both without being told.",
    ),
    absent(
        "proxy_add_x_forwarded_for proxy_port",
        "",
        "Servers get [`X-Forwarded-For`](proxy.md) if `forwarded_headers` says so.",
    ),
    absent("upstream_cache_status", "", "There is no cache of responses."),
    absent(
        "upstream_bytes_received upstream_bytes_sent upstream_response_length upstream_queue_time \
         upstream_first_byte_time upstream_session_time upstream_last_server_name",
        "",
        "There is no such variable; `$bytes_sent` and `$upstream_response_time` come near.",
    ),
    absent(
        "ssl_client_cert ssl_client_raw_cert",
        "%{SSL_CLIENT_CERT}x",
        "`$tls_client_certificate`, without line ends",
    ),
    absent(
        "ssl_ciphers ssl_curves ssl_sigalg ssl_client_sigalg ssl_early_data ssl_session_id ssl_server_cert",
        "",
        "There is no such variable; `$tls_cipher` and `$tls_group` have what was agreed on.",
    ),
    absent(
        "ssl_client_s_dn_legacy ssl_client_i_dn_legacy",
        "",
        "`$tls_client_subject` and `$tls_client_issuer`",
    ),
    absent(
        "gzip_ratio",
        "",
        "There is no such variable; `$body_bytes_sent` is what was sent, compressed or not.",
    ),
    absent(
        "limit_rate limit_conn_status limit_req_status",
        "",
        "[Limits](limits.md) and [`limit_rate`](responses.md) are options of actions; a refused request has 429 or \
         503 as its `$status`.",
    ),
    absent(
        "secure_link secure_link_expires",
        "",
        "Signed links are a method of [`authenticate`](authentication.md).",
    ),
    absent(
        "invalid_referer uid_got uid_set uid_reset modern_browser ancient_browser msie",
        "",
        "A step's [conditions](routes.md#conditions), or JavaScript.",
    ),
    absent("geoip_NAME geoip2_NAME", "", "[A map](maps.md#geo) of networks."),
    absent("tcpinfo_NAME", "", "There are no variables of the kernel's figures."),
    absent("jwt_header_NAME jwt_payload", "", "`$jwt_claim_NAME`"),
    absent(
        "",
        "%{NAME}e %{ENV:NAME}",
        "There are no environment variables of requests; [a map](maps.md) has values by conditions.",
    ),
    absent("", "%l", "Always `-`: no client speaks that protocol any more."),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_stands_for_two_things() {
        for names in
            [|row: &VariableRow| row.nginx, |row: &VariableRow| row.apache, |row: &VariableRow| row.name]
        {
            let names: Vec<_> =
                ROWS.iter().flat_map(|row| names(row).split(' ')).filter(|name| !name.is_empty()).collect();
            let distinct: HashSet<_> = names.iter().collect();
            let twice: Vec<_> =
                names.iter().filter(|name| names.iter().filter(|other| other == name).count() > 1).collect();
            assert_eq!(distinct.len(), names.len(), "{twice:?}");
        }
    }

    #[test]
    fn each_row_says_what_it_means() {
        for row in ROWS {
            assert!(!row.meaning.is_empty(), "{row:?}");
            assert!(row.is_family() == row.name.ends_with("NAME"), "{row:?}");
            assert!(!row.name.is_empty() || matches!(row.kind, Kind::Absent), "{row:?}");
        }
    }

    /// `expect` is the name here; empty for what there is not.
    #[track_caller]
    fn check(name: &str, expect: Option<(&str, &str)>) {
        let found = VariableRow::of_others(name).map(|(row, rest)| (row.name, rest));
        assert_eq!(found, expect, "{name}");
    }

    #[test]
    fn names_of_others_are_known() {
        check("request_method", Some(("method", "")));
        check("query_string", Some(("args", "")));
        check("http_user_agent", Some(("header_NAME", "user_agent")));
        check("sent_http_x", Some(("response_header_NAME", "x")));
        check("REQUEST_METHOD", Some(("method", "")));
        check("HTTP_HOST", Some(("host", "")));
        check("pid", Some(("", "")));
        check("http_", None);
        check("nothing", None);
        check("", None);
        check("NAME", None);
    }
}
