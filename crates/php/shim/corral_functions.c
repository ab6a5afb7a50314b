/* The functions that PHP programs expect of a web server's SAPI. */

#include "corral_internal.h"

#include "ext/standard/head.h"
#include "ext/standard/info.h"

PHP_MINIT_FUNCTION(corral);

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

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_returns_bool, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_returns_array, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    PHP_FE(fastcgi_finish_request, arginfo_returns_bool)
    PHP_FE(getallheaders, arginfo_returns_array)
    PHP_FALIAS(apache_request_headers, getallheaders, arginfo_returns_array)
    PHP_FE(apache_response_headers, arginfo_returns_array)
    PHP_FE_END
};

PHP_MINFO_FUNCTION(corral)
{
    php_info_print_table_start();
    php_info_print_table_row(2, "Server", ZSTR_VAL(corral_software));
    php_info_print_table_end();
}

/*
 * Runs when the script, its shutdown functions and destructors are through. What is left of the
 * body interests nobody, but PHP would read all of it.
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
