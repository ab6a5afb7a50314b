/* Functions that the host of Ruby calls. src/ffi.rs is this file in Rust, line by line.
 *
 * All functions but one are called by the thread that started Ruby. No frame of Rust lies between an exception and its
 * rb_protect: the host's functions return before anything here may raise. */

#ifndef CORRAL_RUBY_H
#define CORRAL_RUBY_H

#include "corral_embed.h"

/* The version that this was compiled for, such as 3.1.2. */
const char *corral_ruby_version(void);

/* Starts Ruby. Functions that can fail return NULL or what is wrong, which stays until the next call. To be called
 * once. */
const char *corral_ruby_start(const corral_host_t *host);

/* Runs a text of Ruby; the name is for backtraces. */
const char *corral_ruby_eval(const char *name, const char *text);

/* Loads the application; `hooks` may be NULL. */
const char *corral_ruby_load(const char *script, const char *hooks);

/* fork(2) with Ruby's own hooks: the child's process id, 0 in the child, -1 on failure. */
int corral_ruby_fork(void);

/* Calls the hooks of a new worker, and makes its threads if it has several. */
const char *corral_ruby_boot(uint32_t n_threads);

corral_outcome_t corral_ruby_serve(const corral_request_t *request);

/* Calls `live(data)` in each of several threads, without the lock of the interpreter, and returns when all have returned.
 * Meanwhile it may call `leave(data)`, after which they soon do. */
void corral_ruby_run(void (*live)(void *data), void (*leave)(void *data), void *data);

/* As corral_ruby_serve, to be called within `live`. */
corral_outcome_t corral_ruby_serve_in_thread(const corral_request_t *request);

/* Lets other threads of Ruby run while `wait(data)` does. */
void corral_ruby_idle(void (*wait)(void *data), void *data);

/* Calls the hooks of a worker that leaves. */
void corral_ruby_shutdown(void);

/* Runs what is to be done at exit, and ends Ruby. */
void corral_ruby_stop(void);

#endif
