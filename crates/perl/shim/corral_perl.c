/* Perl: interpreters, of which each answers one request at a time. The PSGI handler is in corral.pl; this gives it the
 * request as a hash, and the functions that answer. */

#define PERL_NO_GET_CONTEXT

#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>

#include "corral_perl.h"

EXTERN_C void boot_DynaLoader(pTHX_ CV *cv);

struct corral_perl {
    PerlInterpreter *perl;
    SV *serve;
    SV *problem;
    /* The call of the running request; NULL between requests, when a handle that was kept is of no use. */
    void *running;
};

static const corral_host_t *host;

/* The running request of the interpreter that this function was defined in. A thread that the application starts has a copy
 * of that, and no request. */
static void *request_of(pTHX_ CV *cv)
{
    const corral_perl_t *corral = CvXSUBANY(cv).any_ptr;

#ifdef MULTIPLICITY
    if (corral->perl != aTHX) {
        croak("the request belongs to another thread");
    }
#endif
    if (corral->running == NULL) {
        croak("the request is over");
    }
    return corral->running;
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
    void *request;

    if (items != 2 || !SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVAV) {
        croak("the response's headers must be an array");
    }
    request = request_of(aTHX_ cv);
    status = SvIV(ST(0));
    if (status < 100 || status > 999) {
        croak("the response's status must be a number from 100 to 999, not \"%" SVf "\"", SVfARG(ST(0)));
    }
    list = (AV *) SvRV(ST(1));
    n_items = av_count(list);
    if (n_items % 2 != 0) {
        static const char remark[] = "the last header of a response has no value, and is taken for an empty one";

        host->remark(remark, sizeof(remark) - 1);
    }
    /* A mortal, because strings may die on their way. */
    buffer = sv_2mortal(newSV((n_items / 2 + 1) * sizeof(corral_field_t)));
    fields = (corral_field_t *) (void *) SvPVX(buffer);
    for (SSize_t i = 0; i < n_items; i += 2) {
        SV **name = av_fetch(list, i, 0);
        SV **value = av_fetch(list, i + 1, 0);

        if (name == NULL || !SvOK(*name)) {
            croak("a header of the response has no name");
        }
        fields[i / 2].name = bytes_of(aTHX_ *name);
        fields[i / 2].value = value != NULL && SvOK(*value) ? bytes_of(aTHX_ *value) : (corral_slice_t) {"", 0};
    }
    host->head(request, (uint16_t) status, fields, ((size_t) n_items + 1) / 2);
    XSRETURN_EMPTY;
}

/* body($bytes): true while the response is read. */
XS_INTERNAL(corral_xs_body)
{
    dXSARGS;
    corral_slice_t bytes;
    void *request;

    if (items != 1) {
        croak("one piece of the body at a time");
    }
    request = request_of(aTHX_ cv);
    if (!SvOK(ST(0))) {
        XSRETURN_YES;
    }
    bytes = bytes_of(aTHX_ ST(0));
    if (host->write(request, bytes.data, bytes.len) != 0) {
        XSRETURN_NO;
    }
    XSRETURN_YES;
}

/* file($handle): ends the response with the rest of an open file; false when it has to be read instead. */
XS_INTERNAL(corral_xs_file)
{
    dXSARGS;
    PerlIO *handle;
    Off_t position;
    int descriptor;

    if (items != 1) {
        croak("one file, please");
    }
    handle = IoIFP(sv_2io(ST(0)));
    if (handle == NULL) {
        XSRETURN_NO;
    }
    descriptor = PerlIO_fileno(handle);
    position = lseek(descriptor, 0, SEEK_CUR);
    /* Bytes that Perl has read ahead were not read by the application. */
    if (position >= 0 && PerlIO_has_cntptr(handle)) {
        position -= PerlIO_get_cnt(handle);
    }
    if (position < 0 || host->file(request_of(aTHX_ cv), descriptor, (uint64_t) position) != 0) {
        XSRETURN_NO;
    }
    XSRETURN_YES;
}

XS_INTERNAL(corral_xs_flush)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    host->flush(request_of(aTHX_ cv));
    XSRETURN_EMPTY;
}

XS_INTERNAL(corral_xs_finish)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    host->finish(request_of(aTHX_ cv));
    XSRETURN_EMPTY;
}

XS_INTERNAL(corral_xs_abort)
{
    dXSARGS;

    PERL_UNUSED_VAR(items);
    host->abort(request_of(aTHX_ cv));
    XSRETURN_EMPTY;
}

/* input($length): so many bytes of the request's body, or fewer if it ends. */
XS_INTERNAL(corral_xs_input)
{
    dXSARGS;
    STRLEN len;
    SV *result;
    void *request;

    if (items != 1) {
        croak("how much of the body?");
    }
    request = request_of(aTHX_ cv);
    len = SvUV(ST(0));
    result = sv_2mortal(newSV(len + 1));
    SvPOK_only(result);
    len = host->read(request, SvPVX(result), len);
    SvCUR_set(result, len);
    *SvEND(result) = '\0';
    ST(0) = result;
    XSRETURN(1);
}

/* remark($text): says it in the log, once for the application. */
XS_INTERNAL(corral_xs_remark)
{
    dXSARGS;

    if (items == 1) {
        corral_slice_t text = bytes_of(aTHX_ ST(0));

        host->remark(text.data, text.len);
    }
    XSRETURN_EMPTY;
}

static void init_xs(pTHX)
{
    newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__);
}

static void define(pTHX_ corral_perl_t *corral, const char *name, XSUBADDR_t function)
{
    CV *cv = newXS(name, function, __FILE__);

    CvXSUBANY(cv).any_ptr = corral;
}

static void define_all(pTHX_ corral_perl_t *corral)
{
    define(aTHX_ corral, "Corral::PSGI::head", corral_xs_head);
    define(aTHX_ corral, "Corral::PSGI::body", corral_xs_body);
    define(aTHX_ corral, "Corral::PSGI::file", corral_xs_file);
    define(aTHX_ corral, "Corral::PSGI::flush", corral_xs_flush);
    define(aTHX_ corral, "Corral::PSGI::finish", corral_xs_finish);
    define(aTHX_ corral, "Corral::PSGI::abort", corral_xs_abort);
    define(aTHX_ corral, "Corral::PSGI::input", corral_xs_input);
    define(aTHX_ corral, "Corral::PSGI::remark", corral_xs_remark);
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

/* Ends the process as `perl` does: END blocks, destructors, and what is still in the buffers of handles. */
static void end_process(const corral_perl_t *corral)
{
    exit(perl_destruct(corral->perl));
}

/* As `call`, for code that may end the process: exit that is really one, as in a process that the application has forked,
 * jumps here over everything that catches what dies. */
static SV *call_to_the_end(pTHX_ const corral_perl_t *corral, SV *function, SV *argument)
{
    dJMPENV;
    SV *volatile result = NULL;
    int jump;

    JMPENV_PUSH(jump);
    if (jump == 0) {
        result = call(aTHX_ function, argument);
    }
    JMPENV_POP;
    if (jump != 0) {
        end_process(corral);
    }
    return result;
}

static const char *explain(pTHX_ corral_perl_t *corral)
{
    SvREFCNT_dec(corral->problem);
    corral->problem = newSVsv(ERRSV);
    return SvPV_nolen(corral->problem);
}

/* Makes the interpreter the one of this thread. */
static PerlInterpreter *enter(const corral_perl_t *corral)
{
    PERL_SET_CONTEXT(corral->perl);
    return corral->perl;
}

int corral_perl_has_threads(void)
{
#ifdef USE_ITHREADS
    return 1;
#else
    return 0;
#endif
}

/* Perl writes over them when a program changes $0. */
static char name[] = "corral-perl", option[] = "-e", program[] = "0";
static char *arguments[] = {name, option, program, NULL};

void corral_perl_initialize(const corral_host_t *functions)
{
    static char *no_environment[] = {NULL};
    int n_arguments = 3;
    char **argv = arguments, **envp = no_environment;

    host = functions;
    PERL_SYS_INIT3(&n_arguments, &argv, &envp);
}

void corral_perl_terminate(void)
{
    PERL_SYS_TERM();
}

corral_perl_t *corral_perl_new(void)
{
    corral_perl_t *corral = calloc(1, sizeof(*corral));

    if (corral == NULL) {
        return NULL;
    }
    corral->perl = perl_alloc();
    if (corral->perl == NULL) {
        free(corral);
        return NULL;
    }
    perl_construct(corral->perl);
    return corral;
}

const char *corral_perl_start(corral_perl_t *corral, const char *handler, int multithread)
{
    dTHXa(enter(corral));

    PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
    PL_perl_destruct_level = 0;
    if (perl_parse(corral->perl, init_xs, 3, arguments, NULL) != 0 || perl_run(corral->perl) != 0) {
        return "Perl does not start; it says why above";
    }
    define_all(aTHX_ corral);
    sv_setsv(get_sv("Corral::PSGI::multithread", GV_ADD), boolSV(multithread));
    eval_pv(handler, 0);
    if (SvTRUE(ERRSV)) {
        return explain(aTHX_ corral);
    }
    corral->serve = newSVpvs("Corral::PSGI::serve");
    return NULL;
}

const char *corral_perl_load(corral_perl_t *corral, const char *script)
{
    dTHXa(enter(corral));
    const char *problem = NULL;

    ENTER;
    SAVETMPS;
    if (call_to_the_end(aTHX_ corral, newSVpvs_flags("Corral::PSGI::load", SVs_TEMP), newSVpv(script, 0)) == NULL) {
        problem = explain(aTHX_ corral);
    }
    FREETMPS;
    LEAVE;
    if (host->stranger() != 0) {
        end_process(corral);
    }
    return problem;
}

void corral_perl_free(corral_perl_t *corral)
{
    enter(corral);
    perl_destruct(corral->perl);
    perl_free(corral->perl);
    free(corral);
}

void corral_perl_forked(corral_perl_t *corral)
{
    dTHXa(enter(corral));

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

corral_outcome_t corral_perl_serve(corral_perl_t *corral, const corral_request_t *request)
{
    dTHXa(enter(corral));
    corral_outcome_t outcome = CORRAL_SERVED;
    SV *leaves;

    corral->running = request->call;
    ENTER;
    SAVETMPS;
    leaves = call_to_the_end(aTHX_ corral, corral->serve, newRV_noinc((SV *) environment(aTHX_ request)));
    if (leaves == NULL) {
        /* The eval catches everything that an application can do. */
        PerlIO_printf(PerlIO_stderr(), "%" SVf, SVfARG(ERRSV));
    } else if (SvTRUE(leaves)) {
        outcome = CORRAL_LEAVES;
    }
    FREETMPS;
    LEAVE;
    corral->running = NULL;
    if (host->stranger() != 0) {
        end_process(corral);
    }
    return outcome;
}
