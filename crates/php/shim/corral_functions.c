/* The functions that PHP programs expect of a web server's SAPI. */

#include "corral_internal.h"

#include "ext/json/php_json.h"
#include "ext/standard/head.h"
#include "ext/standard/info.h"
#include "zend_smart_str.h"

PHP_MINIT_FUNCTION(corral);
PHP_FUNCTION(corral_handle_request);

/* Levels of messages, with the numbers of Go's log/slog, which FrankenPHP has. */
enum level { LEVEL_DEBUG = -4, LEVEL_INFO = 0, LEVEL_WARN = 4, LEVEL_ERROR = 8 };

/* {{{ Completes the response; the script goes on without a client. */
PHP_FUNCTION(fastcgi_finish_request)
{
    corral_call_t *call = corral_call();

    ZEND_PARSE_PARAMETERS_NONE();
    if (call == NULL || call->finished) {
        RETURN_FALSE;
    }
    php_output_end_all();
    php_header();
    corral_host->finish(call->request->call);
    call->finished = true;
    RETURN_TRUE;
}
/* }}} */

void corral_wrap_function(const char *name, size_t len, zif_handler wrapper, zif_handler *wrapped)
{
    zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, len);

    if (function != NULL && function->type == ZEND_INTERNAL_FUNCTION) {
        *wrapped = function->internal_function.handler;
        function->internal_function.handler = wrapper;
    }
}

static void add_field(zval *result, const corral_field_t *field)
{
    zval *before = zend_symtable_str_find(Z_ARRVAL_P(result), field->name.data, field->name.len);
    zval value;

    if (before == NULL || Z_TYPE_P(before) != IS_STRING) {
        ZVAL_STRINGL(&value, field->value.data, field->value.len);
    } else {
        ZVAL_STR(&value, zend_string_concat3(Z_STRVAL_P(before), Z_STRLEN_P(before),
                                             corral_is_cookie(field->name) ? "; " : ", ", 2,
                                             field->value.data, field->value.len));
    }
    zend_symtable_str_update(Z_ARRVAL_P(result), field->name.data, field->name.len, &value);
}

/* {{{ The request's fields with their names as received; apache_request_headers() is the same. */
PHP_FUNCTION(getallheaders)
{
    corral_call_t *call = corral_call();

    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    for (size_t i = 0; call != NULL && i < call->request->n_fields; i++) {
        add_field(return_value, &call->request->fields[i]);
    }
}
/* }}} */

/* {{{ The response's fields as they stand; of a repeated one the last counts. */
PHP_FUNCTION(apache_response_headers)
{
    zend_llist_position position;
    sapi_header_struct *header;

    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    header = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position);
    for (; header != NULL; header = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
        char *end = header->header + header->header_len;
        char *colon = memchr(header->header, ':', header->header_len);
        char *value = colon;

        if (colon == NULL) {
            continue;
        }
        for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++) {
        }
        add_assoc_stringl_ex(return_value, header->header, (size_t) (colon - header->header),
                             value, (size_t) (end - value));
    }
}
/* }}} */

/* {{{ Sends the fields that stand so far, with a status: 103 for early hints, before the response. */
PHP_FUNCTION(headers_send)
{
    zend_long status = 200;

    ZEND_PARSE_PARAMETERS_START(0, 1)
        Z_PARAM_OPTIONAL
        Z_PARAM_LONG(status)
    ZEND_PARSE_PARAMETERS_END();
    if (status < 100 || status > 999) {
        zend_argument_value_error(1, "must be a status between 100 and 999");
        RETURN_THROWS();
    }
    if (status < 200) {
        RETURN_LONG(corral_inform((int) status));
    }
    SG(sapi_headers).http_response_code = (int) status;
    RETURN_LONG(sapi_send_headers());
}
/* }}} */

static const char *name_of(zend_long level)
{
    if (level < LEVEL_INFO) {
        return "debug";
    }
    if (level < LEVEL_WARN) {
        return "info";
    }
    return level < LEVEL_ERROR ? "warn" : "error";
}

/* {{{ Writes a line for the log: warnings and errors where errors go, the others where output goes. */
PHP_FUNCTION(frankenphp_log)
{
    zend_string *message;
    zend_long level = LEVEL_INFO;
    zval *context = NULL;
    smart_str line = {0};

    ZEND_PARSE_PARAMETERS_START(1, 3)
        Z_PARAM_STR(message)
        Z_PARAM_OPTIONAL
        Z_PARAM_LONG(level)
        Z_PARAM_ARRAY(context)
    ZEND_PARSE_PARAMETERS_END();
    smart_str_appends(&line, name_of(level));
    smart_str_appends(&line, ": ");
    smart_str_append(&line, message);
    if (context != NULL && zend_hash_num_elements(Z_ARRVAL_P(context)) != 0) {
        smart_str_appendc(&line, ' ');
        (void) php_json_encode(&line, context, PHP_JSON_PARTIAL_OUTPUT_ON_ERROR | PHP_JSON_UNESCAPED_SLASHES);
    }
    smart_str_appendc(&line, '\n');
    smart_str_0(&line);
    corral_log(level < LEVEL_WARN ? STDOUT_FILENO : STDERR_FILENO, ZSTR_VAL(line.s), ZSTR_LEN(line.s));
    smart_str_free(&line);
}
/* }}} */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_returns_bool, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_returns_array, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_handle_request, 0, 1, _IS_BOOL, 0)
    ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_headers_send, 0, 0, IS_LONG, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, status, IS_LONG, 0, "200")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_log, 0, 1, IS_VOID, 0)
    ZEND_ARG_TYPE_INFO(0, message, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, level, IS_LONG, 0, "0")
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, context, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    PHP_FE(corral_handle_request, arginfo_handle_request)
    PHP_FE(headers_send, arginfo_headers_send)
    PHP_FE(fastcgi_finish_request, arginfo_returns_bool)
    PHP_FE(getallheaders, arginfo_returns_array)
    PHP_FALIAS(apache_request_headers, getallheaders, arginfo_returns_array)
    PHP_FE(apache_response_headers, arginfo_returns_array)
    PHP_FE_END
};

static const zend_function_entry compatible_functions[] = {
    PHP_FALIAS(frankenphp_handle_request, corral_handle_request, arginfo_handle_request)
    PHP_FALIAS(frankenphp_finish_request, fastcgi_finish_request, arginfo_returns_bool)
    PHP_FALIAS(frankenphp_request_headers, getallheaders, arginfo_returns_array)
    PHP_FALIAS(frankenphp_response_headers, apache_response_headers, arginfo_returns_array)
    PHP_FE(frankenphp_log, arginfo_log)
    PHP_FE_END
};

static void register_level(const char *name, zend_long level)
{
    zend_register_long_constant(name, strlen(name), level, CONST_CS | CONST_PERSISTENT,
                                corral_module_entry.module_number);
}

void corral_functions_prepare(void)
{
    if (!corral_compatible_names) {
        return;
    }
    (void) zend_register_functions(NULL, compatible_functions, NULL, MODULE_PERSISTENT);
    register_level("FRANKENPHP_LOG_LEVEL_DEBUG", LEVEL_DEBUG);
    register_level("FRANKENPHP_LOG_LEVEL_INFO", LEVEL_INFO);
    register_level("FRANKENPHP_LOG_LEVEL_WARN", LEVEL_WARN);
    register_level("FRANKENPHP_LOG_LEVEL_ERROR", LEVEL_ERROR);
}

PHP_MINFO_FUNCTION(corral)
{
    php_info_print_table_start();
    php_info_print_table_row(2, "Server", ZSTR_VAL(corral_software));
    php_info_print_table_end();
}

/*
 * Runs when the script, its shutdown functions and destructors are through. What is left of the
 * body is of no use, but PHP would read all of it.
 */
static PHP_RSHUTDOWN_FUNCTION(corral)
{
    SG(post_read) = 1;
    return SUCCESS;
}

zend_module_entry corral_module_entry = {
    STANDARD_MODULE_HEADER,
    "corral",
    functions,
    PHP_MINIT(corral),
    NULL,
    NULL,
    PHP_RSHUTDOWN(corral),
    PHP_MINFO(corral),
    PHP_VERSION,
    STANDARD_MODULE_PROPERTIES
};
