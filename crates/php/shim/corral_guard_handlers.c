/* The state guard's eye on functions that PHP calls by itself: handlers of errors and of exceptions. Shutdown functions of a
 * request are called at its end, and are gone then. */

#include "corral_guard.h"

#include "zend_closures.h"
#include "zend_stack.h"

static zval error_handler;
static zval exception_handler;
/* The errors that the handler is for. */
static int errors;
/* Handlers that wait behind the one in force. */
static int n_error_handlers;
static int n_exception_handlers;

void corral_guard_handlers_begin(void)
{
    ZVAL_COPY(&error_handler, &EG(user_error_handler));
    ZVAL_COPY(&exception_handler, &EG(user_exception_handler));
    errors = EG(user_error_handler_error_reporting);
    n_error_handlers = EG(user_error_handlers).top;
    n_exception_handlers = EG(user_exception_handlers).top;
}

void corral_guard_handlers_forget(void)
{
    zval_ptr_dtor(&error_handler);
    zval_ptr_dtor(&exception_handler);
    ZVAL_UNDEF(&error_handler);
    ZVAL_UNDEF(&exception_handler);
}

static bool is_same(zval *a, zval *b)
{
    if (Z_TYPE_P(a) == IS_UNDEF || Z_TYPE_P(b) == IS_UNDEF) {
        return Z_TYPE_P(a) == Z_TYPE_P(b);
    }
    return zend_is_identical(a, b);
}

static zend_string *name_of(zval *handler)
{
    const zend_function *function;
    zend_string *name, *text;

    if (Z_TYPE_P(handler) == IS_UNDEF) {
        return zend_string_init(ZEND_STRL("none"), 0);
    }
    if (Z_TYPE_P(handler) == IS_OBJECT && Z_OBJCE_P(handler) == zend_ce_closure) {
        function = zend_get_closure_method_def(Z_OBJ_P(handler));
        if (function->type == ZEND_USER_FUNCTION) {
            return zend_strpprintf(0, "a closure at %s:%u", ZSTR_VAL(function->op_array.filename),
                                   function->op_array.line_start);
        }
    }
    name = zend_get_callable_name(handler);
    text = zend_strpprintf(0, "%s()", ZSTR_VAL(name));
    zend_string_release(name);
    return text;
}

static void report(guard_kind_t kind, const char *what, zval *now, zval *before, int n_more)
{
    zend_string *name = name_of(now), *name_before = name_of(before);

    if (!is_same(now, before)) {
        corral_guard_found(kind, NULL, "left another %s handler: %s (it was %s)", what, ZSTR_VAL(name),
                           ZSTR_VAL(name_before));
    } else {
        corral_guard_found(kind, NULL, "left %d more %s handler%s behind %s", n_more, what, n_more == 1 ? "" : "s",
                           ZSTR_VAL(name));
    }
    zend_string_release(name);
    zend_string_release(name_before);
}

static void put_back(zval *now, zval *before, zend_stack *behind, int n_before)
{
    zval old;

    while (behind->top > n_before) {
        zval_ptr_dtor(zend_stack_top(behind));
        zend_stack_del_top(behind);
    }
    ZVAL_COPY_VALUE(&old, now);
    ZVAL_COPY(now, before);
    zval_ptr_dtor(&old);
}

static void look_at_errors(void)
{
    int n_more = EG(user_error_handlers).top - n_error_handlers;

    if (n_more <= 0 && is_same(&EG(user_error_handler), &error_handler)) {
        return;
    }
    report(LEFT_ERROR_HANDLER, "error", &EG(user_error_handler), &error_handler, n_more);
    if (corral_guard_restores()) {
        put_back(&EG(user_error_handler), &error_handler, &EG(user_error_handlers), n_error_handlers);
        EG(user_error_handler_error_reporting) = errors;
        while (EG(user_error_handlers_error_reporting).top > n_error_handlers) {
            zend_stack_del_top(&EG(user_error_handlers_error_reporting));
        }
    }
}

static void look_at_exceptions(void)
{
    int n_more = EG(user_exception_handlers).top - n_exception_handlers;

    if (n_more <= 0 && is_same(&EG(user_exception_handler), &exception_handler)) {
        return;
    }
    report(LEFT_EXCEPTION_HANDLER, "exception", &EG(user_exception_handler), &exception_handler, n_more);
    if (corral_guard_restores()) {
        put_back(&EG(user_exception_handler), &exception_handler, &EG(user_exception_handlers), n_exception_handlers);
    }
}

void corral_guard_handlers_end(void)
{
    look_at_errors();
    look_at_exceptions();
    corral_guard_handlers_forget();
}
