/* The script of a worker, which stays in memory and asks for its requests: corral_handle_request(). */

#include "corral_internal.h"

#include "php_variables.h"
#include "zend_exceptions.h"
#include "zend_interfaces.h"
#include "ext/spl/spl_exceptions.h"
#ifdef ZEND_SIGNALS
# include "zend_signal.h"
#endif

/* The worker that runs, or NULL in a process that has none. */
static const corral_worker_t *worker;

/* How a turn of the script ended. */
typedef enum {
    TURN_DONE,
    /* The handler called exit: the script is to end in the same way. */
    TURN_EXITED,
    /* A fatal error has occurred. */
    TURN_BAILED,
} turn_end_t;

/* A call of corral_handle_request(). */
typedef struct {
    zend_fcall_info fci;
    zend_fcall_info_cache fcc;
    turn_end_t end;
    /* The exception that exit left behind, to go on with when the request is over. */
    zend_object *exit;
} job_t;

/* A handler runs. */
static bool in_turn;

/* The script has asked for a request. */
static bool has_asked;

/* The script was told that there are no more requests. */
static bool is_over;

const corral_worker_t *corral_worker(void)
{
    return worker;
}

/* {{{ a turn */

/*
 * As for any script, the one that set_exception_handler() named has the first word. The loop goes on either way, and a
 * client that has not been sent anything is told that it failed.
 */
static void report_exception(void)
{
    zend_object *exception = EG(exception);

    if (!SG(headers_sent) && SG(sapi_headers).http_response_code == 200) {
        SG(sapi_headers).http_response_code = 500;
    }
    EG(exception) = NULL;
    /* Lets go of it, too. */
    (void) zend_exception_error(exception, E_ERROR);
    EG(exit_status) = 0;
}

static void take_exception(job_t *job)
{
    if (EG(exception) == NULL) {
        return;
    }
    if (zend_is_unwind_exit(EG(exception)) || zend_is_graceful_exit(EG(exception))) {
        job->exit = EG(exception);
        job->end = TURN_EXITED;
        EG(exception) = NULL;
        return;
    }
    if (Z_TYPE(EG(user_exception_handler)) != IS_UNDEF) {
        zend_user_exception_handler();
    }
    if (EG(exception) != NULL) {
        report_exception();
    }
}

static void call_handler(job_t *job, zend_execute_data *frame)
{
    zval result;

    ZVAL_UNDEF(&result);
    job->fci.retval = &result;
    job->end = TURN_DONE;
    zend_try {
        EG(current_execute_data) = frame;
        (void) zend_call_function(&job->fci, &job->fcc);
        EG(current_execute_data) = NULL;
        zval_ptr_dtor(&result);
        take_exception(job);
        if (job->end == TURN_DONE) {
            corral_guard_handled();
        }
    } zend_catch {
        job->end = TURN_BAILED;
    } zend_end_try();
}

/* As the end of a script does: PHP calls no function any more after it has run out of memory. */
static void leave_shortage(void)
{
#ifdef ZEND_HAS_OOM
    EG(delayed_oom).state = ZEND_OOM_STATE_NONE;
#endif
}

/* A script that ends leaves nothing behind. */
static void look_behind(job_t *job)
{
    if (job->end != TURN_DONE) {
        return;
    }
    zend_try {
        corral_guard_end();
    } zend_catch {
        job->end = TURN_BAILED;
    } zend_end_try();
}

/*
 * Nothing of PHP jumps over this function, as the host called it. What begins and ends a request does so without a
 * frame, as it does for any script: an exception that is not caught there is a fatal error.
 */
static corral_outcome_t answer(void *context, const corral_request_t *request)
{
    job_t *job = context;
    corral_call_t call = {.request = request, .finished = false};
    zend_execute_data *frame = EG(current_execute_data);
    bool begun;

    in_turn = true;
    EG(current_execute_data) = NULL;
    begun = corral_turn_begin(&call);
    if (begun) {
        call_handler(job, frame);
    } else {
        job->end = TURN_BAILED;
        SG(request_info).no_headers = 1;
    }
    leave_shortage();
    if (!corral_turn_end(begun && job->end != TURN_DONE)) {
        job->end = TURN_BAILED;
    }
    look_behind(job);
    EG(current_execute_data) = frame;
    in_turn = false;
    return job->end == TURN_DONE && !corral_guard_gives_up() ? CORRAL_SERVED : CORRAL_SERVED_LAST;
}

/* }}} */

/* {{{ the function */

static bool may_ask(void)
{
    const char *reason = NULL;

    if (worker == NULL) {
        reason = "there are no requests to ask for in an application that starts its script for each request; "
                 "to keep a script in memory, configure it as the application's \"worker\": "
                 "{\"worker\": {\"script\": \"...\"}}";
    } else if (in_turn) {
        reason = "the request before has not ended: a handler cannot ask for another one";
    } else if (EG(active_fiber) != NULL) {
        reason = "requests cannot be asked for inside of a fiber; a handler can start fibers";
    }
    if (reason != NULL) {
        zend_throw_exception_ex(spl_ce_RuntimeException, 0, "%s(): %s",
                                ZSTR_VAL(EG(current_execute_data)->func->common.function_name), reason);
    }
    return reason == NULL;
}

/* A script that does not listen would ask for ever. */
static void end_if_told_before(void)
{
    if (is_over) {
        zend_throw_unwind_exit();
    }
    is_over = true;
}

/* Waits for a request, and calls the handler while the superglobals are that request's. False when there will be none:
 * the script is to end. */
PHP_FUNCTION(corral_handle_request)
{
    job_t job = {.end = TURN_DONE};

    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_FUNC(job.fci, job.fcc)
    ZEND_PARSE_PARAMETERS_END();
    if (!may_ask()) {
        RETURN_THROWS();
    }
    if (!has_asked) {
        /* The time that the script takes to start is bounded; its wait is not. */
        zend_unset_timeout();
        has_asked = true;
    }
    if (worker->next(worker->host, answer, &job) == 0) {
        end_if_told_before();
        RETVAL_FALSE;
        return;
    }
    if (job.end == TURN_BAILED) {
        zend_bailout();
    }
    if (job.end == TURN_EXITED) {
        EG(exception) = job.exit;
        RETURN_THROWS();
    }
    RETURN_TRUE;
}

/* }}} */

/* {{{ the script */

static void describe_script(void)
{
    SG(request_info).request_method = NULL;
    SG(request_info).query_string = NULL;
    SG(request_info).request_uri = NULL;
    SG(request_info).path_translated = ZSTR_VAL((zend_string *) worker->script);
    SG(request_info).content_type = NULL;
    SG(request_info).content_length = 0;
    SG(sapi_headers).http_response_code = 200;
    PG(max_input_time) = -1;
}

/* The script goes on when a client has gone: it is not the client's. */
static void ignore_clients_that_leave(void)
{
    zend_string *name = zend_string_init(ZEND_STRL("ignore_user_abort"), 0);

    (void) zend_alter_ini_entry_chars(name, ZEND_STRL("1"), PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
    zend_string_release(name);
}

/* PHP would take the handlers that wait for the end of this process. */
static void keep_signals(void)
{
#ifdef ZEND_SIGNALS
    SIGG(reset) = 0;
#endif
}

static void run(void)
{
    if (php_request_startup() != SUCCESS) {
        return;
    }
    SG(request_info).no_headers = 1;
    SG(options) |= SAPI_OPTION_NO_CHDIR;
    ignore_clients_that_leave();
    corral_turn_prepare();
    corral_enter_directory(worker->directory);
    corral_execute((zend_string *) worker->script);
}

static void report_last_error(void)
{
    if (PG(last_error_message) != NULL && (PG(last_error_type) & (E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR
                                                                | E_USER_ERROR | E_RECOVERABLE_ERROR)) != 0) {
        zend_string *text = zend_strpprintf(0, "%s in %s:%d", ZSTR_VAL(PG(last_error_message)),
                                            PG(last_error_file) != NULL ? ZSTR_VAL(PG(last_error_file)) : "-",
                                            PG(last_error_lineno));

        worker->failed(worker->host, ZSTR_VAL(text), ZSTR_LEN(text));
        zend_string_release(text);
    }
}

int corral_worker_run(const corral_worker_t *described)
{
    worker = described;
    SG(server_context) = NULL;
    keep_signals();
    describe_script();
    zend_first_try {
        run();
    } zend_end_try();
    zend_first_try {
        corral_guard_forget();
        report_last_error();
    } zend_end_try();
    zend_first_try {
        php_request_shutdown(NULL);
    } zend_end_try();
    corral_end_stranger();
    corral_forget_request();
    worker = NULL;
    return EG(exit_status);
}

/* }}} */
