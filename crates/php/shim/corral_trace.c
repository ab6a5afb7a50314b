/*
 * Where a script is that runs for too long. Another thread asks; the script answers at its next
 * safe point, where PHP looks whether it was interrupted: at jumps and calls, and when a function
 * of PHP's own returns. Nothing is allocated for it.
 */

#include "corral_internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "zend_exceptions.h"

/* In one piece through a pipe, with room for what the host puts in front. */
#define TRACE_SIZE 3072
/* Recursion can be endless; its innermost calls say what it does. */
#define MOST_FRAMES 32

typedef struct {
    char text[TRACE_SIZE];
    size_t len;
} trace_t;

static atomic_bool asked;
static void (*next_interrupt)(zend_execute_data *frame);

/* EG() belongs to the thread that runs requests, so the thread that asks gets an address. */
#if PHP_VERSION_ID >= 80200
static zend_atomic_bool *interrupted;
#else
static volatile bool *interrupted;
#endif

static void add(trace_t *trace, const char *text, size_t len)
{
    for (size_t i = 0; i < len && trace->len < sizeof(trace->text); i++) {
        unsigned char byte = (unsigned char) text[i];
        trace->text[trace->len++] = byte < 0x20 || byte == 0x7f ? '?' : (char) byte;
    }
}

static void add_string(trace_t *trace, const zend_string *string)
{
    add(trace, ZSTR_VAL(string), ZSTR_LEN(string));
}

/* As zend_get_executed_lineno(), which looks at the innermost frame only. */
static uint32_t line_of(const zend_execute_data *frame)
{
    const zend_op *op = frame->opline;

    if (op == NULL) {
        op = frame->func->op_array.opcodes;
    }
    if (EG(exception) != NULL && op->opcode == ZEND_HANDLE_EXCEPTION && op->lineno == 0
        && EG(opline_before_exception) != NULL) {
        op = EG(opline_before_exception);
    }
    return op->lineno;
}

/* `A::b() /srv/a.php:12`; without a name outside of functions, without a place in PHP's own. */
static void add_frame(trace_t *trace, const zend_execute_data *frame)
{
    const zend_function *function = frame->func;
    char line[16];

    if (function->common.function_name != NULL) {
        if (function->common.scope != NULL) {
            add_string(trace, function->common.scope->name);
            add(trace, "::", 2);
        }
        add_string(trace, function->common.function_name);
        add(trace, "()", 2);
    }
    if (!ZEND_USER_CODE(function->type)) {
        return;
    }
    if (function->common.function_name != NULL) {
        add(trace, " ", 1);
    }
    add_string(trace, function->op_array.filename);
    add(trace, line, (size_t) snprintf(line, sizeof(line), ":%" PRIu32, line_of(frame)));
}

static void answer(const zend_execute_data *frame)
{
    static trace_t trace;
    size_t n_frames = 0;

    trace.len = 0;
    for (; frame != NULL && n_frames < MOST_FRAMES; frame = frame->prev_execute_data) {
        /* Generators have frames without a function between others. */
        if (frame->func != NULL) {
            add(&trace, " < ", n_frames == 0 ? 0 : 3);
            add_frame(&trace, frame);
            n_frames++;
        }
    }
    if (frame != NULL) {
        add(&trace, " < ...", 6);
    }
    corral_trace_sink(corral_call()->request->call, trace.text, trace.len);
}

static void on_interrupt(zend_execute_data *frame)
{
    if (atomic_exchange_explicit(&asked, false, memory_order_relaxed) && corral_call() != NULL) {
        answer(frame);
    }
    if (next_interrupt != NULL) {
        next_interrupt(frame);
    }
}

void corral_trace_hook(void)
{
    next_interrupt = zend_interrupt_function;
    zend_interrupt_function = on_interrupt;
}

void corral_trace_prepare(void)
{
    interrupted = (void *) &EG(vm_interrupt);
}

void corral_trace_ask(void)
{
    atomic_store_explicit(&asked, true, memory_order_relaxed);
#if PHP_VERSION_ID >= 80200
    zend_atomic_bool_store(interrupted, true);
#else
    *interrupted = true;
#endif
}

void corral_trace_be_quiet(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}
