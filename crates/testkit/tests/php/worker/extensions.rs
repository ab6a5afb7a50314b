//! Extensions, with what they keep in a process, in both modes. Databases are real ones.

use corral_testkit::{MariaDb, Redis, site};

use super::suite::{Case, ask, check, check_in, same};

const CASES: &[Case] = &[
    same(
        "intl",
        "echo (new NumberFormatter('de_DE', NumberFormatter::DECIMAL))->format(1234.5), ' ', \
        Normalizer::normalize(\"e\\u{301}\") === \"\\u{e9}\" ? 'one' : 'two';",
        &[ask("GET", "200 1.234,5 one"), ask("GET", "200 1.234,5 one")],
    ),
    same(
        "mbstring",
        "echo mb_strtoupper($_GET['t'] ?? ''), mb_strlen('äöü'), mb_internal_encoding();",
        &[ask("GET ?t=%C3%A4", "200 Ä3UTF-8"), ask("GET", "200 3UTF-8")],
    ),
    same(
        "gd",
        "$i = imagecreatetruecolor(8, 8); imagefilledrectangle($i, 0, 0, 7, 7, 0xff0000); ob_start(); imagepng($i); \
        $png = ob_get_clean(); echo bin2hex(substr($png, 1, 3)), ' ', imagecolorat(imagecreatefromstring($png), 3, \
        3);",
        &[ask("GET", "200 504e47 16711680"), ask("GET", "200 504e47 16711680")],
    ),
    same(
        "imagick",
        "$i = new Imagick(); $i->newImage(16, 8, new ImagickPixel('blue')); $i->setImageFormat('png'); \
        $i->resizeImage(8, 4, Imagick::FILTER_LANCZOS, 1); echo $i->getImageWidth(), 'x', $i->getImageHeight(), ' ', \
        substr($i->getImageBlob(), 1, 3);",
        &[ask("GET", "200 8x4 PNG"), ask("GET", "200 8x4 PNG")],
    ),
    same(
        "curl",
        "$c = curl_init('file://' . __FILE__); curl_setopt($c, CURLOPT_RETURNTRANSFER, true); $t = curl_exec($c); \
        echo substr($t, 0, 5), curl_errno($c); curl_close($c);",
        &[ask("GET", "200 <?php0"), ask("GET", "200 <?php0")],
    ),
    same(
        "pdo_sqlite",
        "$GLOBALS['db'] ??= (function () { $db = new PDO('sqlite::memory:'); $db->exec('CREATE TABLE t (n)'); return \
        $db; })(); $db = $GLOBALS['db']; $db->beginTransaction(); $db->exec('INSERT INTO t VALUES (1)'); $n = \
        $db->query('SELECT count(*) FROM t')->fetchColumn(); $db->rollBack(); echo $n;",
        &[ask("GET", "200 1"), ask("GET", "200 1")],
    ),
    same(
        "apcu",
        "apcu_add('n', 0); echo apcu_enabled() ? 'on ' : 'off ', apcu_inc('n');",
        &[ask("GET", "200 on 1"), ask("GET", "200 on 2"), ask("GET", "200 on 3")],
    ),
    same(
        "simplexml",
        "$x = simplexml_load_string('<a><b c=\"1\">t</b></a>'); echo $x->b['c'], $x->b; \
        libxml_use_internal_errors(true); simplexml_load_string('<broken'); echo count(libxml_get_errors()); \
        libxml_clear_errors();",
        &[ask("GET", "200 1t1"), ask("GET", "200 1t1")],
    ),
    same(
        "dom",
        "$d = new DOMDocument; $d->loadHTML('<p id=x>y</p>'); echo $d->getElementById('x')->textContent;",
        &[ask("GET", "200 y"), ask("GET", "200 y")],
    ),
];

#[test]
fn extensions_work() {
    check(CASES);
}

/// The connection is made once in a worker, and for each request otherwise.
const MYSQLI: &[Case] = &[same(
    "mysqli",
    "mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT); $GLOBALS['db'] ??= new mysqli('localhost', 'corral', \
    '', 'shop', 0, trim(file_get_contents(__DIR__ . '/../socket'))); $db = $GLOBALS['db']; $db->query('INSERT INTO t \
    (n) VALUES (7)'); $s = $db->prepare('SELECT max(n) m FROM t WHERE n < ?'); $most = 10; $s->bind_param('i', \
    $most); $s->execute(); echo $s->get_result()->fetch_assoc()['m'];",
    &[ask("GET", "200 7"), ask("GET", "200 7"), ask("GET", "200 7")],
)];

#[test]
fn mysqli_works() {
    let database = MariaDb::start();
    database.execute("CREATE DATABASE shop; CREATE TABLE shop.t (n INT)");
    check_in(site().file("socket", database.socket().display().to_string()), MYSQLI);
}

const REDIS: &[Case] = &[same(
    "redis",
    "$GLOBALS['redis'] ??= (function () { $r = new Redis(); $r->connect(trim(file_get_contents(__DIR__ . \
    '/../socket'))); return $r; })(); $r = $GLOBALS['redis']; $r->set('k', $_GET['v']); $r->rPush('list', 'x'); echo \
    $r->get('k'), $r->lLen('list') > 0 ? '+' : '-'; $r->multi()->incr('a')->incr('a')->exec();",
    &[ask("GET ?v=1", "200 1+"), ask("GET ?v=2", "200 2+")],
)];

#[test]
fn redis_works() {
    let redis = Redis::start();
    check_in(site().file("socket", redis.socket()), REDIS);
}
