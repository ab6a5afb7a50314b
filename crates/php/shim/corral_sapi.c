/* The SAPI callbacks: where PHP's output, input and messages go. */

#include "corral_internal.h"

#include <sys/uio.h>
#include <unistd.h>

/* Fields of a response that fit without an allocation. */
#define FIELDS_ON_STACK 32

void corral_log(int descriptor, const char *line, size_t len)
{
    ssize_t ignored = write(descriptor, line, len);

    (void) ignored;
}

/* Output of start-up has no client; the log is the only reader. */
static size_t write_to_log(const char *data, size_t len)
{
    corral_log(STDERR_FILENO, data, len);
    return len;
}

static size_t sapi_corral_ub_write(const char *data, size_t len)
{
    corral_call_t *call = corral_call();

    if (call == NULL) {
        return write_to_log(data, len);
    }
    if (call->finished || len == 0) {
        return len;
    }
    if (corral_host->stranger() != 0) {
        /* A process that the script has forked has no client: what it prints is in the log. */
        corral_log(STDOUT_FILENO, data, len);
        return len;
    }
    if (corral_host->write(call->request->call, data, len) != 0) {
        php_handle_aborted_connection();
        return 0;
    }
    return len;
}

/* As in php-fpm: without output there is no head yet, so nothing is sent, and scripts go on to say what is in it. */
static void sapi_corral_flush(void *context)
{
    corral_call_t *call = context;

    if (call == NULL || call->finished || corral_host->stranger() != 0) {
        return;
    }
    corral_host->flush(call->request->call);
    /* A loop that has nothing to send learns it here, whether it has begun or not. */
    if (corral_host->gone(call->request->call) != 0) {
        php_handle_aborted_connection();
    }
}

/* "Name: value" as PHP keeps it; a line without a colon yields an empty name. */
static corral_field_t split_header(const sapi_header_struct *header)
{
    corral_field_t field = {{header->header, 0}, {header->header, 0}};
    const char *end = header->header + header->header_len;
    const char *colon = memchr(header->header, ':', header->header_len);
    const char *value;

    if (colon == NULL) {
        return field;
    }
    field.name.len = (size_t) (colon - header->header);
    for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++) {
    }
    field.value.data = value;
    field.value.len = (size_t) (end - value);
    return field;
}

/*
 * CGI programs set the status by a field, and scripts written for php-fpm do too. The field is
 * never sent on. Returns 0 unless it begins with three digits.
 */
static int status_of_field(corral_slice_t value)
{
    const char *s = value.data;

    if (value.len < 3 || !isdigit((unsigned char) s[0]) || !isdigit((unsigned char) s[1])
        || !isdigit((unsigned char) s[2])) {
        return 0;
    }
    return (s[0] - '0') * 100 + (s[1] - '0') * 10 + (s[2] - '0');
}

/* A client that has the content knows its type: php-fpm does not say it again either. */
static bool is_unwanted(corral_slice_t name, int status)
{
    return status == 304 && name.len == 12 && strncasecmp(name.data, "content-type", 12) == 0;
}

/* Writes what goes to the client into `fields` and lets a Status field override a plain 200. */
static size_t collect_fields(sapi_headers_struct *headers, corral_field_t *fields, int *status)
{
    zend_llist_position position;
    size_t n = 0;
    sapi_header_struct *header = zend_llist_get_first_ex(&headers->headers, &position);

    for (; header != NULL; header = zend_llist_get_next_ex(&headers->headers, &position)) {
        corral_field_t field = split_header(header);

        if (field.name.len == 0 || is_unwanted(field.name, *status)) {
            continue;
        }
        if (field.name.len == 6 && strncasecmp(field.name.data, "status", 6) == 0) {
            int said = status_of_field(field.value);
            *status = *status == 200 && said >= 200 ? said : *status;
            continue;
        }
        fields[n++] = field;
    }
    return n;
}

/* Informs the client before its response, with the fields that stand so far; they stay for the response. */
int corral_inform(int status)
{
    corral_call_t *call = corral_call();
    sapi_headers_struct *headers = &SG(sapi_headers);
    corral_field_t *fields;
    size_t n_fields;
    int refused;

    if (call == NULL || call->finished || SG(headers_sent)) {
        return -1;
    }
    fields = safe_emalloc(zend_llist_count(&headers->headers), sizeof(*fields), 1);
    n_fields = collect_fields(headers, fields, &(int) {0});
    refused = corral_host->inform(call->request->call, (uint16_t) status, fields, n_fields);
    efree(fields);
    return refused != 0 ? -1 : 0;
}

static int sapi_corral_send_headers(sapi_headers_struct *headers)
{
    corral_field_t on_stack[FIELDS_ON_STACK];
    corral_field_t *fields = on_stack;
    corral_call_t *call = corral_call();
    size_t n_lines = zend_llist_count(&headers->headers);
    int status = headers->http_response_code != 0 ? headers->http_response_code : 200;
    size_t n_fields;

    if (call == NULL || call->finished || SG(request_info).no_headers) {
        return SAPI_HEADER_SENT_SUCCESSFULLY;
    }
    if (n_lines > FIELDS_ON_STACK) {
        fields = safe_emalloc(n_lines, sizeof(*fields), 0);
    }
    n_fields = collect_fields(headers, fields, &status);
    corral_host->head(call->request->call, (uint16_t) status, fields, n_fields);
    if (fields != on_stack) {
        efree(fields);
    }
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static size_t sapi_corral_read_post(char *buffer, size_t len)
{
    corral_call_t *call = corral_call();

    return call == NULL ? 0 : corral_host->read(call->request->call, buffer, len);
}

static char *sapi_corral_read_cookies(void)
{
    corral_call_t *call = corral_call();

    return call == NULL ? NULL : (char *) call->request->cookie;
}

/* One system call for each message, so that lines of several workers do not mix. */
static void sapi_corral_log_message(const char *message, int level)
{
    static const char prefix[] = "php message: ";
    struct iovec pieces[3] = {
        {(void *) prefix, sizeof(prefix) - 1},
        {(void *) message, strlen(message)},
        {(void *) "\n", 1},
    };
    ssize_t ignored = writev(STDERR_FILENO, pieces, 3);

    (void) ignored;
    (void) level;
}

/*
 * PHP's own extensions ask for two variables of CGI: Phar, where there is no $_SERVER and `sapi_name` is one of CGI's. Without
 * a script's name it crashes. The caller copies the text.
 */
static char *sapi_corral_getenv(const char *name, size_t len)
{
    static char *text;
    corral_call_t *call = corral_call();
    corral_slice_t value = {NULL, 0};

    if (call != NULL && len == 11 && memcmp(name, "SCRIPT_NAME", 11) == 0) {
        value = call->request->script_name;
    } else if (call != NULL && len == 9 && memcmp(name, "PATH_INFO", 9) == 0) {
        value = call->request->path_info;
    }
    if (value.len == 0) {
        return NULL;
    }
    text = safe_perealloc(text, value.len, 1, 1, 1);
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    return text;
}

static int sapi_corral_shutdown(sapi_module_struct *sapi)
{
    (void) sapi;
    return SUCCESS;
}

/* The name is one of those with which opcache enables itself; see report_name(). */
sapi_module_struct corral_sapi = {
    .name = "cli-server",
    .pretty_name = "Corral",
    .shutdown = sapi_corral_shutdown,
    .ub_write = sapi_corral_ub_write,
    .flush = sapi_corral_flush,
    .getenv = sapi_corral_getenv,
    .sapi_error = php_error,
    .send_headers = sapi_corral_send_headers,
    .read_post = sapi_corral_read_post,
    .read_cookies = sapi_corral_read_cookies,
    .register_server_variables = corral_register_variables,
    .log_message = sapi_corral_log_message,
    .php_ini_ignore_cwd = 1,
};

/* The Rust side (ffi.rs) asserts the same numbers, so that the two cannot drift apart. */
_Static_assert(sizeof(corral_field_t) == 32, "corral_field_t");
_Static_assert(sizeof(corral_options_t) == 64, "corral_options_t");
_Static_assert(sizeof(corral_setting_t) == 24, "corral_setting_t");
_Static_assert(sizeof(corral_request_t) == 360, "corral_request_t");
_Static_assert(offsetof(corral_request_t, php_self) == 96, "corral_request_t.php_self");
_Static_assert(offsetof(corral_request_t, fields) == 312, "corral_request_t.fields");
_Static_assert(sizeof(corral_worker_t) == 80, "corral_worker_t");
