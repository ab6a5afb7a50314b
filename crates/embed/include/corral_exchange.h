/* Functions that the shim of an interpreter calls to answer a request. src/ffi.rs is this file in Rust, line by line.
 *
 * No frame of Rust may lie between a place that catches errors of the interpreter (setjmp) and one that raises them
 * (longjmp): the host's functions return before anything in the shim may raise. */

#ifndef CORRAL_EXCHANGE_H
#define CORRAL_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that the other side owns. */
typedef struct {
    const char *data;
    size_t len;
} corral_slice_t;

/* A variable of a request, or a field of a response. */
typedef struct {
    corral_slice_t name;
    corral_slice_t value;
} corral_field_t;

/* The host's functions. `call` is that of the running request; strings stay during the call only. One call at a time,
 * by whichever thread. */
typedef struct {
    /* Sends an informational response before the head; waits. Not zero when no response can be like that. */
    int (*inform)(void *call, uint16_t status, const corral_field_t *fields, size_t n_fields);
    void (*head)(void *call, uint16_t status, const corral_field_t *fields, size_t n_fields);
    /* Whether `write` of so many bytes does not wait. */
    int (*collects)(void *call, size_t len);
    /* Not zero when the response is not read any more. */
    int (*write)(void *call, const char *data, size_t len);
    /* Ends the response with what an open file has from `offset` on; waits. Not zero when it has to be read and written
     * instead. */
    int (*file)(void *call, int descriptor, uint64_t offset);
    void (*flush)(void *call);
    /* Fills the buffer, or less if the body ends. */
    size_t (*read)(void *call, char *buffer, size_t len);
    /* The client has its response, and the request goes on. */
    void (*finish)(void *call);
    /* The rest of the response will not come. */
    void (*abort)(void *call);
    /* Not zero when the response is not read any more. */
    int (*gone)(void *call);
    /* Takes the client's connection over before there is a response; waits. A blocking socket that is the caller's, or an error
     * number below zero. */
    int (*hijack)(void *call);
    /* Says in the log, once for the application, what it does though its interface forbids it. */
    void (*remark)(const char *text, size_t len);
    /* Non-zero in a process that the application has forked off: no function above does anything there. It ends when the
     * application returns, and not as a worker does. */
    int (*stranger)(void);
} corral_host_t;

#endif
