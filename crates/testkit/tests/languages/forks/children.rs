//! Descriptors that children of an application hold, and the ways in which languages start them other than by fork(2).

use corral_testkit::{Site, eventually};
use serde_json::{Value, json};

use super::serve;

/// Asks for each path and expects this answer, each time from the same process.
fn check(file: &str, text: &str, answers: &[(&str, &str)], app: impl FnOnce(&Site) -> Value) {
    let (server, _site) = serve(file, text, app);
    let pid = server.get("/pid").expect(200).text();
    for _ in 0..2 {
        for (path, answer) in answers {
            server.get(path).expect(200).expect_body(*answer);
        }
    }
    server.get("/pid").expect(200).expect_body(pid);
    assert!(!server.log().contains("channel is damaged"), "{}", server.log());
}

/// `shared()` says how much a child has in common with its parent besides its standard streams, `killed()` how children
/// end that are told to in the moment of their birth.
const PYTHON: &str = r#"
import multiprocessing, os, signal, subprocess, sys, time

def held():
    numbers = [name for name in os.listdir('/proc/self/fd') if int(name) > 2]
    links = {os.readlink(f'/proc/self/fd/{name}') for name in numbers if os.path.lexists(f'/proc/self/fd/{name}')}
    maps = {line.split()[-1] for line in open('/proc/self/maps') if ' rw-s ' in line}
    return {link for link in links | maps if link.startswith(('socket:', '/memfd:', '/dev/zero'))}

def status(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def shared():
    before = held()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, b'%d' % len(before & held()))
        os._exit(0)
    os.close(writes)
    found = os.read(reads, 65536).decode()
    os.close(reads)
    return f'{status(child)} {found}'

def spawned():
    code = 'import os; print(sorted(int(n) for n in os.listdir("/proc/self/fd")))'
    ran = subprocess.run(['/usr/bin/python3', '-c', code], stdout=subprocess.PIPE, close_fds=False)
    child = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 5'], os.environ)
    return f'{ran.stdout.decode().strip()} {status(child)}'

def killed():
    statuses = set()
    for _ in range(50):
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
        os.kill(child, signal.SIGTERM)
        statuses.add(status(child))
    return str(statuses)

def work(queue):
    queue.put('worked')
    sys.exit(6)

def several(how):
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    said = queue.get(timeout=50)
    process.join()
    with context.Pool(2) as pool:
        numbers = pool.map(abs, [-1, -2])
    return f'{said} {process.exitcode} {numbers}'

def answer(path):
    ways = {'/pid': lambda: str(os.getpid()), '/shared': shared, '/spawned': spawned, '/killed': killed}
    return (ways.get(path) or (lambda: several(path[1:])))().encode()
"#;

const WSGI: &str = "
def application(environ, start_response):
    body = answer(environ['PATH_INFO'])
    start_response('200 OK', [])
    return [body]
";

const ASGI: &str = "
async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        raise RuntimeError
    body = answer(scope['path'])
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': body})
";

fn check_python(text: &str, shared: &str) {
    let answers = [
        ("/shared", shared),
        ("/spawned", "[0, 1, 2, 3] 5"),
        ("/killed", "{-15}"),
        ("/fork", "worked 6 [1, 2]"),
        ("/spawn", "worked 6 [1, 2]"),
    ];
    check(
        "wsgi.py",
        &format!("{PYTHON}{text}"),
        &answers,
        |site| json!({ "type": "python", "path": site.root(), "module": "wsgi" }),
    );
}

#[test]
fn wsgi() {
    check_python(WSGI, "0 0");
}

#[test]
fn asgi() {
    // A loop of asyncio wakes itself through two sockets.
    check_python(ASGI, "0 2");
}

/// The hook is called before those of the worker, as if the signal had come right behind the fork.
const SIGNALLED: &str = "
import os, signal

os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGTERM))

def forked():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

def answer(path):
    return (str(os.getpid()) if path == '/pid' else forked()).encode()
";

#[test]
fn a_signal_to_a_child_that_has_just_been_forked_ends_it_alone() {
    let app = |site: &Site| json!({ "type": "python", "path": site.root(), "module": "wsgi" });
    check("wsgi.py", &format!("{SIGNALLED}{ASGI}"), &[("/", "-15")], app);
}

const RUBY: &str = r##"
require 'open3'

def held
  numbers = Dir.children('/proc/self/fd').select { |name| name.to_i > 2 }
  links = numbers.filter_map { |name| File.readlink("/proc/self/fd/#{name}") rescue nil }
  maps = File.readlines('/proc/self/maps').grep(/ rw-s /).map { |line| line.split.last }
  (links + maps).grep(%r{\A(socket:|/memfd:|/dev/zero)})
end

def shared
  before = held
  IO.pipe do |reads, writes|
    child = fork { writes.write((before & held).join(' '), '.') }
    writes.close
    found = reads.read
    "#{Process.wait2(child)[1].exitstatus} #{found}"
  end
end

def daemon
  IO.pipe do |reads, writes|
    child = fork do
      Process.daemon(true, true)
      writes.write('daemon')
    end
    Process.wait(child)
    writes.close
    reads.read
  end
end

def killed
  signals = 50.times.map do
    child = fork { sleep 60 }
    Process.kill(:TERM, child)
    Process.wait2(child)[1].termsig
  end
  signals.uniq.join(' ')
end

run lambda { |env|
  text = case env['PATH_INFO']
         when '/pid' then Process.pid.to_s
         when '/shared' then shared
         when '/daemon' then daemon
         when '/killed' then killed
         when '/spawned' then Open3.capture2('sh', '-c', 'echo $0; exit 5').then { |out, status| "#{out.strip} #{status.exitstatus}" }
         end
  [200, {}, [text]]
}
"##;

#[test]
fn ruby() {
    let answers = [("/shared", "0 ."), ("/daemon", "daemon"), ("/killed", "15"), ("/spawned", "sh 5")];
    check("config.ru", RUBY, &answers, |site| json!({ "type": "ruby", "script": site.path("config.ru") }));
}

/// The worker itself goes, as its program says; what goes on in its place ends with the request, and another worker
/// serves.
#[test]
fn a_worker_of_ruby_that_becomes_a_daemon() {
    let text = "
run lambda { |env|
  if env['PATH_INFO'] == '/daemon'
    Process.daemon(true, true)
    at_exit { puts 'the daemon ends' }
  end
  [200, {}, ['served']]
}";
    let (server, _site) =
        serve("config.ru", text, |site| json!({ "type": "ruby", "script": site.path("config.ru") }));
    for n in 1..=2 {
        server.get("/daemon").expect(503);
        let has_ended = || (server.log().matches("the daemon ends").count() == n).then_some(());
        eventually("what goes on has ended", has_ended);
        server.get("/").expect(200).expect_body("served");
    }
}

const PERL: &str = r#"
sub held {
    opendir my $folder, '/proc/self/fd';
    my @links = map { readlink("/proc/self/fd/$_") // () } grep { /^\d+$/ && $_ > 2 } readdir $folder;
    open my $maps, '<', '/proc/self/maps';
    push @links, map { (split)[-1] } grep { / rw-s / } <$maps>;
    return grep { m{^(?:socket:|/memfd:|/dev/zero)} } @links;
}
my %ways = (
    '/pid' => sub { $$ },
    '/shared' => sub {
        my %before = map { $_ => 1 } held();
        my $child = open(my $reads, '-|');
        if (!$child) {
            syswrite STDOUT, join(' ', grep { $before{$_} } held()) . '.';
            exit 0;
        }
        my $found = <$reads>;
        close $reads;
        return "$? $found";
    },
    '/killed' => sub {
        my %signals;
        for (1..50) {
            my $child = fork;
            if (!$child) { sleep 60; exit 0 }
            kill 'TERM', $child;
            waitpid $child, 0;
            $signals{$? & 127} = 1;
        }
        return join ' ', keys %signals;
    },
    '/spawned' => sub { my $out = `echo sh; exit 5`; chomp $out; return "$out " . ($? >> 8) },
);
sub { return [200, [], [$ways{$_[0]{PATH_INFO}}->()]] }
"#;

#[test]
fn perl() {
    let answers = [("/shared", "0 ."), ("/killed", "15"), ("/spawned", "sh 5")];
    check("app.psgi", PERL, &answers, |site| json!({ "type": "perl", "script": site.path("app.psgi") }));
}

const PHP: &str = r#"<?php
function held() {
    $links = [];
    foreach (scandir('/proc/self/fd') as $name) {
        if ($name > 2) $links[] = @readlink("/proc/self/fd/$name");
    }
    foreach (file('/proc/self/maps') as $line) {
        if (str_contains($line, ' rw-s ')) $links[] = preg_split('/\s+/', trim($line))[5] ?? '';
    }
    // Locks of opcache, and what workers have remarked, are for all processes of an application.
    return preg_grep('#^(socket:|/memfd:(?!opcache_lock|said))#', $links);
}
function shared() {
    $before = held();
    [$reads, $writes] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        fwrite($writes, implode(' ', array_intersect($before, held())) . '.');
        exit(0);
    }
    pcntl_waitpid($child, $status);
    return $status . ' ' . fread($reads, 65536);
}
function killed() {
    $signals = [];
    for ($n = 0; $n < 50; $n++) {
        $child = pcntl_fork();
        if ($child === 0) { sleep(60); exit(0); }
        posix_kill($child, SIGTERM);
        pcntl_waitpid($child, $status);
        $signals[pcntl_wtermsig($status)] = true;
    }
    return implode(' ', array_keys($signals));
}
function spawned() {
    exec('echo sh; exit 5', $lines, $status);
    return "$lines[0] $status";
}
function answer() {
    echo match ($_SERVER['REQUEST_URI']) {
        '/pid' => getmypid(), '/shared' => shared(), '/killed' => killed(), '/spawned' => spawned(),
    };
}
"#;

fn check_php(text: &str, app: impl FnOnce(&Site) -> Value) {
    let answers = [("/shared", "0 ."), ("/killed", "15"), ("/spawned", "sh 5")];
    check("index.php", &format!("{PHP}{text}"), &answers, app);
}

#[test]
fn php() {
    let app = |site: &Site| json!({ "type": "php", "root": site.root(), "script": "index.php" });
    check_php("answer();", app);
}

#[test]
fn php_that_stays_in_memory() {
    let app =
        |site: &Site| json!({ "type": "php", "root": site.root(), "worker": { "script": "index.php" } });
    check_php("while (corral_handle_request('answer'));", app);
}
