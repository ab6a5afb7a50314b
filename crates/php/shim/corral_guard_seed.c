/* The state guard's eye on random numbers: after mt_srand(42), the next visitor's are known to all. */

#include "corral_guard.h"

#if PHP_VERSION_ID >= 80200
# include "ext/random/php_random.h"
# define IS_SEEDED RANDOM_G(mt19937_seeded)
# if PHP_VERSION_ID >= 80400
typedef php_random_status_state_mt19937 generator_t;
#  define GENERATOR (&RANDOM_G(mt19937))
# else
typedef php_random_status_state_mt19937 generator_t;
#  define GENERATOR ((generator_t *) RANDOM_G(mt19937)->state)
# endif
#else
/* The generator's state cannot be copied: what the script has seeded before its loop is seeded anew. */
# include "ext/standard/basic_functions.h"
# define IS_SEEDED BG(mt_rand_is_seeded)
typedef char generator_t;
static generator_t no_generator;
# define GENERATOR (&no_generator)
#endif

#define WATCHED(name) \
    static zif_handler name##_handler; \
    static ZEND_NAMED_FUNCTION(watched_##name) \
    { \
        if (corral_guard_watches) { \
            note(execute_data); \
            corral_guard_blame("mt_srand"); \
        } \
        name##_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
    }

/* The state before the request seeded. */
static struct {
    bool is_known;
    bool was_seeded;
    generator_t generator;
} before;

/* The last seed is known. */
static bool is_fixed;

static void note(zend_execute_data *execute_data)
{
    is_fixed = ZEND_CALL_NUM_ARGS(execute_data) > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) != IS_NULL;
    if (!before.is_known) {
        before.was_seeded = IS_SEEDED;
        before.generator = *GENERATOR;
        before.is_known = true;
    }
}

WATCHED(mt_srand)
WATCHED(srand)

void corral_guard_seed_prepare(void)
{
    corral_wrap_function(ZEND_STRL("mt_srand"), watched_mt_srand, &mt_srand_handler);
    corral_wrap_function(ZEND_STRL("srand"), watched_srand, &srand_handler);
}

void corral_guard_seed_end(void)
{
    if (!before.is_known) {
        return;
    }
    before.is_known = false;
    if (!is_fixed) {
        return;
    }
    corral_guard_found(LEFT_SEED, "mt_srand", "left random numbers that begin with a seed of its own");
    if (corral_guard_restores()) {
        *GENERATOR = before.generator;
        IS_SEEDED = before.was_seeded;
    }
}

void corral_guard_seed_forget(void)
{
    before.is_known = false;
}
