/*
 * State of the process that a script changes and PHP leaves so when the request ends: an alarm, signal handlers and mask,
 * the domain of translations, and what only another process is free of. The functions that change it take note of what there was before.
 */

#include "corral_guard.h"

#include <libintl.h>
#include <signal.h>
#include <unistd.h>

#ifdef ZEND_SIGNALS
# include "zend_signal.h"
#endif

/* Signals that have a handler; 0 is none. */
#define N_SIGNALS 65

/* Runs `note` before the function of PHP's with that name, while a request runs. */
#define WATCHED(name, note) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        if (is_watched(#name)) { \
            note(execute_data); \
        } \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }

/* Takes note of a function that has succeeded. */
#define LASTING(name) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        bool watched = is_watched(#name); \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
        if (watched && Z_TYPE_P(return_value) == IS_TRUE) { \
            before.lasting = #name; \
        } \
    }

#define WATCH(name) corral_wrap_function(ZEND_STRL(#name), watched_##name, &name##_handler)

typedef struct {
    bool is_known;
    struct sigaction action;
#ifdef ZEND_SIGNALS
    zend_signal_entry_t entry;
#endif
    /* The result of pcntl_signal_get_handler(); only where there is a guard. */
    zval handler;
} known_signal_t;

/* The state before the request changed it; nothing where nothing was called. */
static struct {
    /* Some of the functions was called. */
    bool has_any;
    bool has_signals;
    known_signal_t signals[N_SIGNALS];
    bool has_mask;
    sigset_t mask;
    bool has_alarm;
    unsigned alarm;
    /* Empty, or that of translations; a guard has its own eye on it. */
    char domain[256];
    /* The function that did what nothing takes back, or NULL. */
    const char *lasting;
} before;

/* As they were before a request set them, to be put back when the next one begins; or empty. */
static char regex_options[16];

/* In a worker, what the script does between its requests is its own affair. */
static bool is_watched(const char *name)
{
    if (corral_guard_watches) {
        corral_guard_blame(name);
    } else if (corral_worker() != NULL || corral_call() == NULL) {
        return false;
    }
    before.has_any = true;
    return true;
}

/* {{{ signals */

static void ask_handler(zend_long number, zval *handler)
{
    zval argument;

    ZVAL_LONG(&argument, number);
    corral_guard_ask("pcntl_signal_get_handler", 1, &argument, handler);
}

static void note_signal(zend_execute_data *execute_data)
{
    zval *number = ZEND_CALL_NUM_ARGS(execute_data) > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
    known_signal_t *known;

    if (number == NULL || Z_TYPE_P(number) != IS_LONG || Z_LVAL_P(number) < 1 || Z_LVAL_P(number) >= N_SIGNALS) {
        return;
    }
    known = &before.signals[Z_LVAL_P(number)];
    if (known->is_known || sigaction((int) Z_LVAL_P(number), NULL, &known->action) != 0) {
        return;
    }
#ifdef ZEND_SIGNALS
    known->entry = SIGG(handlers)[Z_LVAL_P(number) - 1];
#endif
    ZVAL_UNDEF(&known->handler);
    if (corral_guard_watches) {
        ask_handler(Z_LVAL_P(number), &known->handler);
    }
    known->is_known = true;
    before.has_signals = true;
}

/* PHP has forgotten its part. */
static void restore_action(int number)
{
#ifdef ZEND_SIGNALS
    SIGG(handlers)[number - 1] = before.signals[number].entry;
#endif
    (void) sigaction(number, &before.signals[number].action, NULL);
}

static void restore_handler(int number)
{
    zval arguments[2];

    ZVAL_LONG(&arguments[0], number);
    ZVAL_COPY_VALUE(&arguments[1], &before.signals[number].handler);
    corral_guard_call("pcntl_signal", 2, arguments);
}

/* Whatever pcntl says, there was a handler before: the server's own, or PHP's for its timer. */
static bool is_at_default(const zval *handler)
{
    return Z_TYPE_P(handler) == IS_LONG && Z_LVAL_P(handler) == (zend_long) SIG_DFL;
}

static void look_at_signal(int number)
{
    zval *known = &before.signals[number].handler;
    zval now;
    bool is_same;

    ask_handler(number, &now);
    is_same = zend_is_identical(known, &now);
    if (!is_same) {
        corral_guard_found(LEFT_SIGNAL, "pcntl_signal", "left another handler of signal %d", number);
        if (corral_guard_restores()) {
            restore_handler(number);
        }
    }
    if (is_at_default(known) && (is_same || corral_guard_restores())) {
        restore_action(number);
    }
    zval_ptr_dtor(&now);
}

static void forget_signals(void)
{
    for (int number = 1; before.has_signals && number < N_SIGNALS; number++) {
        if (before.signals[number].is_known) {
            zval_ptr_dtor(&before.signals[number].handler);
            before.signals[number].is_known = false;
        }
    }
    before.has_signals = false;
}

static void visit_signals(void (*visit)(int number))
{
    for (int number = 1; before.has_signals && number < N_SIGNALS; number++) {
        if (before.signals[number].is_known) {
            visit(number);
        }
    }
    forget_signals();
}

WATCHED(pcntl_signal, note_signal)

/* }}} */

/* {{{ mask */

static void note_mask(zend_execute_data *execute_data)
{
    before.has_mask = before.has_mask || pthread_sigmask(SIG_SETMASK, NULL, &before.mask) == 0;
}

static bool has_other_mask(void)
{
    sigset_t now;

    if (!before.has_mask || pthread_sigmask(SIG_SETMASK, NULL, &now) != 0) {
        return false;
    }
    for (int number = 1; number < N_SIGNALS; number++) {
        if (sigismember(&now, number) != sigismember(&before.mask, number)) {
            return true;
        }
    }
    return false;
}

static void look_at_mask(void)
{
    if (!has_other_mask()) {
        return;
    }
    corral_guard_found(LEFT_SIGNAL, "pcntl_sigprocmask", "left other signals blocked");
    if (corral_guard_restores()) {
        (void) pthread_sigmask(SIG_SETMASK, &before.mask, NULL);
    }
}

WATCHED(pcntl_sigprocmask, note_mask)

/* }}} */

/* {{{ alarm */

static void note_alarm(zend_execute_data *execute_data)
{
    if (!before.has_alarm) {
        before.alarm = alarm(0);
        (void) alarm(before.alarm);
        before.has_alarm = true;
    }
}

/* One that the script has set before its loop is left to it. */
static void look_at_alarm(void)
{
    unsigned seconds;

    if (!before.has_alarm || before.alarm != 0) {
        return;
    }
    seconds = alarm(0);
    if (seconds == 0) {
        return;
    }
    corral_guard_found(LEFT_SIGNAL, "pcntl_alarm", "left an alarm that comes in %u seconds", seconds);
    if (!corral_guard_restores()) {
        (void) alarm(seconds);
    }
}

WATCHED(pcntl_alarm, note_alarm)

/* }}} */

static void note_domain(zend_execute_data *execute_data)
{
    const char *domain = corral_worker() == NULL && *before.domain == '\0' ? textdomain(NULL) : NULL;

    if (domain != NULL && strlen(domain) < sizeof(before.domain)) {
        strcpy(before.domain, domain);
    }
}

WATCHED(textdomain, note_domain)

/* {{{ options of mb_ereg(), which PHP keeps beyond the request */

static void note_options(zend_execute_data *execute_data)
{
    zval nothing, options;
    bool only_asks = ZEND_CALL_NUM_ARGS(execute_data) == 0 || Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_NULL;

    if (only_asks || corral_worker() != NULL || *regex_options != '\0') {
        return;
    }
    ZVAL_NULL(&nothing);
    corral_guard_ask("mb_regex_set_options", 1, &nothing, &options);
    if (Z_TYPE(options) == IS_STRING && Z_STRLEN(options) < sizeof(regex_options)) {
        strcpy(regex_options, Z_STRVAL(options));
    }
    zval_ptr_dtor(&options);
}

WATCHED(mb_regex_set_options, note_options)

/* The handler's function runs in a request alone. */
static void restore_options(void)
{
    zval options;

    ZVAL_STRING(&options, regex_options);
    corral_guard_call("mb_regex_set_options", 1, &options);
    zval_ptr_dtor(&options);
    /* Not before: this call is watched, too. */
    *regex_options = '\0';
}

/* }}} */

/* {{{ what only another process is free of */

LASTING(chroot)
LASTING(proc_nice)
LASTING(pcntl_setpriority)
LASTING(pcntl_unshare)
LASTING(posix_initgroups)
LASTING(posix_setegid)
LASTING(posix_seteuid)
LASTING(posix_setgid)
LASTING(posix_setpgid)
LASTING(posix_setrlimit)
LASTING(posix_setuid)

static void look_at_lasting(void)
{
    if (before.lasting != NULL) {
        corral_guard_found(LEFT_PROCESS, before.lasting, "left its process changed by %s()", before.lasting);
    }
}

static void remark_lasting(void)
{
    zend_string *line = zend_strpprintf(0, "%s(): nothing takes this back, so the process is replaced after the request",
                                        before.lasting);

    corral_host->remark(ZSTR_VAL(line), ZSTR_LEN(line));
    zend_string_release(line);
}

/* }}} */

void corral_process_prepare(void)
{
    WATCH(pcntl_signal);
    WATCH(pcntl_sigprocmask);
    WATCH(pcntl_alarm);
    WATCH(textdomain);
    WATCH(mb_regex_set_options);
    WATCH(chroot);
    WATCH(proc_nice);
    WATCH(pcntl_setpriority);
    WATCH(pcntl_unshare);
    WATCH(posix_initgroups);
    WATCH(posix_setegid);
    WATCH(posix_seteuid);
    WATCH(posix_setgid);
    WATCH(posix_setpgid);
    WATCH(posix_setrlimit);
    WATCH(posix_setuid);
}

static void forget(void)
{
    before.has_any = before.has_mask = before.has_alarm = false;
    before.lasting = NULL;
    *before.domain = '\0';
}

void corral_guard_signals_end(void)
{
    if (!before.has_any) {
        return;
    }
    visit_signals(look_at_signal);
    look_at_mask();
    look_at_alarm();
    look_at_lasting();
    forget();
}

void corral_guard_signals_forget(void)
{
    forget_signals();
    forget();
}

void corral_process_begin(void)
{
    if (*regex_options != '\0') {
        restore_options();
    }
}

bool corral_process_renew(void)
{
    bool is_lost = before.lasting != NULL;

    if (!before.has_any) {
        return true;
    }
    if (before.has_alarm) {
        (void) alarm(0);
    }
    visit_signals(restore_action);
    if (before.has_mask) {
        (void) pthread_sigmask(SIG_SETMASK, &before.mask, NULL);
    }
    if (*before.domain != '\0') {
        (void) textdomain(before.domain);
    }
    if (is_lost) {
        remark_lasting();
    }
    forget();
    return !is_lost;
}
