/* The state guard's eye on settings: those that the script has changed, and their values. */

#include "corral_guard.h"

#include "zend_ini.h"
#include "zend_smart_str.h"

typedef struct {
    zend_ini_entry *entry;
    /* In force when the request began. */
    zend_string *value;
} setting_t;

static setting_t *settings;
static uint32_t n_settings;
static uint32_t room;

static void let_go(setting_t *setting)
{
    if (setting->value != NULL) {
        zend_string_release(setting->value);
    }
    setting->value = NULL;
}

static void remember(uint32_t i, zend_ini_entry *entry)
{
    if (i < n_settings && settings[i].entry == entry && settings[i].value == entry->value) {
        return;
    }
    if (i == room) {
        room = room == 0 ? 8 : 2 * room;
        settings = safe_perealloc(settings, room, sizeof(*settings), 0, 1);
    }
    if (i < n_settings) {
        let_go(&settings[i]);
    } else {
        n_settings = i + 1;
    }
    settings[i].entry = entry;
    settings[i].value = entry->value != NULL ? zend_string_copy(entry->value) : NULL;
}

void corral_guard_settings_forget(void)
{
    while (n_settings > 0) {
        let_go(&settings[--n_settings]);
    }
}

/* The usual case: none was touched. */
static bool are_as_they_were(void)
{
    zend_ini_entry *entry;
    uint32_t i = 0;

    if (EG(modified_ini_directives) == NULL) {
        return n_settings == 0;
    }
    if (zend_hash_num_elements(EG(modified_ini_directives)) != n_settings) {
        return false;
    }
    ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry) {
        if (settings[i].entry != entry || settings[i].value != entry->value) {
            return false;
        }
        i++;
    } ZEND_HASH_FOREACH_END();
    return true;
}

void corral_guard_settings_begin(void)
{
    zend_ini_entry *entry;
    uint32_t n = 0;

    if (are_as_they_were()) {
        return;
    }
    if (EG(modified_ini_directives) != NULL) {
        ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry) {
            remember(n++, entry);
        } ZEND_HASH_FOREACH_END();
    }
    while (n_settings > n) {
        let_go(&settings[--n_settings]);
    }
}

static bool is_same(const zend_string *a, const zend_string *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return zend_string_equals((zend_string *) a, (zend_string *) b);
}

/* NULL for a setting that had its original value when the request began. */
static const setting_t *before(const zend_ini_entry *entry)
{
    for (uint32_t i = 0; i < n_settings; i++) {
        if (settings[i].entry == entry) {
            return &settings[i];
        }
    }
    return NULL;
}

static bool was_changed(const zend_ini_entry *entry)
{
    const setting_t *known = before(entry);

    return !is_same(entry->value, known != NULL ? known->value : entry->orig_value);
}

/* `visit` may end the modification of the entry that it is given. */
static void visit_changed(void (*visit)(zend_ini_entry *entry, smart_str *names), smart_str *names)
{
    zend_ini_entry *entry;

    if (EG(modified_ini_directives) != NULL) {
        ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry) {
            if (was_changed(entry)) {
                visit(entry, names);
            }
        } ZEND_HASH_FOREACH_END();
    }
    for (uint32_t i = 0; i < n_settings; i++) {
        if (!settings[i].entry->modified && was_changed(settings[i].entry)) {
            visit(settings[i].entry, names);
        }
    }
}

static void append_name(zend_ini_entry *entry, smart_str *names)
{
    smart_str_appends(names, names->s != NULL ? ", \"" : "\"");
    smart_str_append(names, entry->name);
    smart_str_appendc(names, '"');
}

/* Changes are not checked for permission: PHP does it like this at the end of a script. */
static void restore(zend_ini_entry *entry, smart_str *names)
{
    const setting_t *known = before(entry);

    (void) names;
    if (known != NULL && known->value != NULL) {
        (void) zend_alter_ini_entry(entry->name, known->value, PHP_INI_SYSTEM, PHP_INI_STAGE_DEACTIVATE);
    } else {
        (void) zend_restore_ini_entry(entry->name, PHP_INI_STAGE_DEACTIVATE);
    }
}

void corral_guard_settings_end(void)
{
    smart_str names = {0};

    if (are_as_they_were()) {
        return;
    }
    visit_changed(append_name, &names);
    if (names.s == NULL) {
        return;
    }
    smart_str_0(&names);
    corral_guard_found(LEFT_SETTING, "ini_set", "left other values of the settings %s", ZSTR_VAL(names.s));
    smart_str_free(&names);
    if (corral_guard_restores()) {
        visit_changed(restore, NULL);
    }
}
