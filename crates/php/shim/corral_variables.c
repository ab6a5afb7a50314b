/* $_SERVER, registered only for scripts that look at it. */

#include "corral_internal.h"

#include "php_variables.h"

/* Names of request fields up to this length are turned into keys on the stack. */
#define KEY_ON_STACK 128

#define FIXED_KEYS(X) \
    X(SERVER_SOFTWARE) X(SERVER_PROTOCOL) X(PHP_SELF) X(PATH_INFO) X(SCRIPT_NAME) \
    X(SCRIPT_FILENAME) X(DOCUMENT_ROOT) X(REQUEST_METHOD) X(REQUEST_URI) X(QUERY_STRING) \
    X(REMOTE_ADDR) X(SERVER_ADDR) X(SERVER_NAME) X(SERVER_PORT) X(HTTPS) X(CONTENT_LENGTH) \
    X(CONTENT_TYPE)

#define KEY_INDEX(name) KEY_##name,
enum key_index { FIXED_KEYS(KEY_INDEX) N_KEYS };

#define KEY_TEXT(name) #name,
static const char *const key_texts[N_KEYS] = {FIXED_KEYS(KEY_TEXT)};

static zend_string *keys[N_KEYS];

void corral_variables_prepare(void)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        keys[i] = zend_string_init_interned(key_texts[i], strlen(key_texts[i]), 1);
    }
}

/* Consumes `value`. The filter extension may change it and keeps a copy for filter_input(). */
static void put_value(zval *track, zend_string *key, zend_string *value)
{
    char *text = estrndup(ZSTR_VAL(value), ZSTR_LEN(value));
    size_t len = ZSTR_LEN(value);
    zval entry;

    if (sapi_module.input_filter(PARSE_SERVER, ZSTR_VAL(key), &text, len, &len)) {
        if (len == ZSTR_LEN(value) && memcmp(text, ZSTR_VAL(value), len) == 0) {
            ZVAL_STR_COPY(&entry, value);
        } else {
            ZVAL_STRINGL(&entry, text, len);
        }
        zend_hash_update(Z_ARRVAL_P(track), key, &entry);
    }
    efree(text);
    zend_string_release(value);
}

static void put_slice(zval *track, enum key_index key, corral_slice_t value)
{
    put_value(track, keys[key], zend_string_init(value.data, value.len, 0));
}

static void put_text(zval *track, enum key_index key, const char *value)
{
    put_value(track, keys[key], zend_string_init(value, strlen(value), 0));
}

static void put_known(zval *track, enum key_index key, zend_string *value)
{
    put_value(track, keys[key], zend_string_copy(value));
}

/* HTTP_ and the name in upper case; whatever cannot be in a variable's name becomes `_`. */
static zend_string *field_key(corral_slice_t name)
{
    zend_string *key = zend_string_alloc(5 + name.len, 0);
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

/* What a field that came before and this one say together. */
static zend_string *joined(const zval *before, const corral_field_t *field)
{
    const char *separator = corral_is_cookie(field->name) ? "; " : ", ";

    return zend_string_concat3(Z_STRVAL_P(before), Z_STRLEN_P(before), separator, 2,
                               field->value.data, field->value.len);
}

static void put_field(zval *track, const corral_field_t *field)
{
    zend_string *key = field_key(field->name);
    zval *before = zend_hash_find(Z_ARRVAL_P(track), key);

    if (before != NULL && Z_TYPE_P(before) == IS_STRING) {
        put_value(track, key, joined(before, field));
    } else {
        put_value(track, key, zend_string_init(field->value.data, field->value.len, 0));
    }
    zend_string_release(key);
}

static void put_location(zval *track, const corral_request_t *request)
{
    put_slice(track, KEY_PHP_SELF, request->php_self);
    if (request->path_info.len != 0) {
        put_slice(track, KEY_PATH_INFO, request->path_info);
    }
    put_slice(track, KEY_SCRIPT_NAME, request->script_name);
    put_known(track, KEY_SCRIPT_FILENAME, (zend_string *) request->script);
    put_known(track, KEY_DOCUMENT_ROOT, (zend_string *) request->document_root);
}

static void put_addresses(zval *track, const corral_request_t *request)
{
    put_slice(track, KEY_REMOTE_ADDR, request->remote_addr);
    put_slice(track, KEY_SERVER_ADDR, request->server_addr);
    put_slice(track, KEY_SERVER_NAME, request->server_name);
    put_slice(track, KEY_SERVER_PORT, request->server_port);
    if (request->https) {
        put_text(track, KEY_HTTPS, "on");
    }
}

void corral_register_variables(zval *track)
{
    const corral_call_t *call = corral_call();
    const corral_request_t *request;

    if (call == NULL) {
        return;
    }
    request = call->request;
    zend_hash_extend(Z_ARRVAL_P(track), (uint32_t) (N_KEYS + request->n_fields + 8), 0);
    put_known(track, KEY_SERVER_SOFTWARE, corral_software);
    put_slice(track, KEY_SERVER_PROTOCOL, request->protocol);
    put_location(track, request);
    put_text(track, KEY_REQUEST_METHOD, request->method);
    put_text(track, KEY_REQUEST_URI, request->request_uri);
    put_text(track, KEY_QUERY_STRING, request->query);
    put_addresses(track, request);
    if (request->content_length_text.len != 0) {
        put_slice(track, KEY_CONTENT_LENGTH, request->content_length_text);
    }
    if (request->content_type != NULL) {
        put_text(track, KEY_CONTENT_TYPE, request->content_type);
    }
    for (size_t i = 0; i < request->n_fields; i++) {
        put_field(track, &request->fields[i]);
    }
}
