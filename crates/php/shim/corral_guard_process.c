/*
 * The state guard's eye on what belongs to the process: locale, time zone, umask, working directory, environment. None of it
 * can be asked for cheaply, so the functions that change it take note of what there was before.
 */

#include "corral_guard.h"

#include <locale.h>
#include <sys/stat.h>

#include "ext/date/php_date.h"
#include "zend_smart_str.h"

/* Runs `note` before the function of PHP's with that name, while a request runs. */
#define WATCHED(name, note) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        if (corral_guard_watches) { \
            before.has_any = true; \
            note(execute_data); \
            corral_guard_blame(#name); \
        } \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }

#define WATCH(name) corral_wrap_function(ZEND_STRL(#name), watched_##name, &name##_handler)

static const int categories[] = {LC_CTYPE, LC_NUMERIC, LC_TIME, LC_COLLATE, LC_MONETARY, LC_MESSAGES};

#define N_CATEGORIES (sizeof(categories) / sizeof(categories[0]))

/* The state before the request changed it; nothing where the function was not called. */
static struct {
    /* Some of the functions was called. */
    bool has_any;
    zend_string *locale[N_CATEGORIES];
    zend_string *zone;
    zend_string *directory;
    bool has_mask;
    mode_t mask;
    /* Values by name, or null. */
    HashTable *environment;
} before;

static void release(zend_string **text)
{
    if (*text != NULL) {
        zend_string_release(*text);
        *text = NULL;
    }
}

static void call_with(const char *name, const char *argument)
{
    zval text;

    ZVAL_STRING(&text, argument);
    corral_guard_call(name, 1, &text);
    zval_ptr_dtor(&text);
}

/* {{{ locale */

static void note_locale(zend_execute_data *execute_data)
{
    if (before.locale[0] != NULL) {
        return;
    }
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        const char *name = setlocale(categories[i], NULL);

        before.locale[i] = zend_string_init(name != NULL ? name : "C", name != NULL ? strlen(name) : 1, 0);
    }
}

/* By PHP's own function, as PHP keeps some of it in variables of its own. */
static void restore_locale(size_t category)
{
    zval arguments[2];

    ZVAL_LONG(&arguments[0], categories[category]);
    ZVAL_STR_COPY(&arguments[1], before.locale[category]);
    corral_guard_call("setlocale", 2, arguments);
    zval_ptr_dtor(&arguments[1]);
}

static void look_at_locale(void)
{
    for (size_t i = 0; i < N_CATEGORIES && before.locale[i] != NULL; i++) {
        const char *now = setlocale(categories[i], NULL);

        if (now != NULL && strcmp(now, ZSTR_VAL(before.locale[i])) != 0) {
            corral_guard_found(LEFT_LOCALE, "setlocale", "left the locale \"%s\" (it was \"%s\")", now,
                               ZSTR_VAL(before.locale[i]));
            if (corral_guard_restores()) {
                restore_locale(i);
            }
        }
        release(&before.locale[i]);
    }
}

WATCHED(setlocale, note_locale)

/* }}} */

/* {{{ time zone */

static const char *zone_now(void)
{
    const timelib_tzinfo *zone = get_timezone_info();

    return zone != NULL ? zone->name : "UTC";
}

static void note_zone(zend_execute_data *execute_data)
{
    const char *zone;

    if (before.zone == NULL) {
        zone = zone_now();
        before.zone = zend_string_init(zone, strlen(zone), 0);
    }
}

static void look_at_zone(void)
{
    if (before.zone == NULL) {
        return;
    }
    if (strcmp(zone_now(), ZSTR_VAL(before.zone)) != 0) {
        corral_guard_found(LEFT_ZONE, "date_default_timezone_set", "left the time zone \"%s\" (it was \"%s\")", zone_now(),
                           ZSTR_VAL(before.zone));
        if (corral_guard_restores()) {
            call_with("date_default_timezone_set", ZSTR_VAL(before.zone));
        }
    }
    release(&before.zone);
}

WATCHED(date_default_timezone_set, note_zone)

/* }}} */

/* {{{ umask */

/* No other way to read it exists. */
static mode_t mask_now(void)
{
    mode_t mask = umask(077);

    (void) umask(mask);
    return mask;
}

static void note_mask(zend_execute_data *execute_data)
{
    if (!before.has_mask) {
        before.mask = mask_now();
        before.has_mask = true;
    }
}

static void look_at_mask(void)
{
    mode_t now;

    if (!before.has_mask) {
        return;
    }
    before.has_mask = false;
    now = mask_now();
    if (now != before.mask) {
        corral_guard_found(LEFT_UMASK, "umask", "left the umask %04o (it was %04o)", (unsigned) now,
                           (unsigned) before.mask);
        if (corral_guard_restores()) {
            (void) umask(before.mask);
        }
    }
}

WATCHED(umask, note_mask)

/* }}} */

/* {{{ working directory */

static zend_string *directory_now(void)
{
    char path[MAXPATHLEN];

    if (VCWD_GETCWD(path, sizeof(path)) == NULL) {
        return NULL;
    }
    return zend_string_init(path, strlen(path), 0);
}

static void note_directory(zend_execute_data *execute_data)
{
    if (before.directory == NULL) {
        before.directory = directory_now();
    }
}

static void look_at_directory(void)
{
    zend_string *now;

    if (before.directory == NULL) {
        return;
    }
    now = directory_now();
    if (now == NULL || !zend_string_equals(now, before.directory)) {
        corral_guard_found(LEFT_DIRECTORY, "chdir", "left the working directory \"%s\" (it was \"%s\")",
                           now != NULL ? ZSTR_VAL(now) : "?", ZSTR_VAL(before.directory));
        if (corral_guard_restores()) {
            (void) VCWD_CHDIR(ZSTR_VAL(before.directory));
        }
    }
    release(&now);
    release(&before.directory);
}

WATCHED(chdir, note_directory)

/* }}} */

/* {{{ environment */

static void note_variable(zend_execute_data *execute_data)
{
    zval *argument = ZEND_CALL_NUM_ARGS(execute_data) > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
    const char *value;
    zend_string *name;
    zval known;

    if (argument == NULL || Z_TYPE_P(argument) != IS_STRING) {
        return;
    }
    if (before.environment == NULL) {
        ALLOC_HASHTABLE(before.environment);
        zend_hash_init(before.environment, 8, NULL, ZVAL_PTR_DTOR, 0);
    }
    name = zend_string_init(Z_STRVAL_P(argument), strcspn(Z_STRVAL_P(argument), "="), 0);
    value = getenv(ZSTR_VAL(name));
    if (value != NULL) {
        ZVAL_STRING(&known, value);
    } else {
        ZVAL_NULL(&known);
    }
    if (zend_hash_add(before.environment, name, &known) == NULL) {
        zval_ptr_dtor(&known);
    }
    zend_string_release(name);
}

static bool is_as_before(zend_string *name, const zval *value)
{
    const char *now = getenv(ZSTR_VAL(name));

    return Z_TYPE_P(value) == IS_NULL ? now == NULL : now != NULL && strcmp(now, Z_STRVAL_P(value)) == 0;
}

static void restore_variable(zend_string *name, const zval *value)
{
    zend_string *text;

    if (Z_TYPE_P(value) == IS_NULL) {
        call_with("putenv", ZSTR_VAL(name));
        return;
    }
    text = zend_strpprintf(0, "%s=%s", ZSTR_VAL(name), Z_STRVAL_P(value));
    call_with("putenv", ZSTR_VAL(text));
    zend_string_release(text);
}

/* Names alone are said: values may be secrets. */
static void look_at_variables(void)
{
    smart_str names = {0};
    zend_string *name;
    zval *value;

    ZEND_HASH_FOREACH_STR_KEY_VAL(before.environment, name, value) {
        if (is_as_before(name, value)) {
            continue;
        }
        smart_str_appends(&names, names.s != NULL ? ", \"" : "\"");
        smart_str_append(&names, name);
        smart_str_appendc(&names, '"');
        if (corral_guard_restores()) {
            restore_variable(name, value);
        }
    } ZEND_HASH_FOREACH_END();
    if (names.s != NULL) {
        smart_str_0(&names);
        corral_guard_found(LEFT_ENVIRONMENT, "putenv", "left other environment variables %s", ZSTR_VAL(names.s));
    }
    smart_str_free(&names);
}

static void forget_variables(void)
{
    if (before.environment != NULL) {
        zend_hash_destroy(before.environment);
        FREE_HASHTABLE(before.environment);
        before.environment = NULL;
    }
}

static void look_at_environment(void)
{
    if (before.environment != NULL) {
        look_at_variables();
        forget_variables();
    }
}

WATCHED(putenv, note_variable)

/* }}} */

/* The guard knows settings by themselves; this is for the name of the script that changed them. */
static void note_nothing(zend_execute_data *execute_data)
{
}

WATCHED(ini_set, note_nothing)

void corral_guard_process_prepare(void)
{
    WATCH(setlocale);
    WATCH(date_default_timezone_set);
    WATCH(umask);
    WATCH(chdir);
    WATCH(putenv);
    WATCH(ini_set);
}

void corral_guard_process_end(void)
{
    if (!before.has_any) {
        return;
    }
    before.has_any = false;
    look_at_locale();
    look_at_zone();
    look_at_mask();
    look_at_directory();
    look_at_environment();
}

void corral_guard_process_forget(void)
{
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        release(&before.locale[i]);
    }
    release(&before.zone);
    release(&before.directory);
    before.has_mask = false;
    before.has_any = false;
    forget_variables();
}
