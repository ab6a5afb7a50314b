/*
 * The state guard's eye on what a function of PHP's sets, and tells when it is asked without a value: encodings, errors of
 * libxml, the domain of translations. What it told before the request set it first is compared with what it tells in the end.
 */

#include "corral_guard.h"

#include "zend_smart_str.h"

typedef struct {
    const char *setter;
    /* Another function that tells, or NULL. */
    const char *getter;
    guard_kind_t kind;
    const char *what;
    bool is_known;
    zval before;
} value_t;

#define VALUES(EACH) \
    EACH(mb_internal_encoding, NULL, LEFT_ENCODING, "internal encoding") \
    EACH(mb_http_output, NULL, LEFT_ENCODING, "encoding of output") \
    EACH(mb_regex_encoding, NULL, LEFT_ENCODING, "encoding of patterns") \
    EACH(mb_substitute_character, NULL, LEFT_ENCODING, "substitute character") \
    EACH(mb_detect_order, NULL, LEFT_ENCODING, "order of detection") \
    EACH(mb_regex_set_options, NULL, LEFT_ENCODING, "set of options of patterns") \
    EACH(libxml_use_internal_errors, NULL, LEFT_LIBXML, "libxml_use_internal_errors()") \
    EACH(libxml_set_external_entity_loader, "libxml_get_external_entity_loader", LEFT_LIBXML, "loader of entities") \
    EACH(textdomain, NULL, LEFT_LOCALE, "text domain") \
    EACH(pcntl_async_signals, NULL, LEFT_SIGNAL, "pcntl_async_signals()")

#define PLACE(name, getter, kind, what) AT_##name,
#define ROW(name, getter_, kind_, what_) {.setter = #name, .getter = getter_, .kind = kind_, .what = what_},
#define WRAPPER(name, getter, kind, what) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        if (corral_guard_watches) { \
            note(&values[AT_##name], execute_data); \
        } \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }
#define WATCH(name, getter, kind, what) \
    if (can_tell(getter)) { \
        corral_wrap_function(ZEND_STRL(#name), watched_##name, &name##_handler); \
    }

enum { VALUES(PLACE) N_VALUES };

static value_t values[] = {VALUES(ROW)};

/* Some value was set. */
static bool has_any;

static void ask(const value_t *value, zval *result)
{
    zval nothing;

    ZVAL_NULL(&nothing);
    if (value->getter != NULL) {
        corral_guard_ask(value->getter, 0, NULL, result);
    } else {
        corral_guard_ask(value->setter, 1, &nothing, result);
    }
}

static bool only_asks(const value_t *value, zend_execute_data *execute_data)
{
    return ZEND_CALL_NUM_ARGS(execute_data) == 0
        || (value->getter == NULL && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_NULL);
}

static void note(value_t *value, zend_execute_data *execute_data)
{
    if (only_asks(value, execute_data)) {
        return;
    }
    corral_guard_blame(value->setter);
    if (!value->is_known) {
        ask(value, &value->before);
        value->is_known = has_any = true;
    }
}

VALUES(WRAPPER)

static bool can_tell(const char *getter)
{
    return getter == NULL || zend_hash_str_exists(CG(function_table), getter, strlen(getter));
}

void corral_guard_values_prepare(void)
{
    VALUES(WATCH)
}

/* As it stands in the line; nothing for a value that is not a short text. */
static void append(smart_str *text, const char *before, zval *value, const char *after)
{
    const char *word = Z_TYPE_P(value) == IS_TRUE ? "on" : "off";

    if (Z_TYPE_P(value) == IS_STRING) {
        smart_str_append_printf(text, "%s\"%s\"%s", before, Z_STRVAL_P(value), after);
    } else if (Z_TYPE_P(value) == IS_LONG) {
        smart_str_append_printf(text, "%s" ZEND_LONG_FMT "%s", before, Z_LVAL_P(value), after);
    } else if (Z_TYPE_P(value) == IS_TRUE || Z_TYPE_P(value) == IS_FALSE) {
        smart_str_append_printf(text, "%s%s%s", before, word, after);
    }
}

static void report(const value_t *value, zval *now)
{
    smart_str text = {0};
    zval known;

    ZVAL_COPY_VALUE(&known, &value->before);
    append(&text, ": ", now, "");
    append(&text, " (it was ", &known, ")");
    smart_str_0(&text);
    corral_guard_found(value->kind, value->setter, "left another %s%s", value->what, text.s != NULL ? ZSTR_VAL(text.s) : "");
    smart_str_free(&text);
}

static void let_go(value_t *value)
{
    zval_ptr_dtor(&value->before);
    ZVAL_UNDEF(&value->before);
    value->is_known = false;
}

static void look_at(value_t *value)
{
    zval now;

    ask(value, &now);
    if (!zend_is_identical(&value->before, &now)) {
        report(value, &now);
        if (corral_guard_restores()) {
            corral_guard_call(value->setter, 1, &value->before);
        }
    }
    zval_ptr_dtor(&now);
    let_go(value);
}

static void visit(void (*each)(value_t *value))
{
    for (size_t i = 0; has_any && i < N_VALUES; i++) {
        if (values[i].is_known) {
            each(&values[i]);
        }
    }
    has_any = false;
}

void corral_guard_values_end(void)
{
    visit(look_at);
}

void corral_guard_values_forget(void)
{
    visit(let_go);
}
