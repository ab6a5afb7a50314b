/*
 * One request inside of a script that outlives it: what php_request_startup() and php_request_shutdown() do for a
 * script, as far as it concerns the request alone. Their order is kept.
 */

#include "corral_internal.h"

#include "php_output.h"
#include "php_variables.h"
#include "rfc1867.h"
#include "zend_exceptions.h"
#include "zend_ini.h"
#include "zend_smart_str.h"
#include "ext/standard/basic_functions.h"
#include "ext/standard/php_filestat.h"
#ifdef CORRAL_HAVE_SESSION
# include "ext/session/php_session.h"
#endif

/* Settings that bound one request: what a handler sets is for that request. */
static const char *const bounds[] = {"memory_limit", "max_execution_time"};

#define N_BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

/* Things that are looked up once. */
static struct {
    zend_ini_entry *bounds[N_BOUNDS];
    /* Modules that keep something of a request, or NULL. */
    zend_module_entry *session;
    zend_module_entry *filter;
    zend_module_entry *zlib;
} known;

/* Settings that the script has in force between requests. */
static struct {
    zend_string *bounds[N_BOUNDS];
    HashTable *shutdown_functions;
    /* While a request is read; IS_UNDEF at any other time. */
    zval error_handler;
} between;

/* PHP's handler of the timer's signal is in place. */
static bool has_timer;

/* {{{ superglobals */

static bool is_of_the_script(const zend_auto_global *global)
{
    return zend_string_equals_literal(global->name, "_ENV");
}

/*
 * Code that was compiled before has no further word about the variables that it mentions, so those which anybody has
 * mentioned are made for each request. The others stay armed, and cost nothing.
 */
static void make_superglobals(void)
{
    zend_auto_global *global;

    ZEND_HASH_FOREACH_PTR(CG(auto_globals), global) {
        if (global->auto_global_callback != NULL && !global->armed && !is_of_the_script(global)) {
            global->armed = global->auto_global_callback(global->name);
        }
    } ZEND_HASH_FOREACH_END();
}

static void forget_superglobals(void)
{
    for (size_t i = 0; i < NUM_TRACK_VARS; i++) {
        if (i != TRACK_VARS_ENV) {
            zval_ptr_dtor_nogc(&PG(http_globals)[i]);
            ZVAL_UNDEF(&PG(http_globals)[i]);
        }
    }
}

/* }}} */

/* {{{ modules that keep something of a request */

static void begin_module(zend_module_entry *module)
{
    if (module != NULL && module->request_startup_func != NULL) {
        (void) module->request_startup_func(module->type, module->module_number);
    }
}

static void end_module(zend_module_entry *module)
{
    if (module != NULL && module->request_shutdown_func != NULL) {
        (void) module->request_shutdown_func(module->type, module->module_number);
    }
}

#if defined(CORRAL_HAVE_SESSION) && !defined(ZTS)
/* An array until PHP 8.3, members since: in both, values side by side. */
#define N_SESSION_HANDLERS (sizeof(((php_ps_globals *) NULL)->mod_user_names) / sizeof(zval))

/* Handlers that a script has set before its loop are meant for all requests; the module forgets them with each. */
static void end_session(zend_module_entry *module)
{
    php_ps_globals *session = module->globals_ptr;
    zval *handlers = (zval *) &session->mod_user_names;
    zval kept[N_SESSION_HANDLERS];

    for (size_t i = 0; i < N_SESSION_HANDLERS; i++) {
        ZVAL_COPY(&kept[i], &handlers[i]);
    }
    end_module(module);
    memcpy(handlers, kept, sizeof(kept));
}
#else
static void end_session(zend_module_entry *module)
{
    end_module(module);
}
#endif

/* A request that starts no session must not find the one of the request before. */
static void forget_session_variable(void)
{
    zend_string *name = zend_string_init(ZEND_STRL("_SESSION"), 0);

    (void) zend_delete_global_variable(name);
    zend_string_release(name);
}

/* Links and forms were rewritten for the request alone; its output handler is gone, and is started with the next one. */
static void end_rewriting(url_adapt_state_ex_t *state)
{
    smart_str *const texts[] = {
        &state->result, &state->buf, &state->tag, &state->arg, &state->attr_val, &state->form_app, &state->url_app,
    };

    for (size_t i = 0; state->active && i < sizeof(texts) / sizeof(texts[0]); i++) {
        smart_str_free(texts[i]);
    }
    state->active = 0;
    state->tag_type = 0;
    state->attr_type = 0;
}

static void end_modules(void)
{
    if (known.session != NULL) {
        end_session(known.session);
        forget_session_variable();
    }
    end_module(known.filter);
    end_module(known.zlib);
    end_rewriting(&BG(url_adapt_session_ex));
    end_rewriting(&BG(url_adapt_output_ex));
}

/* }}} */

/* {{{ bounds on a request */

void corral_turn_prepare(void)
{
    known.session = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
    known.filter = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("filter"));
    known.zlib = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("zlib"));
    for (size_t i = 0; i < N_BOUNDS; i++) {
        known.bounds[i] = zend_hash_str_find_ptr(EG(ini_directives), bounds[i], strlen(bounds[i]));
    }
}

/* The script may have set its own bounds before it asked for a request. */
static void note_bounds(void)
{
    for (size_t i = 0; i < N_BOUNDS; i++) {
        between.bounds[i] = known.bounds[i] != NULL ? known.bounds[i]->value : NULL;
        if (between.bounds[i] != NULL) {
            zend_string_addref(between.bounds[i]);
        }
    }
}

static void restore_bound(zend_ini_entry *entry, zend_string *value)
{
    if (value != NULL) {
        if (entry->value != value) {
            (void) zend_alter_ini_entry(entry->name, value, PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
        }
        zend_string_release(value);
    }
}

static void restore_bounds(void)
{
    for (size_t i = 0; i < N_BOUNDS; i++) {
        restore_bound(known.bounds[i], between.bounds[i]);
        between.bounds[i] = NULL;
    }
    (void) zend_set_memory_limit((size_t) PG(memory_limit));
}

/* }}} */

/* {{{ begin */

static void start_output(void)
{
    if (PG(output_handler) != NULL && *PG(output_handler) != '\0') {
        zval name;

        ZVAL_STRING(&name, PG(output_handler));
        (void) php_output_start_user(&name, 0, PHP_OUTPUT_HANDLER_STDFLAGS);
        zval_ptr_dtor(&name);
    } else if (PG(output_buffering) != 0) {
        size_t chunk = PG(output_buffering) > 1 ? (size_t) PG(output_buffering) : 0;

        (void) php_output_start_user(NULL, chunk, PHP_OUTPUT_HANDLER_STDFLAGS);
    } else if (PG(implicit_flush)) {
        php_output_set_implicit_flush(1);
    }
}

/* Output of the script since its last request is for the log. */
static void renew_output(void)
{
    php_output_end_all();
    php_output_deactivate();
    php_output_activate();
}

static void forget_last_error(void)
{
    if (PG(last_error_message) != NULL) {
        zend_string_release(PG(last_error_message));
        PG(last_error_message) = NULL;
    }
    if (PG(last_error_file) != NULL) {
        zend_string_release(PG(last_error_file));
        PG(last_error_file) = NULL;
    }
    PG(last_error_type) = 0;
    PG(last_error_lineno) = 0;
}

/* As php_request_startup() does, whose handler of signals stays. */
static void start_timer(zend_long seconds)
{
    zend_set_timeout(seconds, !has_timer);
    has_timer = true;
}

/*
 * A client decides what PHP complains of while it reads a request. No handler of the script hears it: one that throws
 * would end the script, as there is no frame that catches. In other scripts there is no handler yet, and no module has
 * begun with the request: that of sessions tells the progress of an upload only then.
 */
static void enter_startup(void)
{
    ZVAL_COPY_VALUE(&between.error_handler, &EG(user_error_handler));
    ZVAL_UNDEF(&EG(user_error_handler));
    PG(during_request_startup) = 1;
    PG(modules_activated) = 0;
}

static void leave_startup(void)
{
    if (!PG(during_request_startup)) {
        return;
    }
    PG(during_request_startup) = 0;
    PG(modules_activated) = 1;
    zval_ptr_dtor(&EG(user_error_handler));
    ZVAL_COPY_VALUE(&EG(user_error_handler), &between.error_handler);
    ZVAL_UNDEF(&between.error_handler);
}

static void begin(corral_call_t *call)
{
    const corral_request_t *request = call->request;

    renew_output();
    SG(server_context) = call;
    forget_last_error();
    forget_superglobals();
    corral_describe_request(request);
    PG(header_is_being_sent) = 0;
    PG(connection_status) = PHP_CONNECTION_NORMAL;
    start_timer(PG(max_input_time) == -1 ? EG(timeout_seconds) : PG(max_input_time));
    if (request->authorization != NULL) {
        php_handle_auth_data(request->authorization);
    }
    sapi_activate();
    /* Complaints of PHP may have been displayed, and have sent the head. */
    if (PG(expose_php) && !SG(headers_sent)) {
        sapi_add_header(SAPI_PHP_VERSION_HEADER, sizeof(SAPI_PHP_VERSION_HEADER) - 1, 1);
    }
    start_output();
    make_superglobals();
    begin_module(known.filter);
    begin_module(known.zlib);
    begin_module(known.session);
    SG(sapi_started) = 1;
    if (PG(max_input_time) != -1) {
        start_timer(EG(timeout_seconds));
    }
    leave_startup();
    corral_guard_begin(request);
}

bool corral_turn_begin(corral_call_t *call)
{
    volatile bool begun = false;

    between.shutdown_functions = BG(user_shutdown_function_names);
    BG(user_shutdown_function_names) = NULL;
    note_bounds();
    enter_startup();
    zend_try {
        begin(call);
        begun = true;
    } zend_end_try();
    leave_startup();
    return begun;
}

/* }}} */

/* {{{ end */

static void end_shutdown_functions(void)
{
    if (BG(user_shutdown_function_names) != NULL) {
        php_call_shutdown_functions();
        php_free_shutdown_functions();
    }
}

/* Functions that the script has registered for its own end, which are older than the request's. */
static void end_shutdown_functions_of_script(void)
{
    HashTable *of_request = BG(user_shutdown_function_names);

    BG(user_shutdown_function_names) = between.shutdown_functions;
    between.shutdown_functions = NULL;
    end_shutdown_functions();
    BG(user_shutdown_function_names) = of_request;
}

/* As zend_call_destructors() does: after one that fails, none is called. */
static void call_destructors(void)
{
    zend_try {
        zend_objects_store_call_destructors(&EG(objects_store));
    } zend_catch {
        zend_objects_store_mark_destructed(&EG(objects_store));
    } zend_end_try();
}

/* Callbacks of buffers need memory, of which there may be none. */
static bool is_out_of_memory(void)
{
    return CG(unclean_shutdown) && PG(last_error_type) == E_ERROR && PG(memory_limit) > 0
        && (size_t) PG(memory_limit) < zend_memory_usage(1);
}

static void end_output(void)
{
    if (is_out_of_memory()) {
        php_output_discard_all();
    } else {
        php_output_end_all();
    }
}

/* A stream php://input leads to the body without holding it. */
static void close_body(php_stream *body)
{
    zend_resource *resource;

    ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource) {
        if (resource->type == php_file_le_stream() && resource->ptr != NULL
            && strcmp(((php_stream *) resource->ptr)->ops->label, "Input") == 0) {
            zend_list_close(resource);
        }
    } ZEND_HASH_FOREACH_END();
    php_stream_close(body);
}

static void end_sapi(void)
{
    php_stream *body = SG(request_info).request_body;

    /* The rest of the body is of no use. */
    SG(post_read) = 1;
    sapi_deactivate();
    if (body != NULL) {
        close_body(body);
    }
    php_clear_stat_cache(0, NULL, 0);
}

/* Runs one step of the end, and says whether it came to its own end. */
static bool completes(void (*step)(void))
{
    volatile bool completed = false;

    zend_try {
        step();
        completed = true;
    } zend_end_try();
    return completed;
}

static void stop_timer(void)
{
    zend_unset_timeout();
}

static void send_head(void)
{
    php_output_deactivate();
}

/* Between requests, output is for the log, and fields are dropped. */
static void leave_nobody(void)
{
    corral_forget_request();
    php_output_activate();
    SG(request_info).no_headers = 1;
}

bool corral_turn_end(bool script_ends)
{
    static void (*const steps[])(void) = {
        end_shutdown_functions_of_script, end_shutdown_functions, call_destructors, end_output, stop_timer, end_modules, send_head, end_sapi, restore_bounds,
    };
    bool completed = true;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        bool is_of_script = steps[i] == end_shutdown_functions_of_script || steps[i] == call_destructors;

        if (script_ends || !is_of_script) {
            completed &= completes(steps[i]);
        }
    }
    leave_nobody();
    if (BG(user_shutdown_function_names) != NULL) {
        php_free_shutdown_functions();
    }
    BG(user_shutdown_function_names) = between.shutdown_functions;
    return completed;
}

/* }}} */
