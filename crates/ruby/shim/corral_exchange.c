/* The running request as an object of Ruby, Corral::Exchange, which any thread may use: its methods answer the request. */

#include <string.h>

#include <ruby.h>
#include <ruby/thread.h>

#include "corral_internal.h"

typedef struct {
    /* NULL when the request is over. */
    void *call;
    /* Held during each call of the host, of which there may be one at a time: some are made without Ruby's own lock. */
    VALUE mutex;
} exchange_t;

/* A call of the host: those members are used that it is about. */
typedef struct {
    exchange_t *exchange;
    void (*act)(void *call);
    int status;
    VALUE list;
    corral_field_t *fields;
    VALUE bytes;
    int descriptor;
    char *buffer;
    size_t len;
    size_t result;
} waiting_t;

static const corral_host_t *host;
static VALUE class;

static void exchange_mark(void *data)
{
    rb_gc_mark(((exchange_t *) data)->mutex);
}

static const rb_data_type_t exchange_type = {
    .wrap_struct_name = "Corral::Exchange",
    .function = {.dmark = exchange_mark, .dfree = RUBY_DEFAULT_FREE},
};

static exchange_t *exchange_of(VALUE self)
{
    return rb_check_typeddata(self, &exchange_type);
}

static void require_request(const exchange_t *exchange)
{
    if (exchange->call == NULL) {
        rb_raise(rb_eIOError, "the request is over");
    }
}

VALUE corral_exchange_new(void *call)
{
    exchange_t *exchange;
    VALUE self = TypedData_Make_Struct(class, exchange_t, &exchange_type, exchange);

    exchange->mutex = Qnil;
    exchange->mutex = rb_mutex_new();
    exchange->call = call;
    return self;
}

static VALUE lock_protected(VALUE mutex)
{
    return rb_mutex_lock(mutex);
}

static VALUE unlock_protected(VALUE mutex)
{
    return rb_mutex_unlock(mutex);
}

void corral_exchange_end(VALUE self)
{
    exchange_t *exchange = exchange_of(self);
    int state = 1;

    /* An exception that another thread raises here comes too late for the request. */
    while (state != 0) {
        rb_protect(lock_protected, exchange->mutex, &state);
        rb_set_errinfo(Qnil);
    }
    exchange->call = NULL;
    rb_protect(unlock_protected, exchange->mutex, &state);
    rb_set_errinfo(Qnil);
    RB_GC_GUARD(self);
}

/* Makes a call of the host. */
static size_t run(VALUE self, VALUE (*act)(VALUE), waiting_t waiting)
{
    waiting.exchange = exchange_of(self);
    rb_mutex_synchronize(waiting.exchange->mutex, act, (VALUE) &waiting);
    RB_GC_GUARD(self);
    return waiting.result;
}

/* Makes one that may wait; other threads of Ruby go on meanwhile. */
static void run_unlocked(waiting_t *waiting, void *(*act)(void *))
{
    require_request(waiting->exchange);
    rb_thread_call_without_gvl(act, waiting, NULL, NULL);
}

static void *inform_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->result = (size_t) host->inform(waiting->exchange->call, (uint16_t) waiting->status, waiting->fields,
                                            waiting->len);
    return NULL;
}

static VALUE inform_locked(VALUE data)
{
    run_unlocked((waiting_t *) data, inform_waiting);
    return Qnil;
}

/* inform(status, [name, value, …]): a response before the response. The strings are copied, as other threads may change or
 * move them while this one waits. */
static VALUE exchange_inform(VALUE self, VALUE status, VALUE list)
{
    int number = NUM2INT(status);
    size_t n_fields, n_bytes = 0, result;
    VALUE fields_buffer, text_buffer;
    corral_field_t *fields;
    char *text;

    Check_Type(list, T_ARRAY);
    n_fields = (size_t) RARRAY_LEN(list) / 2;
    for (size_t i = 0; i < 2 * n_fields; i++) {
        VALUE string = rb_ary_entry(list, (long) i);

        Check_Type(string, T_STRING);
        n_bytes += (size_t) RSTRING_LEN(string);
    }
    fields = ALLOCV_N(corral_field_t, fields_buffer, n_fields + 1);
    text = ALLOCV_N(char, text_buffer, n_bytes + 1);
    for (size_t i = 0; i < 2 * n_fields; i++) {
        VALUE string = rb_ary_entry(list, (long) i);
        corral_slice_t *slice = i % 2 == 0 ? &fields[i / 2].name : &fields[i / 2].value;

        *slice = (corral_slice_t) {text, (size_t) RSTRING_LEN(string)};
        memcpy(text, RSTRING_PTR(string), slice->len);
        text += slice->len;
    }
    result = run(self, inform_locked, (waiting_t) {.status = number, .fields = fields, .len = n_fields});
    ALLOCV_END(text_buffer);
    ALLOCV_END(fields_buffer);
    if (result != 0) {
        rb_raise(rb_eArgError, "no response can have such headers: a name is no token, or a value has CR, LF or NUL");
    }
    return Qnil;
}

static int is_token(corral_slice_t name)
{
    static const char separators[] = "\"(),/:;<=>?@[\\]{}";

    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char) name.data[i];

        if (byte <= ' ' || byte >= 0x7f || strchr(separators, byte) != NULL) {
            return 0;
        }
    }
    return name.len > 0;
}

static int is_line(corral_slice_t value)
{
    return memchr(value.data, '\r', value.len) == NULL && memchr(value.data, '\n', value.len) == NULL
        && memchr(value.data, '\0', value.len) == NULL;
}

/* Leaves out invalid fields, as Puma does; returns how many there are. */
static size_t only_fields(corral_field_t *fields, size_t n)
{
    static const char remark[] = "a header of a response has a name or a value that none can have; such are left out";
    size_t n_fields = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_token(fields[i].name) && is_line(fields[i].value)) {
            fields[n_fields++] = fields[i];
        }
    }
    if (n_fields < n) {
        host->remark(remark, sizeof(remark) - 1);
    }
    return n_fields;
}

/* No other thread runs from where the strings are looked at until they have been used. */
static VALUE head_locked(VALUE data)
{
    waiting_t *waiting = (waiting_t *) data;

    for (size_t i = 0; i < 2 * waiting->len; i++) {
        VALUE string = rb_ary_entry(waiting->list, (long) i);
        corral_slice_t *slice = i % 2 == 0 ? &waiting->fields[i / 2].name : &waiting->fields[i / 2].value;

        Check_Type(string, T_STRING);
        *slice = (corral_slice_t) {RSTRING_PTR(string), (size_t) RSTRING_LEN(string)};
    }
    require_request(waiting->exchange);
    host->head(waiting->exchange->call, (uint16_t) waiting->status, waiting->fields,
               only_fields(waiting->fields, waiting->len));
    return Qnil;
}

/* head(status, [name, value, name, value, …]): names and values are strings. */
static VALUE exchange_head(VALUE self, VALUE status, VALUE list)
{
    int number = NUM2INT(status);
    size_t n_fields;
    corral_field_t *fields;
    VALUE buffer;

    Check_Type(list, T_ARRAY);
    if (number < 100 || number > 999) {
        rb_raise(rb_eArgError, "the response's status must be a number from 100 to 999, not %d", number);
    }
    n_fields = (size_t) RARRAY_LEN(list) / 2;
    fields = ALLOCV_N(corral_field_t, buffer, n_fields + 1);
    run(self, head_locked, (waiting_t) {.status = number, .list = list, .fields = fields, .len = n_fields});
    ALLOCV_END(buffer);
    RB_GC_GUARD(list);
    return Qnil;
}

static void *write_waiting(void *data)
{
    waiting_t *waiting = data;
    VALUE bytes = waiting->bytes;

    waiting->result = (size_t) host->write(waiting->exchange->call, RSTRING_PTR(bytes), (size_t) RSTRING_LEN(bytes));
    return NULL;
}

static VALUE write_locked(VALUE data)
{
    waiting_t *waiting = (waiting_t *) data;

    require_request(waiting->exchange);
    if (host->collects(waiting->exchange->call, (size_t) RSTRING_LEN(waiting->bytes))) {
        write_waiting(waiting);
    } else {
        /* Another thread could change it meanwhile. */
        waiting->bytes = rb_str_new_frozen(waiting->bytes);
        run_unlocked(waiting, write_waiting);
    }
    return Qnil;
}

/* write(bytes): whether the response is read. */
static VALUE exchange_write(VALUE self, VALUE bytes)
{
    bytes = RB_TYPE_P(bytes, T_STRING) ? bytes : rb_obj_as_string(bytes);
    return run(self, write_locked, (waiting_t) {.bytes = bytes}) == 0 ? Qtrue : Qfalse;
}

static void *file_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->result = (size_t) host->file(waiting->exchange->call, waiting->descriptor, 0);
    return NULL;
}

static VALUE file_locked(VALUE data)
{
    run_unlocked((waiting_t *) data, file_waiting);
    return Qnil;
}

/* send_file(descriptor): ends the response with the whole of an open file, which is not closed meanwhile. False when it
 * has to be read and written instead. */
static VALUE exchange_send_file(VALUE self, VALUE descriptor)
{
    return run(self, file_locked, (waiting_t) {.descriptor = NUM2INT(descriptor)}) == 0 ? Qtrue : Qfalse;
}

static void *act_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->act(waiting->exchange->call);
    return NULL;
}

static VALUE act_locked(VALUE data)
{
    run_unlocked((waiting_t *) data, act_waiting);
    return Qnil;
}

static VALUE exchange_flush(VALUE self)
{
    run(self, act_locked, (waiting_t) {.act = host->flush});
    return self;
}

static VALUE exchange_finish(VALUE self)
{
    run(self, act_locked, (waiting_t) {.act = host->finish});
    return self;
}

static VALUE exchange_abort(VALUE self)
{
    run(self, act_locked, (waiting_t) {.act = host->abort});
    return self;
}

/* Other threads wait meanwhile, which is not for long: nothing may be raised before the socket has an owner. */
static VALUE hijack_locked(VALUE data)
{
    waiting_t *waiting = (waiting_t *) data;

    require_request(waiting->exchange);
    waiting->status = host->hijack(waiting->exchange->call);
    waiting->result = (size_t) waiting->status;
    return Qnil;
}

/* hijack: the number of a socket in place of a response. */
static VALUE exchange_hijack(VALUE self)
{
    int result = (int) run(self, hijack_locked, (waiting_t) {.status = 0});

    if (result < 0) {
        rb_syserr_fail(-result, "the connection cannot be taken over");
    }
    return INT2NUM(result);
}

static void *read_waiting(void *data)
{
    waiting_t *waiting = data;

    waiting->result = host->read(waiting->exchange->call, waiting->buffer, waiting->len);
    return NULL;
}

static VALUE read_locked(VALUE data)
{
    run_unlocked((waiting_t *) data, read_waiting);
    return Qnil;
}

/* read(length): so many bytes of the request's body, or fewer if it ends. */
static VALUE exchange_read(VALUE self, VALUE length)
{
    long len = NUM2LONG(length);
    VALUE string = rb_str_buf_new(len);
    size_t n;

    rb_str_locktmp(string);
    n = run(self, read_locked, (waiting_t) {.buffer = RSTRING_PTR(string), .len = (size_t) len});
    rb_str_unlocktmp(string);
    rb_str_set_len(string, (long) n);
    return string;
}

/* Whether the response is not read any more. A thread that waits for the client will notice by itself. */
static VALUE exchange_is_gone(VALUE self)
{
    exchange_t *exchange = exchange_of(self);
    int is_gone;

    if (!RTEST(rb_mutex_trylock(exchange->mutex))) {
        return Qfalse;
    }
    is_gone = exchange->call == NULL || host->gone(exchange->call);
    rb_mutex_unlock(exchange->mutex);
    RB_GC_GUARD(self);
    return is_gone ? Qtrue : Qfalse;
}

/* Corral.remark(text): says it in the log, once for the application. */
static VALUE exchange_remark(VALUE self, VALUE text)
{
    StringValue(text);
    host->remark(RSTRING_PTR(text), (size_t) RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return self;
}

int corral_is_stranger(void)
{
    return host->stranger();
}

/* Corral.stranger? */
static VALUE is_stranger(VALUE self)
{
    (void) self;
    return corral_is_stranger() != 0 ? Qtrue : Qfalse;
}

void corral_exchange_define(VALUE corral, const corral_host_t *functions)
{
    host = functions;
    rb_global_variable(&class);
    class = rb_define_class_under(corral, "Exchange", rb_cObject);
    rb_undef_alloc_func(class);
    rb_define_singleton_method(corral, "remark", exchange_remark, 1);
    rb_define_singleton_method(corral, "stranger?", is_stranger, 0);
    rb_define_method(class, "inform", exchange_inform, 2);
    rb_define_method(class, "head", exchange_head, 2);
    rb_define_method(class, "write", exchange_write, 1);
    rb_define_method(class, "send_file", exchange_send_file, 1);
    rb_define_method(class, "flush", exchange_flush, 0);
    rb_define_method(class, "read", exchange_read, 1);
    rb_define_method(class, "finish", exchange_finish, 0);
    rb_define_method(class, "abort", exchange_abort, 0);
    rb_define_method(class, "gone?", exchange_is_gone, 0);
    rb_define_method(class, "hijack", exchange_hijack, 0);
}
