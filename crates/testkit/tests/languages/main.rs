//! One suite for all languages: what an application is told, what it can answer, and what becomes of both when
//! something goes wrong. Each test is one behaviour of one runtime: `RUNTIME::AREA::BEHAVIOUR`.
//!
//! `runtimes.rs` has a row for each runtime, and `apps/README.md` says what an application of the suite does.
//!
//! A further runtime takes an application in one file of `apps`, a function in `runtimes.rs`, and its name in the list
//! below, with the behaviours that its interface does not permit among its `exceptions`. A further behaviour takes a
//! function, its name in the list, and a page in each application.

mod at_once;
mod bodies;
mod clients;
mod failures;
mod files;
mod forks;
mod framing;
mod leaving;
mod params;
mod processes;
mod requests;
mod responses;
mod runtime;
mod runtimes;
mod websockets;

/// Makes a module of each runtime with a test for each behaviour, which is a function of that name in that area. Those
/// of HTTP/1 alone stand in a module of their own, which the profile `http2` leaves out.
macro_rules! suite {
    (runtimes: $($runtime:ident)*; $behaviours:tt) => {
        $(suite!(@runtime $runtime $behaviours);)*

        #[test]
        fn exceptions_name_behaviours() {
            let behaviours = suite!(@names $behaviours);
            for runtime in [$(runtimes::$runtime()),*] {
                for (name, _) in runtime.exceptions {
                    assert!(behaviours.contains(name), "{name} of {}", runtime.file);
                }
            }
        }
    };
    (@runtime $runtime:ident { $($area:ident: $($behaviour:ident)* $(, http1_only: $($only:ident)*)?;)* }) => {
        mod $runtime {
            $(mod $area {
                $(suite!(@test $runtime $area $behaviour);)*
                $(mod http1_only {
                    $(suite!(@test $runtime $area $only);)*
                })?
            })*
        }
    };
    (@test $runtime:ident $area:ident $behaviour:ident) => {
        #[test]
        fn $behaviour() {
            let runtime = crate::runtimes::$runtime();
            if runtime.permits(stringify!($area), stringify!($behaviour)) {
                crate::$area::$behaviour(&runtime);
            }
        }
    };
    (@names { $($area:ident: $($behaviour:ident)* $(, http1_only: $($only:ident)*)?;)* }) => {
        [$($(stringify!($behaviour),)* $($(stringify!($only),)*)?)*]
    };
}

suite! {
    runtimes: asgi asgi_threads go go_unit java node node_unit perl php python ruby wasm;
    {
        requests:
            methods made_up_methods target decoded_path headers repeated_headers many_headers host
            addresses ports forwarded_address forwarded_scheme tls trace;
        bodies:
            sizes_both_ways chunked ignored after_large_ones none;
        responses:
            fields many_fields statuses without_a_body head streaming large,
            http1_only: early_hints close_delimited;
        framing:
            taken_apart broken, http1_only: for_others;
        failures:
            before_the_head killed log_level, http1_only: after_the_head;
        clients:
            gone slow left_while_waiting half_closed, http1_only: run_without_clients gone_from_nothing;
        files:
            of_all_sizes for_slow_clients removed_meanwhile truncated_meanwhile process_killed_meanwhile
            restarted_meanwhile again_and_again;
        processes:
            environment working_directory user output several one_by_one restart_under_load;
        at_once:
            in_one_process queue own_variables computing_beside_others long_beside_others
            failures_beside_others gone_beside_others limit_of_requests stop;
        websockets:
            echo fragments ping close large_messages;
    }
}
