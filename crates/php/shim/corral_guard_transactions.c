/* The state guard's eye on transactions that a request begins and leaves open: those of PDO and of mysqli. */

#include "corral_guard.h"

#include "zend_exceptions.h"
#ifdef CORRAL_HAVE_MYSQLI
# include "ext/mysqli/php_mysqli_structs.h"
#endif

/* Above PHP's own driver alone; there was another one until PHP 8.1. */
#if defined(CORRAL_HAVE_MYSQLI) && (defined(MYSQLI_USE_MYSQLND) || PHP_VERSION_ID >= 80200)
# define WATCHES_MYSQLI
#endif

/* Connections with a transaction, of one request; there are no more of which anybody heard. */
#define MOST_CONNECTIONS 16

typedef enum { PDO, MYSQLI } driver_t;

/* No reference: the guard keeps no connection open. The number tells whether the object is alive. */
typedef struct {
    driver_t driver;
    uint32_t handle;
    zend_object *object;
} connection_t;

static connection_t connections[MOST_CONNECTIONS];
static size_t n_connections;

static zend_class_entry *classes[2];

/* {{{ the beginning of a transaction */

static void note(driver_t driver, zend_object *object)
{
    connection_t connection = {driver, object->handle, object};

    corral_guard_blame("transaction");
    for (size_t i = 0; i < n_connections; i++) {
        if (connections[i].object == object) {
            return;
        }
    }
    if (n_connections < MOST_CONNECTIONS) {
        connections[n_connections++] = connection;
    }
}

/* A method's object, or the first argument of a function that does the same. */
static zend_object *connection_of(zend_execute_data *execute_data)
{
    if (Z_TYPE(execute_data->This) == IS_OBJECT) {
        return Z_OBJ(execute_data->This);
    }
    if (ZEND_CALL_NUM_ARGS(execute_data) > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_OBJECT) {
        return Z_OBJ_P(ZEND_CALL_ARG(execute_data, 1));
    }
    return NULL;
}

static void note_begin(driver_t driver, zend_execute_data *execute_data)
{
    zend_object *object = connection_of(execute_data);

    if (corral_guard_watches && object != NULL && classes[driver] != NULL
        && instanceof_function(object->ce, classes[driver])) {
        note(driver, object);
    }
}

static bool begins(const char *statement)
{
    statement += strspn(statement, " \t\r\n");
    return strncasecmp(statement, "BEGIN", 5) == 0 || strncasecmp(statement, "START", 5) == 0;
}

/* SQL's own words for it. */
static void note_statement(driver_t driver, zend_execute_data *execute_data)
{
    uint32_t at = Z_TYPE(execute_data->This) == IS_OBJECT ? 1 : 2;
    zval *statement;

    if (!corral_guard_watches || ZEND_CALL_NUM_ARGS(execute_data) < at) {
        return;
    }
    statement = ZEND_CALL_ARG(execute_data, at);
    if (Z_TYPE_P(statement) == IS_STRING && begins(Z_STRVAL_P(statement))) {
        note_begin(driver, execute_data);
    }
}

#define WATCHED(name, driver, look) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        look(driver, execute_data); \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }

WATCHED(pdo_begin, PDO, note_begin)
WATCHED(pdo_exec, PDO, note_statement)
WATCHED(pdo_query, PDO, note_statement)
WATCHED(mysqli_begin, MYSQLI, note_begin)
WATCHED(mysqli_autocommit, MYSQLI, note_begin)
WATCHED(mysqli_query, MYSQLI, note_statement)

/* A class inherits PHP's functions as copies. */
static void wrap_method(driver_t driver, const char *name, zif_handler wrapper, zif_handler *wrapped)
{
    zend_class_entry *class;
    zend_function *method = zend_hash_str_find_ptr(&classes[driver]->function_table, name, strlen(name));

    if (method == NULL) {
        return;
    }
    *wrapped = method->internal_function.handler;
    ZEND_HASH_FOREACH_PTR(CG(class_table), class) {
        if (class->type == ZEND_INTERNAL_CLASS && instanceof_function(class, classes[driver])) {
            method = zend_hash_str_find_ptr(&class->function_table, name, strlen(name));
            if (method != NULL && method->internal_function.handler == *wrapped) {
                method->internal_function.handler = wrapper;
            }
        }
    } ZEND_HASH_FOREACH_END();
}

static void prepare_pdo(void)
{
    classes[PDO] = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
    if (classes[PDO] != NULL) {
        wrap_method(PDO, "begintransaction", watched_pdo_begin, &pdo_begin_handler);
        wrap_method(PDO, "exec", watched_pdo_exec, &pdo_exec_handler);
        wrap_method(PDO, "query", watched_pdo_query, &pdo_query_handler);
    }
}

static void prepare_mysqli(void)
{
#ifdef WATCHES_MYSQLI
    classes[MYSQLI] = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli"));
    if (classes[MYSQLI] == NULL) {
        return;
    }
    wrap_method(MYSQLI, "begin_transaction", watched_mysqli_begin, &mysqli_begin_handler);
    wrap_method(MYSQLI, "autocommit", watched_mysqli_autocommit, &mysqli_autocommit_handler);
    wrap_method(MYSQLI, "query", watched_mysqli_query, &mysqli_query_handler);
    corral_wrap_function(ZEND_STRL("mysqli_begin_transaction"), watched_mysqli_begin, &mysqli_begin_handler);
    corral_wrap_function(ZEND_STRL("mysqli_autocommit"), watched_mysqli_autocommit, &mysqli_autocommit_handler);
    corral_wrap_function(ZEND_STRL("mysqli_query"), watched_mysqli_query, &mysqli_query_handler);
#endif
}

void corral_guard_transactions_prepare(void)
{
    prepare_pdo();
    prepare_mysqli();
}

/* }}} */

/* {{{ transactions that have not ended */

static zend_object *alive(const connection_t *connection)
{
    zend_object *object;

    if (connection->handle >= EG(objects_store).top) {
        return NULL;
    }
    object = EG(objects_store).object_buckets[connection->handle];
    return IS_OBJ_VALID(object) && object == connection->object
        && instanceof_function(object->ce, classes[connection->driver]) ? object : NULL;
}

/* PHP's own method, whatever a class of the application has in its place. */
static bool call(const connection_t *connection, const char *name, uint32_t n, zval *arguments)
{
    zend_class_entry *class = classes[connection->driver];
    zend_function *method = zend_hash_str_find_ptr(&class->function_table, name, strlen(name));
    zval result;
    bool is_true;

    if (method == NULL) {
        return false;
    }
    ZVAL_UNDEF(&result);
    zend_call_known_function(method, connection->object, connection->object->ce, &result, n, arguments, NULL);
    if (EG(exception) != NULL) {
        zend_clear_exception();
        return false;
    }
    is_true = zend_is_true(&result);
    zval_ptr_dtor(&result);
    return is_true;
}

static void say_open(const char *class)
{
    corral_guard_found(LEFT_TRANSACTION, "transaction", "left a transaction of %s open%s", class,
                       corral_guard_restores() ? ", which was rolled back" : "");
}

static void look_at_pdo(const connection_t *connection)
{
    if (call(connection, "intransaction", 0, NULL)) {
        say_open("PDO");
        if (corral_guard_restores()) {
            (void) call(connection, "rollback", 0, NULL);
        }
    }
}

#ifdef WATCHES_MYSQLI
/* The state that the server has reported with its last answer. */
static unsigned status_of(const zend_object *object)
{
    const MYSQLI_RESOURCE *resource = php_mysqli_fetch_object((zend_object *) object)->ptr;
    const MY_MYSQL *connection = resource != NULL ? resource->ptr : NULL;

    if (connection == NULL || resource->status != MYSQLI_STATUS_VALID || connection->mysql == NULL) {
        return SERVER_STATUS_AUTOCOMMIT;
    }
    return connection->mysql->data->upsert_status->server_status;
}

static void look_at_mysqli(const connection_t *connection)
{
    unsigned status = status_of(connection->object);
    zval on;

    if ((status & SERVER_STATUS_IN_TRANS) != 0) {
        say_open("mysqli");
        if (corral_guard_restores()) {
            (void) call(connection, "rollback", 0, NULL);
        }
    }
    if ((status & SERVER_STATUS_AUTOCOMMIT) == 0) {
        corral_guard_found(LEFT_TRANSACTION, "transaction", "left a connection of mysqli without autocommit%s",
                           corral_guard_restores() ? ", which was switched on" : "");
        if (corral_guard_restores()) {
            ZVAL_TRUE(&on);
            (void) call(connection, "autocommit", 1, &on);
        }
    }
}
#else
static void look_at_mysqli(const connection_t *connection)
{
    (void) connection;
}
#endif

void corral_guard_transactions_end(void)
{
    for (size_t i = 0; i < n_connections; i++) {
        if (alive(&connections[i]) == NULL) {
            continue;
        }
        if (connections[i].driver == PDO) {
            look_at_pdo(&connections[i]);
        } else {
            look_at_mysqli(&connections[i]);
        }
    }
    n_connections = 0;
}

void corral_guard_transactions_forget(void)
{
    n_connections = 0;
}

/* }}} */
