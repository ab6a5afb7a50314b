/*
 * The state guard of a worker's script: what a request changes and leaves behind. Only cheap facts are compared: flags that
 * wrapped functions set, pointers, counters, numbers of elements. Nothing walks the heap.
 */
#ifndef CORRAL_GUARD_H
#define CORRAL_GUARD_H

#include "corral_internal.h"

/* Kinds of state that can be left behind: the numbers of STATE_KINDS in corral-ipc, which has the names. */
typedef enum {
    LEFT_SETTING,
    LEFT_LOCALE,
    LEFT_ZONE,
    LEFT_UMASK,
    LEFT_DIRECTORY,
    LEFT_ENVIRONMENT,
    LEFT_ERROR_HANDLER,
    LEFT_EXCEPTION_HANDLER,
    LEFT_BUFFER,
    LEFT_TRANSACTION,
    LEFT_STREAM,
    LEFT_GLOBAL,
    LEFT_STATIC,
    LEFT_MEMORY,
    LEFT_SEED,
    LEFT_ENCODING,
    LEFT_LIBXML,
    LEFT_WRAPPER,
    LEFT_CONTEXT,
    LEFT_SIGNAL,
    LEFT_PROCESS,
} guard_kind_t;

/* An application opens connections and fills caches with its first requests: what grows is told the third time. */
#define GROWN_OFTEN 3

/* A request runs: what changes now is its doing. */
extern bool corral_guard_watches;

/* State that is found is put back. */
bool corral_guard_restores(void);

/*
 * Counts what was left, and says it unless that was said of this kind and route. The text goes on behind the request,
 * as "left ..."; `key` is what corral_guard_blame() was told, or NULL.
 */
void corral_guard_found(guard_kind_t kind, const char *key, const char *format, ...)
    ZEND_ATTRIBUTE_FORMAT(printf, 3, 4);

/* Remembers until the request is over that the function which runs was called, and where from. */
void corral_guard_blame(const char *key);

/* Calls a function of PHP's for its result, which is null where it throws. */
void corral_guard_ask(const char *name, uint32_t n, zval *arguments, zval *result);

/* Calls a function of PHP's; its result and its exceptions are dropped. */
void corral_guard_call(const char *name, uint32_t n, zval *arguments);

/* Each part: wraps functions when PHP starts, remembers what there is when a request begins, looks when it has ended, and
 * lets go of what it remembers. */
void corral_guard_process_prepare(void);
void corral_guard_process_end(void);
void corral_guard_process_forget(void);

void corral_guard_settings_begin(void);
void corral_guard_settings_end(void);
void corral_guard_settings_forget(void);

void corral_guard_handlers_begin(void);
void corral_guard_handlers_end(void);
void corral_guard_handlers_forget(void);

void corral_guard_transactions_prepare(void);
void corral_guard_transactions_end(void);
void corral_guard_transactions_forget(void);

void corral_guard_streams_begin(void);
void corral_guard_streams_end(void);

void corral_guard_values_prepare(void);
void corral_guard_values_end(void);
void corral_guard_values_forget(void);

void corral_guard_seed_prepare(void);
void corral_guard_seed_end(void);
void corral_guard_seed_forget(void);

void corral_guard_wrappers_prepare(void);
void corral_guard_wrappers_end(void);
void corral_guard_wrappers_forget(void);

/* These are wrapped by corral_process_prepare(). */
void corral_guard_signals_end(void);
void corral_guard_signals_forget(void);

void corral_guard_growth_prepare(void);
void corral_guard_growth_begin(void);
void corral_guard_growth_end(void);

#endif
