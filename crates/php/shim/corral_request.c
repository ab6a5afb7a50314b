/* The life of one request inside PHP. */

#include "corral_internal.h"

#include "php_ini.h"
#include "php_variables.h"
#include "zend_stream.h"
#ifdef ZEND_SIGNALS
# include "zend_signal.h"
#endif

zend_long corral_max_input_time;

/*
 * With each request: the script before may have gone elsewhere, or the folder may be another one by now that has the same
 * path. A script that cannot be reached this way fails to open, and PHP says so.
 */
void corral_enter_directory(const char *directory)
{
    (void) VCWD_CHDIR(directory);
}

/* The strings stay the host's: PHP neither changes nor frees them. */
void corral_describe_request(const corral_request_t *request)
{
    SG(request_info).request_method = request->method;
    SG(request_info).query_string = (char *) request->query;
    /* Without the query, as in Apache: Phar takes what is behind its own name for the path of an entry. */
    SG(request_info).request_uri = (char *) request->path;
    SG(request_info).path_translated = ZSTR_VAL((zend_string *) request->script);
    SG(request_info).content_type = request->content_type;
    SG(request_info).content_length = (zend_long) request->content_length;
    SG(request_info).no_headers = 0;
    /* Without input there is one timer to set, not one after the other. */
    PG(max_input_time) = request->content_length != 0 ? corral_max_input_time : -1;
    SG(sapi_headers).http_response_code = 200;
}

void corral_forget_request(void)
{
    SG(server_context) = NULL;
    SG(request_info).request_method = NULL;
    SG(request_info).query_string = NULL;
    SG(request_info).request_uri = NULL;
    SG(request_info).path_translated = NULL;
    SG(request_info).content_type = NULL;
    SG(request_info).cookie_data = NULL;
    SG(request_info).content_length = 0;
}

static bool is_allowed(const char *path)
{
    return PG(open_basedir) == NULL || *PG(open_basedir) == '\0'
        || php_check_open_basedir_ex(path, 0) == 0;
}

/*
 * The path is absolute already, so it is given as the opened path too: that saves PHP from
 * expanding it, and opcache from nothing, since it finds the script by its name.
 */
void corral_execute(zend_string *path)
{
    zend_file_handle script;

    zend_stream_init_filename_ex(&script, path);
    script.primary_script = 1;
    script.opened_path = zend_string_copy(path);
    php_execute_script(&script);
    zend_destroy_file_handle(&script);
}

/* The end of the request would send a head otherwise. */
static corral_outcome_t without_response(corral_outcome_t outcome)
{
    SG(request_info).no_headers = 1;
    return outcome;
}

/*
 * Before PHP begins with the request, as Apache does it for a folder: some settings count at that moment alone. PHP takes
 * them back at the request's end. What `options.admin` protects stays protected, with the value for this path.
 */
static void change_settings(const corral_request_t *request)
{
    for (size_t i = 0; i < request->n_settings; i++) {
        const corral_setting_t *setting = &request->settings[i];
        bool is_admin = setting->mode == CORRAL_SETTING_SYSTEM;

        (void) zend_alter_ini_entry_ex((zend_string *) setting->name, (zend_string *) setting->value,
                                       is_admin ? PHP_INI_SYSTEM : PHP_INI_USER, PHP_INI_STAGE_ACTIVATE, true);
    }
}

static corral_outcome_t begin_and_execute(const corral_request_t *request)
{
    change_settings(request);
    if (request->authorization != NULL) {
        php_handle_auth_data(request->authorization);
    }
#ifndef ZTS
    /* Modules that start with the request may have relative paths: of sessions, of open_basedir. */
    corral_enter_directory(request->directory);
#endif
    if (php_request_startup() != SUCCESS) {
        return without_response(CORRAL_NOT_STARTED);
    }
#ifdef ZTS
    /* The directory belongs to the thread, and PHP resets it when a request starts. */
    corral_enter_directory(request->directory);
#endif
    corral_process_begin();
    if (!is_allowed(ZSTR_VAL((zend_string *) request->script))) {
        return without_response(CORRAL_FORBIDDEN);
    }
    SG(options) |= SAPI_OPTION_NO_CHDIR;
    corral_execute((zend_string *) request->script);
    return CORRAL_SERVED;
}

/*
 * PHP registers its handlers for seven signals with each request again, in case a library took
 * one. Nothing here does, and the handlers of the first request stay.
 */
static void keep_signal_handlers(void)
{
#ifdef ZEND_SIGNALS
    SIGG(reset) = 0;
#endif
}

/* A process that the script has forked ends with it, as the script says. */
void corral_end_stranger(void)
{
    if (corral_host->stranger() != 0) {
        exit(EG(exit_status));
    }
}

corral_outcome_t corral_request_run(const corral_request_t *request)
{
    corral_call_t call = {.request = request, .finished = false};
    volatile corral_outcome_t outcome = CORRAL_NOT_STARTED;

    SG(server_context) = &call;
    corral_describe_request(request);
    zend_first_try {
        outcome = begin_and_execute(request);
    } zend_end_try();
    zend_first_try {
        php_request_shutdown(NULL);
    } zend_end_try();
    corral_end_stranger();
    corral_forget_request();
    keep_signal_handlers();
    if (!corral_process_renew()) {
        outcome = CORRAL_SERVED_LAST;
    }
    return outcome;
}
