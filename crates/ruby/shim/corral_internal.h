/* Declarations that the parts of the shim share. */

#ifndef CORRAL_INTERNAL_H
#define CORRAL_INTERNAL_H

#include <ruby.h>

#include "corral_ruby.h"

/* Defines the class Corral::Exchange, whose objects answer requests by these functions. */
void corral_exchange_define(VALUE corral, const corral_host_t *functions);

/* Non-zero in a process that the application has forked off. */
int corral_is_stranger(void);

/* The state of the request whose `call` this is. */
VALUE corral_exchange_new(void *call);

/* The request is over: objects that were kept are of no use from now on. Waits for threads that use it now. */
void corral_exchange_end(VALUE self);

#endif
