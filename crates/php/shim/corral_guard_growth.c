/* The state guard's eye on what grows: static properties, global variables, and memory. Elements are counted, not looked at. */

#include "corral_guard.h"

#include "zend_gc.h"

/* Memory is compared by what was the least in so many requests: what a cache or garbage adds goes again. */
#define WINDOW 64
#define N_WINDOWS 4

typedef struct {
    uint32_t n_elements;
    uint32_t n_times;
} growth_t;

/* {{{ counting */

static uint32_t count(const zval *value)
{
    ZVAL_DEREF(value);
    return Z_TYPE_P(value) == IS_ARRAY ? zend_hash_num_elements(Z_ARRVAL_P(value)) : 0;
}

/* Whether it has grown often enough to be told; true once. */
static bool has_grown(growth_t *growth, const zval *value)
{
    uint32_t n = count(value);
    bool is_told;

    if (n == growth->n_elements) {
        return false;
    }
    if (n > growth->n_elements) {
        growth->n_times++;
    } else if (growth->n_times < GROWN_OFTEN) {
        growth->n_times = 0;
    }
    is_told = n > growth->n_elements && growth->n_times == GROWN_OFTEN;
    growth->n_elements = n;
    return is_told;
}

/* }}} */

/* {{{ static properties */

typedef struct {
    zend_class_entry *class;
    uint32_t idx;
    growth_t growth;
} property_t;

static property_t *properties;
static uint32_t n_properties;
static uint32_t room;

/* Classes are never taken out of the table, and new ones come last. */
static uint32_t n_classes;

/* NULL before the class is used, and for what is a property of its parent. */
static const zval *value_of(const property_t *property)
{
    const zval *members = CE_STATIC_MEMBERS(property->class);

    return members != NULL && Z_TYPE(members[property->idx]) != IS_INDIRECT ? &members[property->idx] : NULL;
}

static void add_property(zend_class_entry *class, uint32_t idx)
{
    property_t property = {.class = class, .idx = idx};
    const zval *value = value_of(&property);

    property.growth.n_elements = value != NULL ? count(value) : 0;
    if (n_properties == room) {
        room = room == 0 ? 32 : 2 * room;
        properties = safe_perealloc(properties, room, sizeof(*properties), 0, 1);
    }
    properties[n_properties++] = property;
}

static void add_classes(void)
{
    for (; n_classes < CG(class_table)->nNumUsed; n_classes++) {
        zval *found = &CG(class_table)->arData[n_classes].val;
        zend_class_entry *class = Z_TYPE_P(found) == IS_PTR ? Z_PTR_P(found) : NULL;

        if (class == NULL || class->type != ZEND_USER_CLASS || (class->ce_flags & ZEND_ACC_LINKED) == 0) {
            continue;
        }
        for (int idx = 0; idx < class->default_static_members_count; idx++) {
            add_property(class, (uint32_t) idx);
        }
    }
}

static void report_property(const property_t *property)
{
    zend_property_info *info;

    ZEND_HASH_FOREACH_PTR(&property->class->properties_info, info) {
        if ((info->flags & ZEND_ACC_STATIC) != 0 && info->offset == property->idx) {
            corral_guard_found(LEFT_STATIC, NULL, "left %s::$%s with %u elements; it has grown in %d requests",
                               ZSTR_VAL(property->class->name), zend_get_unmangled_property_name(info->name),
                               property->growth.n_elements, GROWN_OFTEN);
        }
    } ZEND_HASH_FOREACH_END();
}

static void look_at_properties(void)
{
    add_classes();
    for (uint32_t i = 0; i < n_properties; i++) {
        const zval *value = value_of(&properties[i]);

        if (value != NULL && has_grown(&properties[i].growth, value)) {
            report_property(&properties[i]);
        }
    }
}

/* }}} */

/* {{{ global variables */

/* One of the script's own; those of PHP are made anew for each request. */
typedef struct {
    /* For its address alone. */
    const zend_string *name;
    /* Where it is in the table. */
    uint32_t idx;
    growth_t growth;
} variable_t;

static variable_t *variables;
static uint32_t n_variables;
static uint32_t room_for_variables;

/* The table as it was looked through, so that it need not be looked through again. */
static const Bucket *table;
static uint32_t n_used;

/* How many variables there were at most, and how often there were more. */
static growth_t all;

static const zval *value_at(const Bucket *place)
{
    return Z_TYPE(place->val) == IS_INDIRECT ? Z_INDIRECT(place->val) : &place->val;
}

static void place_variable(uint32_t i, uint32_t idx)
{
    const Bucket *place = &EG(symbol_table).arData[idx];

    if (i == room_for_variables) {
        room_for_variables = i == 0 ? 16 : 2 * i;
        variables = safe_perealloc(variables, room_for_variables, sizeof(*variables), 0, 1);
    }
    if (i >= n_variables || variables[i].name != place->key) {
        variables[i].growth = (growth_t) {.n_elements = count(value_at(place))};
        variables[i].name = place->key;
    }
    variables[i].idx = idx;
}

static void look_at_number(void)
{
    uint32_t before = all.n_elements;

    if (n_variables <= before) {
        return;
    }
    all.n_elements = n_variables;
    if (before != 0 && ++all.n_times == GROWN_OFTEN) {
        corral_guard_found(LEFT_GLOBAL, NULL, "left one more global variable, as requests before it did: $%s",
                           ZSTR_VAL(variables[n_variables - 1].name));
    }
}

static void find_variables(void)
{
    uint32_t i = 0;

    table = EG(symbol_table).arData;
    n_used = EG(symbol_table).nNumUsed;
    for (uint32_t idx = 0; idx < n_used; idx++) {
        const Bucket *place = &table[idx];

        if (Z_TYPE(place->val) != IS_UNDEF && place->key != NULL && !zend_hash_exists(CG(auto_globals), place->key)) {
            place_variable(i++, idx);
        }
    }
    n_variables = i;
    look_at_number();
}

static void look_at_variables(void)
{
    if (table != EG(symbol_table).arData || n_used != EG(symbol_table).nNumUsed) {
        find_variables();
    }
    for (uint32_t i = 0; i < n_variables; i++) {
        const Bucket *place = &table[variables[i].idx];

        if (place->key == variables[i].name && has_grown(&variables[i].growth, value_at(place))) {
            corral_guard_found(LEFT_GLOBAL, NULL,
                               "left the global variable $%s with %u elements; it has grown in %d requests",
                               ZSTR_VAL(place->key), variables[i].growth.n_elements, GROWN_OFTEN);
        }
    }
}

/* }}} */

/* {{{ memory */

static struct {
    uint32_t n_requests;
    size_t least;
    /* The least in the window before, and in the first of those that grew. */
    size_t before;
    size_t first;
    uint32_t n_grown;
} memory;

static void begin_anew(void)
{
    memory.first = memory.least;
    memory.n_grown = 0;
}

/* Cycles that were not collected are not a leak. */
static void tell_if_it_stays(void)
{
    (void) gc_collect_cycles();
    if (zend_memory_usage(0) > memory.first) {
        corral_guard_found(LEFT_MEMORY, NULL, "is one of %u requests in which memory has grown from %zu to %zu KiB",
                           WINDOW * N_WINDOWS, memory.first / 1024, zend_memory_usage(0) / 1024);
    }
    memory.least = zend_memory_usage(0);
    begin_anew();
}

static void end_window(void)
{
    if (memory.before == 0 || memory.least <= memory.before) {
        begin_anew();
    } else if (++memory.n_grown == N_WINDOWS) {
        tell_if_it_stays();
    }
    memory.before = memory.least;
    memory.least = SIZE_MAX;
    memory.n_requests = 0;
}

static void look_at_memory(void)
{
    size_t used = zend_memory_usage(0);

    memory.least = memory.n_requests == 0 ? used : MIN(memory.least, used);
    if (++memory.n_requests == WINDOW) {
        end_window();
    }
}

/* }}} */

void corral_guard_growth_prepare(void)
{
    n_classes = CG(class_table)->nNumUsed;
}

/* Memory that was there before the first request has not grown. */
void corral_guard_growth_begin(void)
{
    static bool has_begun;

    if (!has_begun) {
        has_begun = true;
        look_at_properties();
        look_at_variables();
    }
}

void corral_guard_growth_end(void)
{
    look_at_properties();
    look_at_variables();
    look_at_memory();
}
