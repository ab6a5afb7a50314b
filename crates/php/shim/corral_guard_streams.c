/* The state guard's eye on open streams, temporary files among them. */

#include "corral_guard.h"

#include "php_streams.h"

/* The number that the next resource gets; those of the request have it or a higher one. */
static zend_ulong next;

/* Requests that left streams open. */
static uint32_t n_times;

void corral_guard_streams_begin(void)
{
    next = (zend_ulong) EG(regular_list).nNextFreeElement;
}

/* Addresses may have passwords in them. */
static zend_string *name_of(const php_stream *stream)
{
    const char *colon = stream->orig_path != NULL ? strstr(stream->orig_path, "://") : NULL;

    if (stream->orig_path == NULL) {
        return zend_strpprintf(0, "one without a name");
    }
    if (colon != NULL && strncmp(stream->orig_path, "php://", 6) != 0) {
        return zend_strpprintf(0, "\"%.*s://...\"", (int) (colon - stream->orig_path), stream->orig_path);
    }
    return zend_strpprintf(0, "\"%s\"", stream->orig_path);
}

static void report(const php_stream *stream, uint32_t n)
{
    zend_string *name = name_of(stream);

    corral_guard_found(LEFT_STREAM, NULL, "left %u stream%s open, as requests before it did: %s (%s, mode \"%s\")", n,
                       n == 1 ? "" : "s", ZSTR_VAL(name), stream->ops->label, stream->mode);
    zend_string_release(name);
}

/* NULL for other things, and for what is a part of a stream that scripts see. */
static const php_stream *stream_of(const zend_resource *resource)
{
    const php_stream *stream = resource->type == php_file_le_stream() ? resource->ptr : NULL;

    return stream != NULL && stream->enclosing_stream == NULL ? stream : NULL;
}

void corral_guard_streams_end(void)
{
    const php_stream *stream, *newest = NULL;
    zend_resource *resource;
    uint32_t n = 0;

    if ((zend_ulong) EG(regular_list).nNextFreeElement == next) {
        return;
    }
    ZEND_HASH_REVERSE_FOREACH_PTR(&EG(regular_list), resource) {
        if ((zend_ulong) resource->handle < next) {
            break;
        }
        stream = stream_of(resource);
        if (stream != NULL) {
            newest = newest != NULL ? newest : stream;
            n++;
        }
    } ZEND_HASH_FOREACH_END();
    if (n > 0 && ++n_times >= GROWN_OFTEN) {
        report(newest, n);
    }
}
