/* The request as the shim of an interpreter gets it, in the form of CGI's variables. src/ffi.rs is this file and
 * corral_exchange.h in Rust, line by line. */

#ifndef CORRAL_EMBED_H
#define CORRAL_EMBED_H

#include "corral_exchange.h"

/* A request as the variables of CGI. */
typedef struct {
    void *call;
    const corral_field_t *variables;
    size_t n_variables;
    uint64_t content_length;
    int https;
} corral_request_t;

/* The fate of the process. */
typedef enum {
    CORRAL_SERVED = 0,
    /* The application asked for its end. */
    CORRAL_LEAVES = 1,
} corral_outcome_t;

#endif
