/*
 * The boundary between the Rust host and PHP.
 *
 * Two laws hold on it. No longjmp crosses a Rust frame: everything that may bail out (all of the
 * Zend API that allocates) runs in this shim, below a zend_try, and a call into the host returns
 * before the shim goes on. No panic crosses a C frame: the host's callbacks catch theirs.
 *
 * Ownership: every pointer passed in either direction is borrowed for the duration of the call
 * unless its comment says otherwise. Handles that end in `_h` are owned by the side that received them.
 * One thread uses this interface: the one that called corral_module_start(). Functions that others may
 * call say so.
 */
#ifndef CORRAL_SAPI_H
#define CORRAL_SAPI_H

#include "corral_exchange.h"

/* A string of PHP that outlives requests, so that a script's name is hashed and copied once. */
typedef struct corral_string *corral_string_h;

/* How a request went, as far as the host has to know. */
typedef enum {
    CORRAL_SERVED = 0,
    /* PHP could not even begin (a limit hit while the body was parsed, say); nothing was sent. */
    CORRAL_NOT_STARTED = 1,
    /* The script lies outside open_basedir; nothing was sent. */
    CORRAL_FORBIDDEN = 2,
    /* Served, by a worker's script that ends now, or in a process that is fit for no other request. */
    CORRAL_SERVED_LAST = 3,
} corral_outcome_t;

/* The treatment of state that a request of a worker's script leaves behind. */
typedef enum {
    CORRAL_GUARD_OFF = 0,
    CORRAL_GUARD_REPORT = 1,
    CORRAL_GUARD_RESTORE = 2,
    CORRAL_GUARD_RECYCLE = 3,
} corral_guard_t;

/* Settings that have to be known before PHP starts. Everything is copied, but for `host`. */
typedef struct {
    const corral_host_t *host;
    /* Takes the answer to corral_trace_ask(): where the script is, innermost call first. */
    void (*trace)(void *call, const char *text, size_t len);
    /* php.ini to read, or NULL for the built-in search. */
    const char *ini_path;
    /* Settings in php.ini syntax, read after the files; never NULL. */
    const char *ini_entries;
    /* The name that php_sapi_name() reports. */
    const char *sapi_name;
    /* SERVER_SOFTWARE. */
    corral_slice_t software;
    /* Whether scripts find our functions by the names that FrankenPHP has given them, too. */
    int compatible_names;
    corral_guard_t guard;
} corral_options_t;

/* The stages at which a setting that the configuration made may be changed. */
typedef enum {
    CORRAL_SETTING_SYSTEM = 0,
    CORRAL_SETTING_USER = 1,
} corral_setting_mode_t;

/* A setting of one request. */
typedef struct {
    corral_string_h name;
    corral_string_h value;
    corral_setting_mode_t mode;
} corral_setting_t;

/* The answer of corral_setting_check(). */
typedef enum {
    CORRAL_SETTING_FITS = 0,
    CORRAL_SETTING_UNKNOWN = 1,
    /* The setting is not among those that scripts change. */
    CORRAL_SETTING_ADMIN = 2,
    CORRAL_SETTING_REFUSED = 3,
} corral_setting_check_t;

/* One request. All strings with a `const char *` end with a NUL. */
typedef struct {
    void *call;

    const char *method;
    const char *request_uri;
    /* Decoded and normalised. */
    const char *path;
    const char *query;
    /* NULL when the request has none. */
    const char *content_type;
    const char *cookie;
    const char *authorization;
    /* Length of the body; 0 when there is none. */
    int64_t content_length;

    corral_string_h script;
    corral_string_h document_root;
    /* The directory of the script. */
    const char *directory;

    corral_slice_t php_self;
    corral_slice_t script_name;
    /* Empty when there is none. */
    corral_slice_t path_info;
    /* Empty without a `path_info`. */
    corral_slice_t path_translated;
    corral_slice_t protocol;
    corral_slice_t remote_addr;
    /* Decimal digits; empty when none is known. */
    corral_slice_t remote_port;
    /* Empty when the client was not asked for its name, or has none. */
    corral_slice_t remote_user;
    corral_slice_t auth_type;
    corral_slice_t server_addr;
    corral_slice_t server_name;
    corral_slice_t server_port;
    /* Decimal digits; empty when the request says nothing about a body. */
    corral_slice_t content_length_text;
    int https;

    const corral_field_t *fields;
    size_t n_fields;
    /* Variables of the configuration, each in the place of the request's own. One whose value leads to NULL is taken away. */
    const corral_field_t *params;
    size_t n_params;
    /* Settings that hold until its end. */
    const corral_setting_t *settings;
    size_t n_settings;
} corral_request_t;

/* Has PHP answer a request; `job` is what came with it. No jump leaves it. */
typedef corral_outcome_t (*corral_answer_t)(void *job, const corral_request_t *request);

/* A script that stays in memory and asks for its requests. */
typedef struct {
    /* Comes back with the two functions. */
    void *host;
    /* Waits for a request and has `answer` answer it. 0 when there will be none. */
    int (*next)(void *host, corral_answer_t answer, void *job);
    /* Says why the script ended, if it ended with an error. */
    void (*failed)(void *host, const char *text, size_t len);

    corral_string_h script;
    corral_string_h document_root;
    /* The directory of the script. */
    const char *directory;
    corral_slice_t script_name;
    /* Variables of each request's $_SERVER besides the request. */
    const corral_field_t *variables;
    size_t n_variables;
} corral_worker_t;

/* The release of the PHP that the shim was compiled against, such as "8.2.29". Static. */
const char *corral_php_version(void);

/* Folders that PHP was told at its own compilation: of extensions, of php.ini, and of further settings, where an
 * empty one may be; NULL behind the last. Static. */
const char *corral_php_folder(size_t idx);

/* The file from which PHP was loaded, or NULL when the loader does not know. Static. */
const char *corral_php_library(void);

/* Starts PHP: all extensions, opcache's memory, preloading. 0, or -1 when PHP refused. */
int corral_module_start(const corral_options_t *options);

/* Ends PHP; frees what corral_module_start() made. Strings must be gone by then. */
void corral_module_stop(void);

/* To be called first in a forked child. */
void corral_module_forked(void);

/* Makes corral_trace_ask() possible, in the thread that runs requests. Once in a process. */
void corral_trace_prepare(void);

/* From any thread: the running script shall say where it is as soon as it can. Changes nothing else,
 * and is void if no script runs. PHP must not be about to end. */
void corral_trace_ask(void);

/* Keeps signals from the calling thread: they are for the one that runs requests. */
void corral_trace_be_quiet(void);

/* Puts a setting in force and decides at which stage it may be changed. 0, or -1 when PHP refused it. */
int corral_setting_apply(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode);

/* The same for a setting that PHP was not started with, as if it had been. */
int corral_setting_apply_late(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode);

/* The value of a setting; empty if there is none. Lives until the setting is changed. */
corral_slice_t corral_setting_value(corral_slice_t name);

/* The files that settings were read from: php.ini, or NULL, then names that are separated by commas, or NULL. */
const char *corral_ini_files(size_t idx);

/* Whether requests can have a setting. Changes nothing. */
corral_setting_check_t corral_setting_check(corral_slice_t name, corral_slice_t value, corral_setting_mode_t mode);

/* 1 when opcache answers for compiled scripts, so that a script need not be looked at each time. */
int corral_opcache_active(void);

/* Between requests: empties PHP's cache of resolved paths. */
void corral_paths_forget(void);

corral_string_h corral_string_new(corral_slice_t text);
void corral_string_free(corral_string_h string);

/* The kinds of state that the request which a worker's script has answered last has left behind, a bit each. */
uint32_t corral_worker_left_state(void);

/* Runs a worker's script from start to end, and gives its exit status. At most once in a process. */
int corral_worker_run(const corral_worker_t *worker);

/* Runs one request from start to end. */
corral_outcome_t corral_request_run(const corral_request_t *request);

#endif
