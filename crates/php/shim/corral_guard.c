/*
 * The state guard: when it looks, what it says, and what follows from it.
 *
 * It compares cheap facts and never walks the heap. Facts that can be asked for cheaply are remembered when a request begins.
 * For the rest, a wrapper around the function that changes a fact remembers it before the first call, so that a request that
 * calls none of them pays for a few comparisons. The wrappers are there only where `guard` is not "off"; those of
 * corral_process.c are always there.
 */

#include "corral_guard.h"

#include "php_output.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

/* Routes of which a worker knows what it has said; of all further ones it says each kind once. */
#define MOST_ROUTES 64

/* Bytes of a path in a line; more are of no help. */
#define MOST_OF_A_PATH 64

/*
 * Kinds that are not a reason to end a worker: output buffers were ended with their request, and what only grows may be a cache.
 * Whether it grows for ever, memory tells.
 */
#define HARMLESS (1u << LEFT_BUFFER | 1u << LEFT_GLOBAL | 1u << LEFT_STATIC)

/* Kinds whose findings have names, each of which is told once by itself. */
#define NAMED (1u << LEFT_GLOBAL | 1u << LEFT_STATIC)

/* Kinds that can be put back. */
#define RESTORED (1u << LEFT_SETTING | 1u << LEFT_LOCALE | 1u << LEFT_ZONE | 1u << LEFT_UMASK | 1u << LEFT_DIRECTORY \
                  | 1u << LEFT_ENVIRONMENT | 1u << LEFT_ERROR_HANDLER | 1u << LEFT_EXCEPTION_HANDLER | 1u << LEFT_SEED \
                  | 1u << LEFT_ENCODING | 1u << LEFT_LIBXML | 1u << LEFT_WRAPPER | 1u << LEFT_CONTEXT | 1u << LEFT_SIGNAL)

/* Kinds that only another process is free of. */
#define LASTING (1u << LEFT_PROCESS)

typedef struct {
    zend_ulong route;
    /* The kinds of which it was said, a bit each. */
    uint32_t kinds;
} told_t;

corral_guard_t corral_guard;
bool corral_guard_watches;

/* The request that runs; its strings stay until it has ended. */
static const corral_request_t *request;
static int level_of_output;
/* The kinds that the request left. */
static uint32_t left;

static told_t told[MOST_ROUTES + 1];
static size_t n_routes;

/* The callers of functions in this request. */
static HashTable *blamed;

bool corral_guard_restores(void)
{
    return corral_guard == CORRAL_GUARD_RESTORE;
}

/* {{{ what is said */

static size_t path_length(void)
{
    return strcspn(request->request_uri, "?#");
}

static zend_ulong route_of_request(void)
{
    zend_ulong hash = zend_hash_func(request->request_uri, MIN(path_length(), MOST_OF_A_PATH));

    return hash ^ zend_hash_func(request->method, strlen(request->method));
}

/* The last place is for all routes that there is no other for. */
static told_t *told_of_request(void)
{
    zend_ulong route = route_of_request();

    for (size_t i = 0; i < n_routes; i++) {
        if (told[i].route == route) {
            return &told[i];
        }
    }
    if (n_routes < MOST_ROUTES) {
        told[n_routes].route = route;
        return &told[n_routes++];
    }
    return &told[MOST_ROUTES];
}

static bool is_news(guard_kind_t kind)
{
    told_t *of = told_of_request();
    bool was_told = (of->kinds & ~NAMED & 1u << kind) != 0;

    of->kinds |= 1u << kind;
    return !was_told;
}

static void append_escaped(smart_str *line, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char) text[i];

        if (byte < 0x20 || byte == 0x7f) {
            smart_str_append_printf(line, "\\x%02x", byte);
        } else {
            smart_str_appendc(line, text[i]);
        }
    }
}

static void append_route(smart_str *line)
{
    size_t len = path_length();

    smart_str_appends(line, "guard: ");
    append_escaped(line, request->method, strlen(request->method));
    smart_str_appendc(line, ' ');
    append_escaped(line, request->request_uri, MIN(len, MOST_OF_A_PATH));
    if (len > MOST_OF_A_PATH) {
        smart_str_appends(line, "...");
    }
    smart_str_appendc(line, ' ');
}

static void append_blame(smart_str *line, const char *key)
{
    zend_string *who = blamed != NULL && key != NULL ? zend_hash_str_find_ptr(blamed, key, strlen(key)) : NULL;

    if (who != NULL) {
        smart_str_appends(line, "; by ");
        append_escaped(line, ZSTR_VAL(who), ZSTR_LEN(who));
    }
}

static bool ends_the_worker(uint32_t kinds)
{
    return (corral_guard == CORRAL_GUARD_RECYCLE && (kinds & ~HARMLESS) != 0)
        || (corral_guard == CORRAL_GUARD_RESTORE && (kinds & LASTING) != 0);
}

static const char *consequence(guard_kind_t kind)
{
    if (corral_guard == CORRAL_GUARD_RESTORE && (RESTORED & 1u << kind) != 0) {
        return "; it was restored";
    }
    if (ends_the_worker(1u << kind)) {
        return "; the worker is replaced";
    }
    return "";
}

void corral_guard_found(guard_kind_t kind, const char *key, const char *format, ...)
{
    smart_str line = {0};
    zend_string *text;
    va_list arguments;

    left |= 1u << kind;
    if (!is_news(kind)) {
        return;
    }
    va_start(arguments, format);
    text = zend_vstrpprintf(0, format, arguments);
    va_end(arguments);
    append_route(&line);
    append_escaped(&line, ZSTR_VAL(text), ZSTR_LEN(text));
    append_blame(&line, key);
    smart_str_appends(&line, consequence(kind));
    smart_str_0(&line);
    corral_host->remark(ZSTR_VAL(line.s), ZSTR_LEN(line.s));
    zend_string_release(text);
    smart_str_free(&line);
}

/* }}} */

/* {{{ the caller */

/* The function whose code calls the one that runs, or NULL for the code of a file. */
static void append_caller(smart_str *who)
{
    const zend_execute_data *caller = EG(current_execute_data)->prev_execute_data;
    const zend_function *function;

    while (caller != NULL && (caller->func == NULL || !ZEND_USER_CODE(caller->func->type))) {
        caller = caller->prev_execute_data;
    }
    if (caller == NULL) {
        return;
    }
    function = caller->func;
    if (function->common.function_name != NULL) {
        smart_str_appends(who, " in ");
        if (function->common.scope != NULL) {
            smart_str_append(who, function->common.scope->name);
            smart_str_appends(who, "::");
        }
        smart_str_append(who, function->common.function_name);
        smart_str_appends(who, "()");
    }
    smart_str_append_printf(who, " at %s:%u", ZSTR_VAL(function->op_array.filename), caller->opline->lineno);
}

static void forget_text(zval *text)
{
    zend_string_release(Z_PTR_P(text));
}

void corral_guard_blame(const char *key)
{
    const zend_function *function = EG(current_execute_data)->func;
    smart_str who = {0};

    if (function->common.scope != NULL) {
        smart_str_append(&who, function->common.scope->name);
        smart_str_appends(&who, "::");
    }
    smart_str_append(&who, function->common.function_name);
    smart_str_appends(&who, "()");
    append_caller(&who);
    smart_str_0(&who);
    if (blamed == NULL) {
        ALLOC_HASHTABLE(blamed);
        zend_hash_init(blamed, 8, NULL, forget_text, 0);
    }
    (void) zend_hash_str_update_ptr(blamed, key, strlen(key), who.s);
}

static void forget_blame(void)
{
    if (blamed != NULL) {
        zend_hash_destroy(blamed);
        FREE_HASHTABLE(blamed);
        blamed = NULL;
    }
}

/* }}} */

/* {{{ a request */

void corral_guard_ask(const char *name, uint32_t n, zval *arguments, zval *result)
{
    zval function;

    ZVAL_STRING(&function, name);
    ZVAL_UNDEF(result);
    (void) call_user_function(NULL, NULL, &function, result, n, arguments);
    zval_ptr_dtor(&function);
    if (EG(exception) != NULL) {
        zend_clear_exception();
    }
    if (Z_TYPE_P(result) == IS_UNDEF) {
        ZVAL_NULL(result);
    }
}

void corral_guard_call(const char *name, uint32_t n, zval *arguments)
{
    zval result;

    corral_guard_ask(name, n, arguments, &result);
    zval_ptr_dtor(&result);
}

void corral_guard_prepare(void)
{
    if (corral_guard != CORRAL_GUARD_OFF) {
        corral_guard_process_prepare();
        corral_guard_transactions_prepare();
        corral_guard_values_prepare();
        corral_guard_seed_prepare();
        corral_guard_wrappers_prepare();
        corral_guard_growth_prepare();
    }
}

void corral_guard_begin(const corral_request_t *begun)
{
    if (corral_guard == CORRAL_GUARD_OFF) {
        return;
    }
    request = begun;
    left = 0;
    level_of_output = php_output_get_level();
    corral_guard_settings_begin();
    corral_guard_handlers_begin();
    corral_guard_streams_begin();
    corral_guard_growth_begin();
    corral_guard_watches = true;
}

void corral_guard_handled(void)
{
    int more;

    if (corral_guard == CORRAL_GUARD_OFF) {
        return;
    }
    more = php_output_get_level() - level_of_output;
    if (more > 0) {
        corral_guard_found(LEFT_BUFFER, NULL, "left %d output buffer%s open; %s sent", more, more == 1 ? "" : "s",
                           more == 1 ? "what is in it was" : "what is in them was");
    }
}

void corral_guard_end(void)
{
    if (corral_guard == CORRAL_GUARD_OFF) {
        return;
    }
    corral_guard_watches = false;
    corral_guard_transactions_end();
    corral_guard_handlers_end();
    corral_guard_process_end();
    corral_guard_values_end();
    corral_guard_seed_end();
    corral_guard_wrappers_end();
    corral_guard_signals_end();
    corral_guard_settings_end();
    corral_guard_streams_end();
    corral_guard_growth_end();
    forget_blame();
    request = NULL;
}

uint32_t corral_worker_left_state(void)
{
    return left;
}

bool corral_guard_gives_up(void)
{
    return ends_the_worker(left);
}

void corral_guard_forget(void)
{
    corral_guard_watches = false;
    corral_guard_process_forget();
    corral_guard_values_forget();
    corral_guard_seed_forget();
    corral_guard_wrappers_forget();
    corral_guard_signals_forget();
    corral_guard_settings_forget();
    corral_guard_handlers_forget();
    corral_guard_transactions_forget();
    forget_blame();
}

/* }}} */
