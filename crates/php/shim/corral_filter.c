/*
 * The filter extension keeps a copy of all input for filter_input(). PHP hands it each server
 * variable by itself, which costs as much again as making them. The default filter changes nothing,
 * so with it the extension is told only when a script asks it about INPUT_SERVER.
 */

#include "corral_internal.h"

#include "php_ini.h"
#include "php_variables.h"

static bool transparent;

static zif_handler filter_has_var;
static zif_handler filter_input;
static zif_handler filter_input_array;

bool corral_filter_is_transparent(void)
{
    return transparent;
}

static void tell(zend_string *name, zval *value)
{
    char *text = estrndup(Z_STRVAL_P(value), Z_STRLEN_P(value));
    size_t len = Z_STRLEN_P(value);

    (void) sapi_module.input_filter(PARSE_SERVER, ZSTR_VAL(name), &text, len, &len);
    efree(text);
}

/* Variables that a script wrote to $_SERVER are not among these: its array is another one then. */
static void tell_server_variables(corral_call_t *call)
{
    zval *variables = &PG(http_globals)[TRACK_VARS_SERVER];
    zend_string *name;
    zval *value;

    call->filter_knows = true;
    zend_is_auto_global_str(ZEND_STRL("_SERVER"));
    if (Z_TYPE_P(variables) != IS_ARRAY) {
        return;
    }
    ZEND_HASH_FOREACH_STR_KEY_VAL(Z_ARRVAL_P(variables), name, value) {
        if (name != NULL && Z_TYPE_P(value) == IS_STRING) {
            tell(name, value);
        }
    } ZEND_HASH_FOREACH_END();
}

static void before_asking(zend_execute_data *execute_data)
{
    corral_call_t *call = corral_call();
    zval *kind = ZEND_CALL_NUM_ARGS(execute_data) != 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;

    if (call != NULL && !call->filter_knows && kind != NULL && Z_TYPE_P(kind) == IS_LONG
        && Z_LVAL_P(kind) == PARSE_SERVER) {
        tell_server_variables(call);
    }
}

static ZEND_NAMED_FUNCTION(wrapped_filter_has_var)
{
    before_asking(execute_data);
    filter_has_var(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_filter_input)
{
    before_asking(execute_data);
    filter_input(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_filter_input_array)
{
    before_asking(execute_data);
    filter_input_array(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* filter.default cannot be changed by scripts. */
void corral_filter_prepare(void)
{
    const char *filter = zend_ini_string_ex("filter.default", sizeof("filter.default") - 1, 0, NULL);

    transparent = filter == NULL || *filter == '\0' || strcmp(filter, "unsafe_raw") == 0;
    if (transparent) {
        corral_wrap_function(ZEND_STRL("filter_has_var"), wrapped_filter_has_var, &filter_has_var);
        corral_wrap_function(ZEND_STRL("filter_input"), wrapped_filter_input, &filter_input);
        corral_wrap_function(ZEND_STRL("filter_input_array"), wrapped_filter_input_array, &filter_input_array);
    }
}
