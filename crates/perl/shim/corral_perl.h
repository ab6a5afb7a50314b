/* What the host executable and Perl say to each other. src/ffi.rs is this file in Rust, line by line.
 *
 * One interpreter, one thread. No frame of Rust lies between a setjmp and the longjmp of Perl's `die`: the host's
 * functions return before anything here may die. */

#ifndef CORRAL_PERL_H
#define CORRAL_PERL_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that somebody else owns. */
typedef struct {
    const char *data;
    size_t len;
} corral_slice_t;

/* A variable of a request, or a field of a response. */
typedef struct {
    corral_slice_t name;
    corral_slice_t value;
} corral_field_t;

/* The host's functions. `call` is that of the running request; strings stay during the call only. */
typedef struct {
    void (*head)(void *call, uint16_t status, const corral_field_t *fields, size_t n_fields);
    /* Not zero when nobody reads the response any more. */
    int (*write)(void *call, const char *data, size_t len);
    void (*flush)(void *call);
    /* Fills the buffer, or less if the body ends. */
    size_t (*read)(void *call, char *buffer, size_t len);
    /* The client has its response, and the request goes on. */
    void (*finish)(void *call);
    /* The rest of the response will not come. */
    void (*abort)(void *call);
} corral_host_t;

typedef struct {
    void *call;
    const corral_field_t *variables;
    size_t n_variables;
    uint64_t content_length;
    int https;
} corral_request_t;

/* What becomes of the process. */
typedef enum {
    CORRAL_SERVED = 0,
    /* The application asked for its end. */
    CORRAL_LEAVES = 1,
} corral_outcome_t;

/* The version that this was compiled for, such as v5.36.0. */
const char *corral_perl_version(void);

/* Starts Perl, runs `handler` (the text of corral.pl) and loads the application. Returns NULL, or what is wrong, which
 * stays until the next call. To be called once. */
const char *corral_perl_start(const corral_host_t *host, const char *handler, const char *script);

/* Runs END blocks and destructors. */
void corral_perl_stop(void);

/* To be called first in a forked child. */
void corral_perl_forked(void);

corral_outcome_t corral_perl_serve(const corral_request_t *request);

#endif
