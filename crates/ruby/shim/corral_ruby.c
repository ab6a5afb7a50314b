/* Ruby: started once in the prototype, one request at a time in the workers. What Rack asks for is in corral.rb; this
 * gives it the request as a hash, and the functions that answer. */

#define _GNU_SOURCE

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>
#include <ruby/version.h>

#include "corral_ruby.h"

static const corral_host_t *host;

/* The module Corral, and what the last failure was. */
static VALUE corral;
static VALUE problem;

/* That of the running request; NULL between requests, when a stream that was kept is of no use. */
static void *running;

/* A call of the host's that may wait, and so is made without the lock of the interpreter. */
typedef struct {
    const char *data;
    char *buffer;
    size_t len;
    size_t result;
} waiting_t;

static void require_request(void)
{
    if (running == NULL) {
        rb_raise(rb_eIOError, "the request is over");
    }
}

static VALUE as_string(VALUE value)
{
    return RB_TYPE_P(value, T_STRING) ? value : rb_obj_as_string(value);
}

/* head(status, [name, value, name, value, …]): names and values are strings. */
static VALUE corral_head(VALUE self, VALUE status, VALUE list)
{
    int number = NUM2INT(status);
    long n_items;
    corral_field_t *fields;
    VALUE buffer;

    (void) self;
    require_request();
    Check_Type(list, T_ARRAY);
    if (number < 100 || number > 999) {
        rb_raise(rb_eArgError, "the response's status must be a number from 100 to 999, not %d", number);
    }
    n_items = RARRAY_LEN(list);
    fields = ALLOCV_N(corral_field_t, buffer, n_items / 2 + 1);
    for (long i = 0; i + 1 < n_items; i += 2) {
        VALUE name = rb_ary_entry(list, i);
        VALUE value = rb_ary_entry(list, i + 1);

        Check_Type(name, T_STRING);
        Check_Type(value, T_STRING);
        fields[i / 2].name = (corral_slice_t) {RSTRING_PTR(name), (size_t) RSTRING_LEN(name)};
        fields[i / 2].value = (corral_slice_t) {RSTRING_PTR(value), (size_t) RSTRING_LEN(value)};
    }
    host->head(running, (uint16_t) number, fields, (size_t) n_items / 2);
    ALLOCV_END(buffer);
    RB_GC_GUARD(list);
    return Qnil;
}

static void *write_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->result = (size_t) host->write(running, waiting->data, waiting->len);
    return NULL;
}

/* write(bytes): whether somebody reads the response. */
static VALUE corral_write(VALUE self, VALUE bytes)
{
    waiting_t waiting;

    (void) self;
    require_request();
    bytes = as_string(bytes);
    waiting = (waiting_t) {RSTRING_PTR(bytes), NULL, (size_t) RSTRING_LEN(bytes), 0};
    if (host->collects(running, waiting.len)) {
        write_waiting(&waiting);
    } else {
        /* Another thread could change it meanwhile. */
        bytes = rb_str_new_frozen(bytes);
        waiting.data = RSTRING_PTR(bytes);
        rb_thread_call_without_gvl(write_waiting, &waiting, NULL, NULL);
    }
    RB_GC_GUARD(bytes);
    return waiting.result == 0 ? Qtrue : Qfalse;
}

static void *flush_waiting(void *data)
{
    (void) data;
    host->flush(running);
    return NULL;
}

static VALUE corral_flush(VALUE self)
{
    require_request();
    rb_thread_call_without_gvl(flush_waiting, NULL, NULL, NULL);
    return self;
}

static void *read_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->result = host->read(running, waiting->buffer, waiting->len);
    return NULL;
}

/* read(length): so many bytes of the request's body, or fewer if it ends. */
static VALUE corral_read(VALUE self, VALUE length)
{
    long len = NUM2LONG(length);
    VALUE string = rb_str_buf_new(len);
    waiting_t waiting = {NULL, RSTRING_PTR(string), (size_t) len, 0};

    (void) self;
    require_request();
    rb_str_locktmp(string);
    rb_thread_call_without_gvl(read_waiting, &waiting, NULL, NULL);
    rb_str_unlocktmp(string);
    rb_str_set_len(string, (long) waiting.result);
    return string;
}

static void *finish_waiting(void *data)
{
    (void) data;
    host->finish(running);
    return NULL;
}

static VALUE corral_finish(VALUE self)
{
    require_request();
    rb_thread_call_without_gvl(finish_waiting, NULL, NULL, NULL);
    return self;
}

static VALUE corral_abort(VALUE self)
{
    require_request();
    host->abort(running);
    return self;
}

static VALUE corral_is_gone(VALUE self)
{
    (void) self;
    return running == NULL || host->gone(running) ? Qtrue : Qfalse;
}

const char *corral_ruby_version(void)
{
    return ruby_version;
}

/* The highest address of this thread's stack: the collector has to look at all of it, whoever calls. */
static VALUE *top_of_stack(void)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return NULL;
    }
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return (VALUE *) (void *) ((char *) lowest + size - sizeof(VALUE));
}

static VALUE explain_protected(VALUE error)
{
    VALUE text = rb_respond_to(corral, rb_intern("explain")) ? rb_funcall(corral, rb_intern("explain"), 1, error)
                                                             : rb_inspect(error);

    StringValueCStr(text);
    return text;
}

/* Says what has been raised, and forgets it. */
static const char *explain(void)
{
    VALUE error = rb_errinfo();
    int state = 0;

    rb_set_errinfo(Qnil);
    problem = rb_protect(explain_protected, error, &state);
    if (state != 0) {
        rb_set_errinfo(Qnil);
        return "an error that cannot be described";
    }
    return RSTRING_PTR(problem);
}

/* Signals whose handlers would wait for Ruby to look at them, while this process waits for requests. */
static void restore_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], SIG_DFL);
    }
}

/* Under its own name, for backtraces. */
static VALUE eval_protected(VALUE data)
{
    VALUE text = rb_utf8_str_new_cstr((const char *) data);

    return rb_funcall(rb_const_get(rb_cObject, rb_intern("TOPLEVEL_BINDING")), rb_intern("eval"), 2, text,
                      rb_str_new_cstr("corral.rb"));
}

const char *corral_ruby_start(const corral_host_t *functions, const char *handler)
{
    static char name[] = "corral-ruby", option[] = "-e", program[] = "";
    static char *arguments[] = {name, option, program, NULL};
    int n_arguments = 3, state = 0;
    char **argv = arguments;
    VALUE *top = top_of_stack();

    host = functions;
    if (top == NULL) {
        return "the stack of this thread cannot be found";
    }
    ruby_sysinit(&n_arguments, &argv);
    ruby_init_stack(top);
    if (ruby_setup() != 0) {
        return "Ruby does not start; it says why above";
    }
    /* Also loads rubygems, and sets the encodings that the locale asks for. */
    ruby_options(n_arguments, argv);
    restore_signals();
    rb_global_variable(&corral);
    rb_global_variable(&problem);
    corral = rb_define_module("Corral");
    rb_define_singleton_method(corral, "head", corral_head, 2);
    rb_define_singleton_method(corral, "write", corral_write, 1);
    rb_define_singleton_method(corral, "flush", corral_flush, 0);
    rb_define_singleton_method(corral, "read", corral_read, 1);
    rb_define_singleton_method(corral, "finish", corral_finish, 0);
    rb_define_singleton_method(corral, "abort", corral_abort, 0);
    rb_define_singleton_method(corral, "gone?", corral_is_gone, 0);
    rb_protect(eval_protected, (VALUE) handler, &state);
    return state == 0 ? NULL : explain();
}

static VALUE load_protected(VALUE data)
{
    const char **paths = (const char **) data;
    VALUE hooks = paths[1] == NULL ? Qnil : rb_str_new_cstr(paths[1]);

    return rb_funcall(corral, rb_intern("load"), 2, rb_str_new_cstr(paths[0]), hooks);
}

const char *corral_ruby_load(const char *script, const char *hooks)
{
    const char *paths[] = {script, hooks};
    int state = 0;

    rb_protect(load_protected, (VALUE) paths, &state);
    return state == 0 ? NULL : explain();
}

static VALUE fork_protected(VALUE data)
{
    (void) data;
    return rb_funcall(rb_mProcess, rb_intern("fork"), 0);
}

int corral_ruby_fork(void)
{
    int state = 0;
    VALUE pid = rb_protect(fork_protected, Qnil, &state);

    if (state != 0) {
        rb_set_errinfo(Qnil);
        return -1;
    }
    return NIL_P(pid) ? 0 : NUM2INT(pid);
}

static VALUE boot_protected(VALUE data)
{
    (void) data;
    return rb_funcall(corral, rb_intern("boot"), 0);
}

const char *corral_ruby_boot(void)
{
    int state = 0;

    rb_protect(boot_protected, Qnil, &state);
    return state == 0 ? NULL : explain();
}

static VALUE environment(const corral_request_t *request)
{
    rb_encoding *ascii = rb_usascii_encoding();
    VALUE env = rb_hash_new();

    for (size_t i = 0; i < request->n_variables; i++) {
        const corral_field_t *variable = &request->variables[i];
        VALUE name = rb_enc_interned_str(variable->name.data, (long) variable->name.len, ascii);

        rb_hash_aset(env, name, rb_str_new(variable->value.data, (long) variable->value.len));
    }
    return env;
}

static VALUE serve_protected(VALUE data)
{
    const corral_request_t *request = (const corral_request_t *) data;
    VALUE length = ULL2NUM(request->content_length);

    return rb_funcall(corral, rb_intern("serve"), 3, environment(request), length, request->https ? Qtrue : Qfalse);
}

corral_outcome_t corral_ruby_serve(const corral_request_t *request)
{
    int state = 0;
    VALUE leaves;

    running = request->call;
    leaves = rb_protect(serve_protected, (VALUE) request, &state);
    running = NULL;
    if (state != 0) {
        /* It catches everything that an application can do, but what it does to its own thread. */
        rb_set_errinfo(Qnil);
        return CORRAL_LEAVES;
    }
    return RTEST(leaves) ? CORRAL_LEAVES : CORRAL_SERVED;
}

typedef struct {
    void (*wait)(void *data);
    void *data;
} idle_t;

static void *idle_waiting(void *data)
{
    idle_t *idle = data;

    idle->wait(idle->data);
    return NULL;
}

static VALUE idle_protected(VALUE data)
{
    /* Without a function that ends the wait early: other threads cannot interrupt it. */
    rb_nogvl(idle_waiting, (void *) data, NULL, NULL, 0);
    return Qnil;
}

void corral_ruby_idle(void (*wait)(void *data), void *data)
{
    idle_t idle = {wait, data};
    int state = 0;

    rb_protect(idle_protected, (VALUE) &idle, &state);
    /* What another thread raised here was for a request that has ended. */
    rb_set_errinfo(Qnil);
}

static VALUE shutdown_protected(VALUE data)
{
    (void) data;
    return rb_funcall(corral, rb_intern("shutdown"), 0);
}

void corral_ruby_shutdown(void)
{
    int state = 0;

    rb_protect(shutdown_protected, Qnil, &state);
    rb_set_errinfo(Qnil);
}

void corral_ruby_stop(void)
{
    ruby_cleanup(0);
}
