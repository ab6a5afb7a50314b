/* Ruby: started once in the prototype; one request at a time in the workers, or one in each thread. What Rack asks for is in
 * request.rb; this gives it the request as a hash, and the object that answers. */

#define _GNU_SOURCE

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>
#include <ruby/version.h>

#include "corral_internal.h"

/* The module Corral, and what the last failure was. */
static VALUE corral;
static VALUE problem;

/* The life of a thread of the worker, and what ends that; NULL while there is nothing to end. */
static void (*life)(void *data);
static void (*leave_life)(void *data);
static void *life_data;

const char *corral_ruby_version(void)
{
    return ruby_version;
}

/* The highest address of this thread's stack: the collector has to look at all of it, from every caller. */
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

static void *live_unlocked(void *data)
{
    (void) data;
    life(life_data);
    return NULL;
}

/* Corral.live: the life of a thread, which takes the lock of the interpreter for each request. Nothing may be raised in it
 * from outside of a request: there are frames of Rust below. crew.rb sees to that. */
static VALUE corral_live(VALUE self)
{
    rb_thread_call_without_gvl(live_unlocked, NULL, NULL, NULL);
    return self;
}

/* Corral.leave: has the lives of all threads end. */
static VALUE corral_leave(VALUE self)
{
    if (leave_life != NULL) {
        leave_life(life_data);
    }
    return self;
}

const char *corral_ruby_start(const corral_host_t *functions)
{
    static char name[] = "corral-ruby", option[] = "-e", program[] = "";
    static char *arguments[] = {name, option, program, NULL};
    int n_arguments = 3;
    char **argv = arguments;
    VALUE *top = top_of_stack();

    if (top == NULL) {
        return "the stack of this thread cannot be found";
    }
    /* As `ruby` does: it takes its default encodings from there. A locale that is not there leaves the one of C. */
    setlocale(LC_CTYPE, "");
    ruby_sysinit(&n_arguments, &argv);
    ruby_init_stack(top);
    if (ruby_setup() != 0) {
        return "Ruby does not start; it says why above";
    }
    /* Also loads rubygems, and sets the encodings that the locale asks for. */
    ruby_options(n_arguments, argv);
    /* $0 is not a file: Sinatra and others would take the one that they are loaded from for a program, and run it. */
    ruby_script(name);
    restore_signals();
    rb_global_variable(&corral);
    rb_global_variable(&problem);
    corral = rb_define_module("Corral");
    rb_define_singleton_method(corral, "live", corral_live, 0);
    rb_define_singleton_method(corral, "leave", corral_leave, 0);
    corral_exchange_define(corral, functions);
    return NULL;
}

/* Under its own name, for backtraces. */
static VALUE eval_protected(VALUE data)
{
    const char **file = (const char **) data;

    return rb_funcall(rb_const_get(rb_cObject, rb_intern("TOPLEVEL_BINDING")), rb_intern("eval"), 2,
                      rb_utf8_str_new_cstr(file[1]), rb_str_new_cstr(file[0]));
}

const char *corral_ruby_eval(const char *name, const char *text)
{
    const char *file[] = {name, text};
    int state = 0;

    rb_protect(eval_protected, (VALUE) file, &state);
    return state == 0 ? NULL : explain();
}

static VALUE load_protected(VALUE data)
{
    const char **paths = (const char **) data;
    VALUE hooks = paths[1] == NULL ? Qnil : rb_str_new_cstr(paths[1]);

    return rb_funcall(corral, rb_intern("load"), 2, rb_str_new_cstr(paths[0]), hooks);
}

/* A process that the application has forked ends as `ruby` does: with the status that was raised, if this is the end by exit,
 * and with what runs at exit. */
static void end_stranger(int state)
{
    if (corral_is_stranger() != 0) {
        exit(ruby_cleanup(state));
    }
}

const char *corral_ruby_load(const char *script, const char *hooks)
{
    const char *paths[] = {script, hooks};
    int state = 0;

    rb_protect(load_protected, (VALUE) paths, &state);
    end_stranger(state);
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

static VALUE boot_protected(VALUE n_threads)
{
    return rb_funcall(corral, rb_intern("boot"), 1, UINT2NUM((unsigned int) n_threads));
}

const char *corral_ruby_boot(uint32_t n_threads)
{
    int state = 0;

    rb_protect(boot_protected, (VALUE) n_threads, &state);
    end_stranger(state);
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

/* A request with what is made for it. */
typedef struct {
    const corral_request_t *request;
    /* The function of corral.rb. */
    const char *function;
    VALUE exchange;
    corral_outcome_t outcome;
} serving_t;

static VALUE serve_protected(VALUE data)
{
    serving_t *serving = (serving_t *) data;
    const corral_request_t *request = serving->request;
    VALUE length = ULL2NUM(request->content_length);

    serving->exchange = corral_exchange_new(request->call);
    return rb_funcall(corral, rb_intern(serving->function), 4, serving->exchange, environment(request), length,
                      request->https ? Qtrue : Qfalse);
}

static void *serve(void *data)
{
    serving_t *serving = data;
    int state = 0;
    VALUE leaves = rb_protect(serve_protected, (VALUE) serving, &state);

    end_stranger(state);
    if (state != 0) {
        /* The rescue catches everything that an application can do, but what it does to its own thread. */
        rb_set_errinfo(Qnil);
    }
    if (!NIL_P(serving->exchange)) {
        corral_exchange_end(serving->exchange);
    }
    serving->outcome = state != 0 || RTEST(leaves) ? CORRAL_LEAVES : CORRAL_SERVED;
    return NULL;
}

corral_outcome_t corral_ruby_serve(const corral_request_t *request)
{
    serving_t serving = {request, "serve", Qnil, CORRAL_SERVED};

    serve(&serving);
    return serving.outcome;
}

corral_outcome_t corral_ruby_serve_in_thread(const corral_request_t *request)
{
    serving_t serving = {request, "serve_in_thread", Qnil, CORRAL_SERVED};

    rb_thread_call_with_gvl(serve, &serving);
    return serving.outcome;
}

static VALUE run_protected(VALUE data)
{
    (void) data;
    return rb_funcall(corral, rb_intern("run"), 0);
}

void corral_ruby_run(void (*live)(void *data), void (*leave)(void *data), void *data)
{
    int state = 1;

    life = live;
    leave_life = leave;
    life_data = data;
    /* Whatever is raised here, be it by the handler of a signal: the threads use what this was given. */
    while (state != 0) {
        rb_protect(run_protected, Qnil, &state);
        rb_set_errinfo(Qnil);
    }
    leave_life = NULL;
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
    /* An exception that another thread raised here was for a request that has ended. */
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
