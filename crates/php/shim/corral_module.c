/* Start and end of PHP as a whole: module start-up, settings, what a fork needs. */

/* dladdr() */
#define _GNU_SOURCE

#include "corral_internal.h"

#include <dlfcn.h>

#include "php_ini.h"
#include "zend_constants.h"
#include "zend_ini.h"
#ifdef ZEND_SIGNALS
# include "zend_signal.h"
#endif
#if PHP_VERSION_ID < 80200
# include "ext/standard/php_lcg.h"
#endif
#ifdef ZEND_MAX_EXECUTION_TIMERS
# include "zend_max_execution_timer.h"
#endif

#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif

const corral_host_t *corral_host;
void (*corral_trace_sink)(void *call, const char *text, size_t len);
zend_string *corral_software;
bool corral_compatible_names;

/* The name that scripts see; the name at start-up is one that opcache knows. */
static char *reported_name;
static corral_slice_t software;

#if PHP_VERSION_ID >= 80200
typedef zend_result hook_result_t;
#else
typedef int hook_result_t;
#endif
static hook_result_t (*next_post_startup)(void);

static void report_name(const char *name)
{
    zend_constant *constant = zend_hash_str_find_ptr(EG(zend_constants), ZEND_STRL("PHP_SAPI"));

    sapi_module.name = (char *) name;
    if (constant != NULL) {
        ZVAL_INTERNED_STR(&constant->value, zend_string_init_interned(name, strlen(name), 1));
    }
}

/*
 * Called when all extensions are up and before anything is compiled: opcache has taken our name
 * by now, and calls hooks older than its own before it preloads.
 */
static hook_result_t after_extensions(void)
{
    if (next_post_startup != NULL && next_post_startup() != SUCCESS) {
        return FAILURE;
    }
    if (strcmp(reported_name, sapi_module.name) != 0) {
        report_name(reported_name);
    }
    corral_process_prepare();
    corral_filter_prepare();
    corral_guard_prepare();
    corral_max_input_time = PG(max_input_time);
    return SUCCESS;
}

PHP_MINIT_FUNCTION(corral)
{
    corral_software = zend_string_init_interned(software.data, software.len, 1);
    corral_variables_prepare();
    corral_trace_hook();
    corral_functions_prepare();
    next_post_startup = zend_post_startup_cb;
    zend_post_startup_cb = after_extensions;
    return SUCCESS;
}

const char *corral_php_version(void)
{
    return PHP_VERSION;
}

const char *corral_php_folder(size_t idx)
{
    static const char *const folders[] = {
        PHP_EXTENSION_DIR, PHP_CONFIG_FILE_PATH, PHP_CONFIG_FILE_SCAN_DIR,
    };

    return idx < sizeof(folders) / sizeof(folders[0]) ? folders[idx] : NULL;
}

const char *corral_php_library(void)
{
    Dl_info info;

    return dladdr((void *) php_request_startup, &info) != 0 ? info.dli_fname : NULL;
}

/* PHP starts its modules through sapi_module.startup, also when it restarts itself. */
static int start_modules(sapi_module_struct *sapi)
{
#if PHP_VERSION_ID >= 80200
    return php_module_startup(sapi, &corral_module_entry);
#else
    return php_module_startup(sapi, &corral_module_entry, 1);
#endif
}

int corral_module_start(const corral_options_t *options)
{
    corral_host = options->host;
    corral_trace_sink = options->trace;
    software = options->software;
    corral_compatible_names = options->compatible_names != 0;
    corral_guard = options->guard;
    reported_name = strdup(options->sapi_name);
#ifdef ZTS
    php_tsrm_startup();
    ZEND_TSRMLS_CACHE_UPDATE();
#endif
#ifdef ZEND_SIGNALS
    zend_signal_startup();
#endif
    sapi_startup(&corral_sapi);
    corral_sapi.startup = start_modules;
    corral_sapi.ini_entries = strdup(options->ini_entries);
    corral_sapi.php_ini_path_override = options->ini_path != NULL ? strdup(options->ini_path) : NULL;
    return corral_sapi.startup(&corral_sapi) == SUCCESS ? 0 : -1;
}

void corral_module_stop(void)
{
    corral_variables_forget();
    php_module_shutdown();
    sapi_shutdown();
#ifdef ZTS
    tsrm_shutdown();
#endif
    /* Constant to its reader since PHP 8.4. */
    free((char *) corral_sapi.ini_entries);
    free(corral_sapi.php_ini_path_override);
    free(reported_name);
}

/* PHP 8.4 gathered this in one function; before, each caller of fork() knew the parts. */
void corral_module_forked(void)
{
#if defined(CORRAL_HAVE_PHP_CHILD_INIT)
    php_child_init();
#elif defined(ZEND_MAX_EXECUTION_TIMERS)
    zend_max_execution_timer_init();
#endif
#if PHP_VERSION_ID < 80200
    LCG(seeded) = 0;
#endif
}

static bool setting_holds(const zend_ini_entry *entry, corral_slice_t value)
{
    return entry->value != NULL && ZSTR_LEN(entry->value) == value.len
        && memcmp(ZSTR_VAL(entry->value), value.data, value.len) == 0;
}

/*
 * zend_alter_ini_entry() would be undone at the end of the first request, so the entry is changed
 * as module start-up does it. The value before may be shared with others and is left to them.
 */
static bool setting_change(zend_ini_entry *entry, corral_slice_t value, int stage)
{
    zend_string *text = zend_string_init(value.data, value.len, 1);

    if (entry->on_modify != NULL
        && entry->on_modify(entry, text, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3, stage) != SUCCESS) {
        zend_string_release_ex(text, 1);
        return false;
    }
    entry->value = text;
    return true;
}

static int setting_apply(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode, int stage)
{
    zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), name.data, name.len);
    volatile bool applied = false;

    if (entry == NULL) {
        return -1;
    }
    zend_first_try {
        applied = setting_holds(entry, value) || setting_change(entry, value, stage);
    } zend_end_try();
    if (!applied) {
        return -1;
    }
    entry->modifiable = mode == CORRAL_SETTING_SYSTEM ? ZEND_INI_SYSTEM : ZEND_INI_USER;
    return 0;
}

int corral_setting_apply(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode)
{
    return setting_apply(name, value, mode, PHP_INI_STAGE_ACTIVATE);
}

/* At the stage of the start, handlers only take note of the value: no timer begins to run. */
int corral_setting_apply_late(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode)
{
    int refused = setting_apply(name, value, mode, PHP_INI_STAGE_STARTUP);

    corral_max_input_time = PG(max_input_time);
    return refused;
}

corral_slice_t corral_setting_value(corral_slice_t name)
{
    zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), name.data, name.len);

    if (entry == NULL || entry->value == NULL) {
        return (corral_slice_t) {"", 0};
    }
    return (corral_slice_t) {ZSTR_VAL(entry->value), ZSTR_LEN(entry->value)};
}

/* In no header that is installed. */
extern PHPAPI char *php_ini_opened_path;
extern PHPAPI char *php_ini_scanned_files;

const char *corral_ini_files(size_t idx)
{
    return idx == 0 ? php_ini_opened_path : php_ini_scanned_files;
}

/* The value is tried and taken back, as a handler may have more to say of it than its form. */
static bool setting_fits(zend_ini_entry *entry, corral_slice_t value)
{
    zend_string *text = zend_string_init(value.data, value.len, 1);
    bool fits = entry->on_modify == NULL
        || entry->on_modify(entry, text, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3,
                            PHP_INI_STAGE_ACTIVATE) == SUCCESS;

    if (fits && entry->on_modify != NULL) {
        /* At this stage no timer is set. */
        (void) entry->on_modify(entry, entry->value, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3,
                                PHP_INI_STAGE_DEACTIVATE);
    }
    zend_string_release_ex(text, 1);
    return fits;
}

corral_setting_check_t corral_setting_check(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode)
{
    zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), name.data, name.len);
    volatile bool fits = false;

    if (entry == NULL) {
        return CORRAL_SETTING_UNKNOWN;
    }
    if (mode == CORRAL_SETTING_USER && (entry->modifiable & (ZEND_INI_USER | ZEND_INI_PERDIR)) == 0) {
        return CORRAL_SETTING_ADMIN;
    }
    zend_first_try {
        fits = setting_fits(entry, value);
    } zend_end_try();
    return fits ? CORRAL_SETTING_FITS : CORRAL_SETTING_REFUSED;
}

int corral_opcache_active(void)
{
    zend_module_entry *opcache = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("zend opcache"));

    return opcache != NULL && zend_ini_long("opcache.enable", sizeof("opcache.enable") - 1, 0) != 0;
}

void corral_paths_forget(void)
{
    realpath_cache_clean();
}

corral_string_h corral_string_new(corral_slice_t text)
{
    zend_string *string = zend_string_init(text.data, text.len, 1);

    zend_string_hash_val(string);
    return (corral_string_h) string;
}

void corral_string_free(corral_string_h string)
{
    zend_string_release_ex((zend_string *) string, 1);
}
