/* Perl: started once in the prototype, one request at a time in the workers. The PSGI handler is in corral.pl; this gives
 * it the request as a hash, and the functions that answer. */

#define PERL_NO_GET_CONTEXT

#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>

#include "corral_perl.h"

EXTERN_C void boot_DynaLoader(pTHX_ CV *cv);

static PerlInterpreter *my_perl;
static const corral_host_t *host;
static SV *serve;
static SV *start_error;

/* That of the running request; NULL between requests, when a handle that was kept is of no use. */
static void *running;

static void require_request(pTHX)
{
    if (running == NULL) {
        croak("the request is over");
    }
}

/* The bytes of a string. Dies of characters that do not fit in bytes. */
static corral_slice_t bytes_of(pTHX_ SV *sv)
{
    STRLEN len;
    const char *data = SvPVbyte(sv, len);

    return (corral_slice_t) {data, len};
}

/* head($status, \@fields): names and values take turns in the array. */
XS_INTERNAL(corral_xs_head)
{
    dXSARGS;
    AV *list;
    SSize_t n_items;
    SV *buffer;
    corral_field_t *fields;
    IV status;

    if (items != 2 || !SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVAV) {
        croak("the response's fields must be an array");
    }
    require_request(aTHX);
    status = SvIV(ST(0));
    if (status < 100 || status > 999) {
        croak("the response's status must be a number from 100 to 999, not \"%" SVf "\"", SVfARG(ST(0)));
    }
    list = (AV *) SvRV(ST(1));
    n_items = av_count(list);
    if (n_items % 2 != 0) {
        croak("the response's fields must be names and values in turn, but there are %ld items", (long) n_items);
    }
    /* A mortal, because strings may die on their way. */
    buffer = sv_2mortal(newSV(n_items / 2 * sizeof(corral_field_t) + 1));
    fields = (corral_field_t *) (void *) SvPVX(buffer);
    for (SSize_t i = 0; i < n_items; i += 2) {
        SV **name = av_fetch(list, i, 0);
        SV **value = av_fetch(list, i + 1, 0);

        if (name == NULL || value == NULL || !SvOK(*name)) {
            croak("a field of the response has no name or no value");
        }
        fields[i / 2].name = bytes_of(aTHX_ *name);
        fields[i / 2].value = SvOK(*value) ? bytes_of(aTHX_ *value) : (corral_slice_t) {"", 0};
    }
    host->head(running, (uint16_t) status, fields, (size_t) n_items / 2);
    XSRETURN_EMPTY;
}

/* body($bytes): true while somebody reads the response. */
XS_INTERNAL(corral_xs_body)
{
    dXSARGS;
    corral_slice_t bytes;

    if (items != 1) {
        croak("one piece of the body at a time");
    }
    require_request(aTHX);
    if (!SvOK(ST(0))) {
        XSRETURN_YES;
    }
    bytes = bytes_of(aTHX_ ST(0));
    if (host->write(running, bytes.data, bytes.len) != 0) {
        XSRETURN_NO;
    }
    XSRETURN_YES;
}

XS_INTERNAL(corral_xs_flush)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    require_request(aTHX);
    host->flush(running);
    XSRETURN_EMPTY;
}

XS_INTERNAL(corral_xs_finish)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    require_request(aTHX);
    host->finish(running);
    XSRETURN_EMPTY;
}

XS_INTERNAL(corral_xs_abort)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    require_request(aTHX);
    host->abort(running);
    XSRETURN_EMPTY;
}

/* input($length): so many bytes of the request's body, or fewer if it ends. */
XS_INTERNAL(corral_xs_input)
{
    dXSARGS;
    STRLEN len;
    SV *result;

    if (items != 1) {
        croak("how much of the body?");
    }
    require_request(aTHX);
    len = SvUV(ST(0));
    result = sv_2mortal(newSV(len + 1));
    SvPOK_only(result);
    len = host->read(running, SvPVX(result), len);
    SvCUR_set(result, len);
    *SvEND(result) = '\0';
    ST(0) = result;
    XSRETURN(1);
}

static void init_xs(pTHX)
{
    static const char file[] = __FILE__;

    newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, file);
    newXS("Corral::PSGI::head", corral_xs_head, file);
    newXS("Corral::PSGI::body", corral_xs_body, file);
    newXS("Corral::PSGI::flush", corral_xs_flush, file);
    newXS("Corral::PSGI::finish", corral_xs_finish, file);
    newXS("Corral::PSGI::abort", corral_xs_abort, file);
    newXS("Corral::PSGI::input", corral_xs_input, file);
}

const char *corral_perl_version(void)
{
    return PERL_VERSION_STRING;
}

/* Calls a function of corral.pl with one argument, which becomes mortal. What it returns is good until the caller's
 * FREETMPS; NULL when it died, which $@ explains. */
static SV *call(pTHX_ SV *function, SV *argument)
{
    dSP;
    SV *result;

    PUSHMARK(SP);
    XPUSHs(sv_2mortal(argument));
    PUTBACK;
    call_sv(function, G_SCALAR | G_EVAL);
    SPAGAIN;
    result = POPs;
    PUTBACK;
    return SvTRUE(ERRSV) ? NULL : result;
}

static const char *explain(pTHX_ SV *reason)
{
    SvREFCNT_dec(start_error);
    start_error = newSVsv(reason);
    return SvPV_nolen(start_error);
}

const char *corral_perl_load(const char *script)
{
    const char *problem = NULL;

    ENTER;
    SAVETMPS;
    if (call(aTHX_ newSVpvs_flags("Corral::PSGI::load", SVs_TEMP), newSVpv(script, 0)) == NULL) {
        problem = explain(aTHX_ ERRSV);
    }
    FREETMPS;
    LEAVE;
    return problem;
}

const char *corral_perl_start(const corral_host_t *functions, const char *handler)
{
    /* Perl writes over them when a program changes $0. */
    static char name[] = "corral-perl", option[] = "-e", program[] = "0";
    static char *arguments[] = {name, option, program, NULL};
    static char *no_environment[] = {NULL};
    int n_arguments = 3;
    char **argv = arguments, **envp = no_environment;

    host = functions;
    PERL_SYS_INIT3(&n_arguments, &argv, &envp);
    my_perl = perl_alloc();
    if (my_perl == NULL) {
        return "there is no memory for Perl";
    }
    perl_construct(my_perl);
    PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
    PL_perl_destruct_level = 0;
    if (perl_parse(my_perl, init_xs, n_arguments, argv, NULL) != 0 || perl_run(my_perl) != 0) {
        return "Perl does not start; it says why above";
    }
    eval_pv(handler, 0);
    if (SvTRUE(ERRSV)) {
        return explain(aTHX_ ERRSV);
    }
    serve = newSVpvs("Corral::PSGI::serve");
    return NULL;
}

void corral_perl_stop(void)
{
    if (my_perl == NULL) {
        return;
    }
    perl_destruct(my_perl);
    perl_free(my_perl);
    my_perl = NULL;
    PERL_SYS_TERM();
}

void corral_perl_forked(void)
{
    /* Otherwise all workers would draw the same numbers. */
    PL_srand_called = FALSE;
}

static HV *environment(pTHX_ const corral_request_t *request)
{
    HV *env = newHV();

    hv_ksplit(env, 64);
    for (size_t i = 0; i < request->n_variables; i++) {
        const corral_field_t *variable = &request->variables[i];
        SV *value = newSVpvn(variable->value.data, variable->value.len);

        (void) hv_store(env, variable->name.data, (I32) variable->name.len, value, 0);
    }
    (void) hv_stores(env, "psgi.url_scheme", newSVpv(request->https ? "https" : "http", 0));
    /* corral.pl makes a handle of it. */
    (void) hv_stores(env, "psgi.input", newSVuv((UV) request->content_length));
    return env;
}

corral_outcome_t corral_perl_serve(const corral_request_t *request)
{
    corral_outcome_t outcome = CORRAL_SERVED;
    SV *leaves;

    running = request->call;
    ENTER;
    SAVETMPS;
    leaves = call(aTHX_ serve, newRV_noinc((SV *) environment(aTHX_ request)));
    if (leaves == NULL) {
        /* It catches everything that an application can do. */
        PerlIO_printf(PerlIO_stderr(), "%" SVf, SVfARG(ERRSV));
    } else if (SvTRUE(leaves)) {
        outcome = CORRAL_LEAVES;
    }
    FREETMPS;
    LEAVE;
    running = NULL;
    return outcome;
}
