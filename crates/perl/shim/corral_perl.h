/* What the host of Perl calls. src/ffi.rs is this file in Rust, line by line.
 *
 * One interpreter, one thread. No frame of Rust lies between a setjmp and the longjmp of Perl's `die`: the host's
 * functions return before anything here may die. */

#ifndef CORRAL_PERL_H
#define CORRAL_PERL_H

#include "corral_embed.h"

/* The version that this was compiled for, such as v5.36.0. */
const char *corral_perl_version(void);

/* Starts Perl and runs `handler` (the text of corral.pl). Functions that can fail return NULL or what is wrong, which stays
 * until the next call. To be called once. */
const char *corral_perl_start(const corral_host_t *host, const char *handler);

/* Loads the application. */
const char *corral_perl_load(const char *script);

/* Runs END blocks and destructors. */
void corral_perl_stop(void);

/* To be called first in a forked child. */
void corral_perl_forked(void);

corral_outcome_t corral_perl_serve(const corral_request_t *request);

#endif
