/* Functions that the host of Perl calls. src/ffi.rs is this file in Rust, line by line.
 *
 * An interpreter may be used by any thread, by one at a time. No frame of Rust lies between a setjmp and the longjmp of
 * Perl's `die`: the host's functions return before anything here may die. */

#ifndef CORRAL_PERL_H
#define CORRAL_PERL_H

#include "corral_embed.h"

/* The version that this was compiled for, such as v5.36.0. */
const char *corral_perl_version(void);

/* Not zero if a process can have several interpreters. */
int corral_perl_has_threads(void);

/* To be called once, before everything else. */
void corral_perl_initialize(const corral_host_t *host);

/* To be called when there are no interpreters any more. */
void corral_perl_terminate(void);

/* An interpreter. */
typedef struct corral_perl corral_perl_t;

/* NULL when there is no memory for it. To be given back to corral_perl_free. */
corral_perl_t *corral_perl_new(void);

/* Starts it and runs `handler` (the text of corral.pl). Functions that can fail return NULL or what is wrong, which stays
 * until the interpreter is used again. To be called once. */
const char *corral_perl_start(corral_perl_t *perl, const char *handler, int multithread);

/* Loads the application. */
const char *corral_perl_load(corral_perl_t *perl, const char *script);

/* Runs END blocks and destructors. */
void corral_perl_free(corral_perl_t *perl);

/* To be called first in a forked child. */
void corral_perl_forked(corral_perl_t *perl);

corral_outcome_t corral_perl_serve(corral_perl_t *perl, const corral_request_t *request);

#endif
