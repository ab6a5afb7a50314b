/* $_SERVER, registered only for scripts that look at it. */

#include "corral_internal.h"

#include "php_variables.h"

/* Names of request fields whose keys are remembered; a power of two. */
#define N_REMEMBERED 256

/* A longer name is turned into a key each time. */
#define LONGEST_REMEMBERED 48

#define FIXED_KEYS(X) \
    X(SERVER_SOFTWARE) X(SERVER_PROTOCOL) X(GATEWAY_INTERFACE) X(PHP_SELF) X(PATH_INFO) X(PATH_TRANSLATED) \
    X(SCRIPT_NAME) X(SCRIPT_FILENAME) X(DOCUMENT_ROOT) X(DOCUMENT_URI) X(REQUEST_METHOD) X(REQUEST_URI) \
    X(REQUEST_SCHEME) X(QUERY_STRING) X(REMOTE_ADDR) X(REMOTE_PORT) X(REMOTE_USER) X(AUTH_TYPE) X(SERVER_ADDR) X(SERVER_NAME) X(SERVER_PORT) X(HTTPS) X(CONTENT_LENGTH) \
    X(CONTENT_TYPE)

#define KEY_INDEX(name) KEY_##name,
enum key_index { FIXED_KEYS(KEY_INDEX) N_KEYS };

#define KEY_TEXT(name) #name,
static const char *const key_texts[N_KEYS] = {FIXED_KEYS(KEY_TEXT)};

static zend_string *keys[N_KEYS];

static zend_string *gateway_interface;

/* The environment that the application was started with, as far as it says nothing of requests. */
static struct {
    zend_string *name;
    zend_string *value;
} *environment;
static size_t n_environment;

extern char **environ;

/* Clients send the same few names with every request. Place in the table: see place_of(). */
static struct {
    char name[LONGEST_REMEMBERED];
    size_t len;
    /* NULL when the place is free. */
    zend_string *key;
} remembered[N_REMEMBERED];

/* The array to fill, and whether values go into it as they are. */
typedef struct {
    HashTable *variables;
    bool direct;
} sink_t;

static bool is_key(const char *name, size_t len)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strlen(key_texts[i]) == len && memcmp(key_texts[i], name, len) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * A variable that describes requests, or that PHP would give another name: what a request lacks must not come from
 * elsewhere, or a script would see a user or a field that was not sent.
 */
static bool is_of_requests(const char *name, size_t len)
{
    static const char *const prefixes[] = {"HTTP_", "PHP_AUTH_", "REQUEST_TIME", "REDIRECT_", "argv", "argc"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return len == 0 || is_key(name, len) || strcspn(name, " .[") < len;
}

static void remember_environment(void)
{
    size_t n = 0;

    while (environ != NULL && environ[n] != NULL) {
        n++;
    }
    environment = pecalloc(n + 1, sizeof(*environment), 1);
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(environ[i], "=");
        const char *value = environ[i] + len + 1;

        if (environ[i][len] == '=' && !is_of_requests(environ[i], len)) {
            environment[n_environment].name = zend_string_init_interned(environ[i], len, 1);
            environment[n_environment++].value = zend_string_init_interned(value, strlen(value), 1);
        }
    }
}

void corral_variables_prepare(void)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        keys[i] = zend_string_init_interned(key_texts[i], strlen(key_texts[i]), 1);
    }
    gateway_interface = zend_string_init_interned(ZEND_STRL("CGI/1.1"), 1);
    remember_environment();
}

void corral_variables_forget(void)
{
    for (size_t i = 0; i < N_REMEMBERED; i++) {
        if (remembered[i].key != NULL) {
            zend_string_release_ex(remembered[i].key, 1);
            remembered[i].key = NULL;
        }
    }
    pefree(environment, 1);
    environment = NULL;
    n_environment = 0;
}

/* Consumes `value`. */
static void put_filtered(const sink_t *sink, zend_string *key, zend_string *value)
{
    char *text = estrndup(ZSTR_VAL(value), ZSTR_LEN(value));
    size_t len = ZSTR_LEN(value);
    zval entry;

    if (sapi_module.input_filter(PARSE_SERVER, ZSTR_VAL(key), &text, len, &len)) {
        ZVAL_STRINGL(&entry, text, len);
        zend_hash_update(sink->variables, key, &entry);
    }
    efree(text);
    zend_string_release(value);
}

/* Consumes `value`. */
static void put_value(const sink_t *sink, zend_string *key, zend_string *value)
{
    zval entry;

    if (sink->direct) {
        ZVAL_STR(&entry, value);
        zend_hash_update(sink->variables, key, &entry);
    } else {
        put_filtered(sink, key, value);
    }
}

static void put_slice(const sink_t *sink, enum key_index key, corral_slice_t value)
{
    put_value(sink, keys[key], zend_string_init_fast(value.data, value.len));
}

static void put_text(const sink_t *sink, enum key_index key, const char *value)
{
    put_value(sink, keys[key], zend_string_init_fast(value, strlen(value)));
}

static void put_known(const sink_t *sink, enum key_index key, zend_string *value)
{
    put_value(sink, keys[key], zend_string_copy(value));
}

/* HTTP_ and the name in upper case; whatever cannot be in a variable's name becomes `_`. */
static zend_string *new_key(corral_slice_t name, bool persistent)
{
    zend_string *key = zend_string_alloc(5 + name.len, persistent);
    char *out = ZSTR_VAL(key);

    memcpy(out, "HTTP_", 5);
    out += 5;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char) name.data[i];
        if (c >= 'a' && c <= 'z') {
            *out++ = (char) (c - 'a' + 'A');
        } else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
            *out++ = (char) c;
        } else {
            *out++ = '_';
        }
    }
    *out = '\0';
    return key;
}

static size_t place_of(corral_slice_t name)
{
    unsigned char first = (unsigned char) name.data[0];
    unsigned char middle = (unsigned char) name.data[name.len / 2];
    unsigned char last = (unsigned char) name.data[name.len - 1];

    return (name.len * 31 + first * 7 + middle * 3 + last) % N_REMEMBERED;
}

/* The key of a field's name, to be released by the caller. */
static zend_string *field_key(corral_slice_t name)
{
    size_t place;

    if (name.len == 0 || name.len > LONGEST_REMEMBERED) {
        return new_key(name, false);
    }
    place = place_of(name);
    if (remembered[place].key == NULL) {
        memcpy(remembered[place].name, name.data, name.len);
        remembered[place].len = name.len;
        remembered[place].key = new_key(name, true);
        zend_string_hash_val(remembered[place].key);
    }
    if (remembered[place].len == name.len && memcmp(remembered[place].name, name.data, name.len) == 0) {
        return zend_string_copy(remembered[place].key);
    }
    return new_key(name, false);
}

/* The value of a field that came before and this one, joined. */
static zend_string *joined(const zval *before, const corral_field_t *field)
{
    const char *separator = corral_is_cookie(field->name) ? "; " : ", ";

    return zend_string_concat3(Z_STRVAL_P(before), Z_STRLEN_P(before), separator, 2,
                               field->value.data, field->value.len);
}

static void put_field(const sink_t *sink, const corral_field_t *field)
{
    zend_string *key = field_key(field->name);
    zval *before = zend_hash_find(sink->variables, key);

    if (before != NULL && Z_TYPE_P(before) == IS_STRING) {
        put_value(sink, key, joined(before, field));
    } else {
        put_value(sink, key, zend_string_init_fast(field->value.data, field->value.len));
    }
    zend_string_release(key);
}

static void put_location(const sink_t *sink, const corral_request_t *request)
{
    put_slice(sink, KEY_PHP_SELF, request->php_self);
    if (request->path_info.len != 0) {
        put_slice(sink, KEY_PATH_INFO, request->path_info);
        put_slice(sink, KEY_PATH_TRANSLATED, request->path_translated);
    }
    put_slice(sink, KEY_SCRIPT_NAME, request->script_name);
    put_known(sink, KEY_SCRIPT_FILENAME, (zend_string *) request->script);
    put_known(sink, KEY_DOCUMENT_ROOT, (zend_string *) request->document_root);
    /* As in nginx: the path after rewrites, which ends at the script or behind it. */
    put_slice(sink, KEY_DOCUMENT_URI, request->php_self);
}

static void put_addresses(const sink_t *sink, const corral_request_t *request)
{
    put_slice(sink, KEY_REMOTE_ADDR, request->remote_addr);
    if (request->remote_port.len != 0) {
        put_slice(sink, KEY_REMOTE_PORT, request->remote_port);
    }
    if (request->remote_user.len != 0) {
        put_slice(sink, KEY_REMOTE_USER, request->remote_user);
    }
    if (request->auth_type.len != 0) {
        put_slice(sink, KEY_AUTH_TYPE, request->auth_type);
    }
    put_slice(sink, KEY_SERVER_ADDR, request->server_addr);
    put_slice(sink, KEY_SERVER_NAME, request->server_name);
    put_slice(sink, KEY_SERVER_PORT, request->server_port);
    put_text(sink, KEY_REQUEST_SCHEME, request->https ? "https" : "http");
    if (request->https) {
        put_text(sink, KEY_HTTPS, "on");
    }
}

static void put_request(const sink_t *sink, const corral_request_t *request)
{
    put_known(sink, KEY_SERVER_SOFTWARE, corral_software);
    put_slice(sink, KEY_SERVER_PROTOCOL, request->protocol);
    put_known(sink, KEY_GATEWAY_INTERFACE, gateway_interface);
    put_location(sink, request);
    put_text(sink, KEY_REQUEST_METHOD, request->method);
    put_text(sink, KEY_REQUEST_URI, request->request_uri);
    put_text(sink, KEY_QUERY_STRING, request->query);
    put_addresses(sink, request);
    if (request->content_length_text.len != 0) {
        put_slice(sink, KEY_CONTENT_LENGTH, request->content_length_text);
    }
    if (request->content_type != NULL) {
        put_text(sink, KEY_CONTENT_TYPE, request->content_type);
    }
    for (size_t i = 0; i < request->n_fields; i++) {
        put_field(sink, &request->fields[i]);
    }
}

/* As in php-fpm: what the application was started with is there beside each request. */
static void put_environment(const sink_t *sink)
{
    for (size_t i = 0; i < n_environment; i++) {
        put_value(sink, environment[i].name, zend_string_copy(environment[i].value));
    }
}

static void put_params(const sink_t *sink, const corral_request_t *request)
{
    for (size_t i = 0; i < request->n_params; i++) {
        const corral_field_t *param = &request->params[i];
        zend_string *name = zend_string_init(param->name.data, param->name.len, false);

        if (param->value.data == NULL) {
            zend_hash_del(sink->variables, name);
        } else {
            put_value(sink, name, zend_string_init_fast(param->value.data, param->value.len));
        }
        zend_string_release(name);
    }
}

static void put_worker(const sink_t *sink, const corral_worker_t *worker)
{
    for (size_t i = 0; i < worker->n_variables; i++) {
        const corral_field_t *variable = &worker->variables[i];
        zend_string *name = zend_string_init(variable->name.data, variable->name.len, false);

        put_value(sink, name, zend_string_init_fast(variable->value.data, variable->value.len));
        zend_string_release(name);
    }
}

/* As a script on the command line, one of a worker has the environment before it has requests. */
static void put_script(const sink_t *sink, zval *track, const corral_worker_t *worker)
{
    php_import_environment_variables(track);
    put_known(sink, KEY_SERVER_SOFTWARE, corral_software);
    put_slice(sink, KEY_PHP_SELF, worker->script_name);
    put_slice(sink, KEY_SCRIPT_NAME, worker->script_name);
    put_known(sink, KEY_SCRIPT_FILENAME, (zend_string *) worker->script);
    put_known(sink, KEY_DOCUMENT_ROOT, (zend_string *) worker->document_root);
}

void corral_register_variables(zval *track)
{
    const corral_call_t *call = corral_call();
    const corral_worker_t *worker = corral_worker();
    sink_t sink = {.variables = Z_ARRVAL_P(track), .direct = corral_filter_is_transparent()};

    if (call != NULL) {
        zend_hash_extend(sink.variables, (uint32_t) (N_KEYS + n_environment + call->request->n_fields + 8), 0);
        put_environment(&sink);
        put_request(&sink, call->request);
        put_params(&sink, call->request);
    } else if (worker != NULL) {
        put_script(&sink, track, worker);
    }
    if (worker != NULL) {
        put_worker(&sink, worker);
    }
}
