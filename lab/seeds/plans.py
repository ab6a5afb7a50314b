"""The two plans: which cells are worth their time.

Not each combination is. Every server has each of its workloads at one level. Six levels of clients, the tools of the
articles, transports, and all five rounds are for the servers that tell most; the others have three rounds.
"""

from dataclasses import replace

from .plan import HOUR, USUAL, Column, Extra, Offer, Plan
from .records import Cell

LEVELS = (10, 50, 100, 200, 500, 1000)
# Where one request takes a tenth of a second or more, others would only wait.
FEW, UPLOADERS = 10, 4

# One of each way to run PHP. Servers that are only there because a variable names them are among these if time allows.
TELLING = ("corral-php", "corral-worker", "corral-fpm", "apache-prefork-mod_php", "apache-event-fpm", "nginx-fpm-socket")
USUAL_FAMILIES = ("corral", "apache", "nginx", "caddy", "varnish")
ARTICLES_TOOLS = ("ab", "siege", "wrk")
# Servers that lab.owners can set up with a user for each site.
WITH_OWNERS = ("corral-php", "nginx-fpm-socket", "apache-itk-mod_php")


def full(offers: list[Offer], ramp_seconds: dict[str, float]) -> Plan:
    """Three hours at most: the plan aims at less, as machines differ."""
    return _fitted([_full(each, ramp_seconds, seconds) for each in _poorer(offers) for seconds in (3.0, 2.0, 1.5, 1.0)], 2.5 * HOUR)


def _full(offers: list[Offer], ramp_seconds: dict[str, float], seconds: float) -> Plan:
    columns = [
        *_every_workload(is_for_all=True),
        *(Column(work, clients) for work in ("echoes", "mysql", "phpinfo") for clients in LEVELS if clients != USUAL),
        *(Column("echoes", clients, tool, "close") for tool in ARTICLES_TOOLS for clients in (USUAL, 1000)),
        *(Column(work, transport=how) for work in ("file-1k", "echoes") for how in ("close", "tls", "h2")),
    ]
    ramps = [("laravel", "standard"), ("laravel", "stress"), ("mysql", "standard"), ("mysql", "stress")]
    extras = [*_ramps(offers, ramps), *_others(offers)]
    others = frozenset(offer.server for offer in offers if not offer.is_telling)
    n_candidates = sum(offer.n_candidates for offer in offers)
    return Plan("full", 5, seconds, _measured(columns, offers), extras, others, n_candidates, ramp_seconds)


def quick(offers: list[Offer], ramp_seconds: dict[str, float]) -> Plan:
    """Twenty minutes: three rounds, the telling servers, the others on one workload."""
    return _fitted([_quick(each, ramp_seconds, seconds) for each in _poorer(offers) for seconds in (2.0, 1.0)], 18 * 60)


def _quick(offers: list[Offer], ramp_seconds: dict[str, float], seconds: float) -> Plan:
    columns = [
        Column("echoes", is_for_all=True),
        *(Column(work) for work in ("phpinfo", "mysql", "laravel", "file-1k", "upload-64k")),
        Column("wordpress", FEW),
        *(Column("echoes", clients) for clients in (10, 1000)),
        *(Column("echoes", USUAL, tool, "close") for tool in ARTICLES_TOOLS),
        Column("file-1k", transport="h2"),
    ]
    few = [offer for offer in offers if offer.server in ("corral-php", "nginx-fpm-socket")]
    extras = [*_ramps(few, [("laravel", "stress")]), *(Extra("slow", offer.server) for offer in few)]
    return Plan("quick", 3, seconds, _measured(columns, offers), extras, ramp_seconds=ramp_seconds)


def _poorer(offers: list[Offer]) -> list[list[Offer]]:
    """The offers, and again with fewer telling servers, for where there is no time for more."""
    few = [replace(offer, is_telling=offer.is_telling and offer.server in TELLING) for offer in offers]
    return [offers, few]


def _fitted(plans: list[Plan], target: float) -> Plan:
    """The richest plan that fits into the target."""
    return next((plan for plan in plans if plan.time <= target), plans[-1])


def _every_workload(*, is_for_all: bool) -> list[Column]:
    usual = ("phpinfo", "echoes", "sort", "mysql", "mysql-persistent", "laravel", "lumen", "file-1k", "file-100k", "upload-64k")
    clients = dict.fromkeys(usual, USUAL) | {"wordpress": FEW, "wordpress-rest": FEW, "upload-60m": UPLOADERS}
    return [Column(work, number, is_for_all=is_for_all) for work, number in clients.items()]


def _measured(columns: list[Column], offers: list[Offer]) -> list[list[Cell]]:
    return list(filter(None, (column.cells(offers) for column in columns)))


def _ramps(offers: list[Offer], ramps: list[tuple[str, str]]) -> list[Extra]:
    return [
        Extra("ramp", offer.server, workload, profile)
        for workload, profile in ramps
        for offer in offers
        if offer.is_telling and workload in offer.serves
    ]


def _others(offers: list[Offer]) -> list[Extra]:
    telling = [offer for offer in offers if offer.is_telling]
    slow = [Extra("slow", offer.server) for offer in telling if "echoes" in offer.serves]
    idle = [Extra("idle", offer.server) for offer in telling if "file-1k" in offer.serves]
    sites = [Extra("sites", offer.server) for offer in offers if offer.server in WITH_OWNERS]
    return [*slow, *idle, *sites]


PLANS = {"full": full, "quick": quick}
