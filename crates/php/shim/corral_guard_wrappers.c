/* The state guard's eye on what all streams go through: wrappers of addresses, and the context that is used without another. */

#include "corral_guard.h"

#include "php_streams.h"
#include "ext/standard/file.h"
#include "zend_smart_str.h"

#define WATCHED(name, note, key) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        if (corral_guard_watches) { \
            note(); \
            corral_guard_blame(key); \
        } \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }

#define WATCH(name) corral_wrap_function(ZEND_STRL(#name), watched_##name, &name##_handler)

/* Wrappers by protocol as they were before the request changed them, or NULL. Their addresses are compared, never followed. */
static HashTable *wrappers;

/* The options of the context, as they were; undefined where nothing asked for it. */
static zval options;

/* {{{ wrappers */

static void note_wrappers(void)
{
    if (wrappers == NULL) {
        ALLOC_HASHTABLE(wrappers);
        zend_hash_init(wrappers, 16, NULL, NULL, 0);
        zend_hash_copy(wrappers, php_stream_get_url_stream_wrappers_hash(), NULL);
    }
}

static void call_with_name(const char *function, zend_string *name)
{
    zval argument;

    ZVAL_STR_COPY(&argument, name);
    corral_guard_call(function, 1, &argument);
    zval_ptr_dtor(&argument);
}

static const void *own_of_php(zend_string *name)
{
    return zend_hash_find_ptr(php_stream_get_url_stream_wrappers_hash_global(), name);
}

/* One of the script's that the request has taken away is gone. */
static void restore_wrapper(zend_string *name)
{
    const void *known = zend_hash_find_ptr(wrappers, name);

    if (zend_hash_exists(php_stream_get_url_stream_wrappers_hash(), name)) {
        call_with_name("stream_wrapper_unregister", name);
    }
    if (known != NULL && known == own_of_php(name)) {
        call_with_name("stream_wrapper_restore", name);
    }
}

static void append_changed(smart_str *names, const HashTable *in, const HashTable *other)
{
    zend_string *name;
    const void *wrapper, *found;

    ZEND_HASH_FOREACH_STR_KEY_PTR((HashTable *) in, name, wrapper) {
        found = zend_hash_find_ptr((HashTable *) other, name);
        /* Entries in both are found from one side. */
        if (found == NULL || (found != wrapper && in == wrappers)) {
            smart_str_append(names, name);
            smart_str_appendc(names, ' ');
        }
    } ZEND_HASH_FOREACH_END();
}

/* Names have no spaces in them. */
static void restore_wrappers(const char *names)
{
    size_t len;

    for (; *names != '\0'; names += len + 1) {
        zend_string *name;

        len = strcspn(names, " ");
        name = zend_string_init(names, len, 0);
        restore_wrapper(name);
        zend_string_release(name);
    }
}

static void forget_wrappers(void)
{
    if (wrappers != NULL) {
        zend_hash_destroy(wrappers);
        FREE_HASHTABLE(wrappers);
        wrappers = NULL;
    }
}

static void look_at_wrappers(void)
{
    smart_str names = {0};

    if (wrappers == NULL) {
        return;
    }
    append_changed(&names, wrappers, php_stream_get_url_stream_wrappers_hash());
    append_changed(&names, php_stream_get_url_stream_wrappers_hash(), wrappers);
    if (names.s != NULL) {
        smart_str_0(&names);
        corral_guard_found(LEFT_WRAPPER, "stream_wrapper", "left other stream wrappers of %.*s",
                           (int) ZSTR_LEN(names.s) - 1, ZSTR_VAL(names.s));
        if (corral_guard_restores()) {
            restore_wrappers(ZSTR_VAL(names.s));
        }
    }
    smart_str_free(&names);
    forget_wrappers();
}

WATCHED(stream_wrapper_register, note_wrappers, "stream_wrapper")
WATCHED(stream_register_wrapper, note_wrappers, "stream_wrapper")
WATCHED(stream_wrapper_unregister, note_wrappers, "stream_wrapper")
WATCHED(stream_wrapper_restore, note_wrappers, "stream_wrapper")

/* }}} */

/* {{{ context */

static void copy_options(zval *copy)
{
    if (FG(default_context) != NULL) {
        ZVAL_COPY(copy, &FG(default_context)->options);
    } else {
        ZVAL_EMPTY_ARRAY(copy);
    }
}

static void note_context(void)
{
    if (Z_TYPE(options) == IS_UNDEF) {
        copy_options(&options);
    }
}

/* Values may be secrets, as headers and proxies are. */
static void look_at_context(void)
{
    zval now;

    if (Z_TYPE(options) == IS_UNDEF) {
        return;
    }
    copy_options(&now);
    if (!zend_is_identical(&options, &now)) {
        corral_guard_found(LEFT_CONTEXT, "stream_context", "left other options of the default stream context");
        if (corral_guard_restores()) {
            zval_ptr_dtor(&FG(default_context)->options);
            ZVAL_COPY(&FG(default_context)->options, &options);
        }
    }
    zval_ptr_dtor(&now);
    zval_ptr_dtor(&options);
    ZVAL_UNDEF(&options);
}

WATCHED(stream_context_get_default, note_context, "stream_context")
WATCHED(stream_context_set_default, note_context, "stream_context")

/* }}} */

void corral_guard_wrappers_prepare(void)
{
    WATCH(stream_wrapper_register);
    WATCH(stream_register_wrapper);
    WATCH(stream_wrapper_unregister);
    WATCH(stream_wrapper_restore);
    WATCH(stream_context_get_default);
    WATCH(stream_context_set_default);
}

void corral_guard_wrappers_end(void)
{
    look_at_wrappers();
    look_at_context();
}

void corral_guard_wrappers_forget(void)
{
    forget_wrappers();
    zval_ptr_dtor(&options);
    ZVAL_UNDEF(&options);
}
