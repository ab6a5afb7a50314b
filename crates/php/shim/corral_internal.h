/* Declarations that the files of the shim share with each other, and with nothing else. */
#ifndef CORRAL_INTERNAL_H
#define CORRAL_INTERNAL_H

#include "php.h"
#include "php_main.h"
#include "SAPI.h"

#include "corral_sapi.h"

#if PHP_VERSION_ID < 80100
# error "Corral needs PHP 8.1 or newer"
#endif

/* State of the running request beside what SAPI globals hold. Reset by corral_request_run(). */
typedef struct {
    const corral_request_t *request;
    /* fastcgi_finish_request() was called: what follows is not for the client. */
    bool finished;
    /* The filter extension was told the server variables. */
    bool filter_knows;
} corral_call_t;

/* The host's functions; set once by corral_module_start(). */
extern const corral_host_t *corral_host;
extern void (*corral_trace_sink)(void *call, const char *text, size_t len);

/* Whether scripts find FrankenPHP's names; set once by corral_module_start(). */
extern bool corral_compatible_names;

/* Functions of the state guard; set once by corral_module_start(). */
extern corral_guard_t corral_guard;

/* Wraps the functions that the state guard has to know of; after all modules are registered. */
void corral_guard_prepare(void);

/* A request begins, and what there is now may stay; its handler has returned; it has ended. */
void corral_guard_begin(const corral_request_t *request);
void corral_guard_handled(void);
void corral_guard_end(void);

/* The request that has ended has left something for which the worker is replaced. */
bool corral_guard_gives_up(void);

/* Lets go of everything, before the script's end does. */
void corral_guard_forget(void);

/* SERVER_SOFTWARE; set once by corral_module_start(). */
extern zend_string *corral_software;

/* Registers the functions that have FrankenPHP's names. */
void corral_functions_prepare(void);

/* Our module: functions and the hooks of its start-up. */
extern zend_module_entry corral_module_entry;

/* The SAPI as PHP knows it before start-up; PHP copies it. */
extern sapi_module_struct corral_sapi;

/* The running request, or NULL between requests and while preloading. */
static inline corral_call_t *corral_call(void)
{
    return (corral_call_t *) SG(server_context);
}

/* Parts of running a request, for code that runs one in another way. */
void corral_describe_request(const corral_request_t *request);
void corral_end_stranger(void);
void corral_forget_request(void);
void corral_enter_directory(const char *directory);
void corral_execute(zend_string *path);

/* The worker whose script runs in this process, or NULL. */
const corral_worker_t *corral_worker(void);

/* Begins a request inside of the running script: false when PHP bailed out. The end is due either way. */
bool corral_turn_begin(corral_call_t *call);

/* Ends it, and sends what is left to send: false when PHP bailed out, so that the script must end. If the script ends with
 * the request, its shutdown functions and destructors are a part of that, as they are in any script. */
bool corral_turn_end(bool script_ends);

/* Writes a line for the log in one system call, so that lines of several workers do not mix. */
void corral_log(int descriptor, const char *line, size_t len);

/* Sends an informational response. 0, or -1 when no response can be like that. */
int corral_inform(int status);

/* Finds what each request needs; once, when the script has been started. */
void corral_turn_prepare(void);

/* Fills $_SERVER. */
void corral_register_variables(zval *track);

/* Takes part in PHP's interrupts, which costs nothing until there is one. Before opcache starts: the code of
 * its JIT calls the function that it finds then. */
void corral_trace_hook(void);

/* Prepares the keys of $_SERVER, once; and frees those that were made since. */
void corral_variables_prepare(void);
void corral_variables_forget(void);

/* Wraps the functions that look at filtered input; after all modules are registered. */
void corral_filter_prepare(void);

/* Whether server variables reach scripts as they are, so that the filter need not see each. */
bool corral_filter_is_transparent(void);

/* An upper bound on the time for reading input, as configured; see php_request_startup(). */
extern zend_long corral_max_input_time;

/* Puts `wrapper` in front of one of PHP's own functions, if it has that one. */
void corral_wrap_function(const char *name, size_t len, zif_handler wrapper, zif_handler *wrapped);

/* Wraps the functions whose effect on the process outlives a request; after all modules are registered. */
void corral_process_prepare(void);

/* When a request begins that has the script to itself: takes back what only a request can take back. */
void corral_process_begin(void);

/* When it has ended: takes back what can be taken back. False when the process is fit for no other request. */
bool corral_process_renew(void);

/* Joins repeated fields as CGI does: cookies with "; ", all others with ", ". */
static inline bool corral_is_cookie(corral_slice_t name)
{
    return name.len == 6 && strncasecmp(name.data, "cookie", 6) == 0;
}

#endif
