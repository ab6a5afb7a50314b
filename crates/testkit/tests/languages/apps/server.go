// The suite's application in Go: README.md says what is at which path, and another file how it serves.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var block = func() []byte {
	var block []byte
	for i := 0; i < 25100; i++ {
		block = append(block, byte(i%251))
	}
	return block
}()

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func waitFor(condition func() bool) {
	for !condition() {
		time.Sleep(5 * time.Millisecond)
	}
}

// Go hands over a list.
func separator(name string) string {
	if name == "Cookie" {
		return "; "
	}
	return ", "
}

// The client as Corral names it, unless the module has told net/http.
func client(r *http.Request) (peer, scheme string) {
	said := regexp.MustCompile(`^for=([^;]+);.*proto=(\w+)$`).FindStringSubmatch(r.Header.Get("Corral-Client"))
	if said != nil {
		return strings.Trim(said[1], `"`), said[2]
	}
	if r.TLS != nil {
		return r.RemoteAddr, "https"
	}
	return r.RemoteAddr, "http"
}

// Address and port of a peer; those without a port have 0.
func parts(peer string) (address string, port int) {
	if found, err := netip.ParseAddrPort(peer); err == nil {
		return found.Addr().String(), int(found.Port())
	}
	if peer == "_unix" {
		return "unix:", 0
	}
	return strings.Trim(peer, "[]"), 0
}

func request(w http.ResponseWriter, r *http.Request, _ string) {
	headers := map[string]string{"host": r.Host}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, separator(name))
	}
	peer, scheme := client(r)
	address, port := parts(peer)
	json.NewEncoder(w).Encode(map[string]any{
		"method":  r.Method,
		"target":  r.RequestURI,
		"path":    r.URL.Path,
		"query":   r.URL.RawQuery,
		"scheme":  scheme,
		"client":  address,
		"port":    port,
		"headers": headers,
	})
}

func echo(w http.ResponseWriter, r *http.Request, _ string) {
	body, _ := io.ReadAll(r.Body)
	w.Write(body)
}

func length(w http.ResponseWriter, r *http.Request, _ string) {
	n, _ := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, n)
}

func large(w http.ResponseWriter, _ *http.Request, n string) {
	for i := 0; i < number(n); i++ {
		w.Write(block)
	}
}

func status(w http.ResponseWriter, _ *http.Request, n string) {
	w.WriteHeader(number(n))
	fmt.Fprintf(w, "status %s", n)
}

func fields(w http.ResponseWriter, _ *http.Request, _ string) {
	for _, field := range [][2]string{
		{"X-Twice", "1"}, {"X-Twice", "2"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"X-Empty", ""},
	} {
		w.Header().Add(field[0], field[1])
	}
	fmt.Fprint(w, "fields")
}

func many(w http.ResponseWriter, _ *http.Request, n string) {
	for i := 1; i <= number(n); i++ {
		w.Header().Set(fmt.Sprintf("X-Field-%d", i), fmt.Sprintf("value %d", i))
	}
	fmt.Fprint(w, "many")
}

func stream(w http.ResponseWriter, _ *http.Request, _ string) {
	fmt.Fprint(w, "first")
	w.(http.Flusher).Flush()
	waitFor(isToldToGo)
	fmt.Fprint(w, "second")
}

func isToldToGo() bool {
	_, err := os.Stat("go")
	return err == nil
}

func hints(w http.ResponseWriter, _ *http.Request, _ string) {
	w.Header().Set("Link", "</style.css>; rel=preload; as=style")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Del("Link")
	waitFor(isToldToGo)
	fmt.Fprint(w, "hints")
}

func fail(http.ResponseWriter, *http.Request, string) { panic("failed on purpose") }

func failLate(w http.ResponseWriter, _ *http.Request, _ string) {
	fmt.Fprint(w, "begun")
	w.(http.Flusher).Flush()
	panic("failed too late")
}

func die(http.ResponseWriter, *http.Request, string) { syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func endless(w http.ResponseWriter, r *http.Request, _ string) {
	piece := bytes.Repeat([]byte("x"), 65536)
	for r.Context().Err() == nil {
		w.Write(piece)
	}
	fmt.Fprintln(os.Stderr, "the client is gone")
}

func meet(w http.ResponseWriter, r *http.Request, n string) {
	file, _ := os.CreateTemp("meet", "")
	file.Close()
	waitFor(func() bool { met, _ := os.ReadDir("meet"); return len(met) >= number(n) })
	pid(w, r, "")
}

func slow(w http.ResponseWriter, r *http.Request, ms string) {
	time.Sleep(time.Duration(number(ms)) * time.Millisecond)
	pid(w, r, "")
}

func compute(w http.ResponseWriter, r *http.Request, _ string) {
	for !isToldToGo() {
	}
	pid(w, r, "")
}

func pid(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(w, os.Getpid()) }

func cwd(w http.ResponseWriter, _ *http.Request, _ string) {
	folder, _ := os.Getwd()
	fmt.Fprint(w, folder)
}

func environment(w http.ResponseWriter, _ *http.Request, name string) { fmt.Fprint(w, os.Getenv(name)) }

func user(w http.ResponseWriter, _ *http.Request, _ string) {
	fmt.Fprint(w, os.Geteuid(), " ", os.Getegid())
}

func log(http.ResponseWriter, *http.Request, string) {
	fmt.Println("said to standard output")
	fmt.Fprintln(os.Stderr, "said to standard error")
}

func ignored(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(w, "ignored") }

var pages = map[string]func(http.ResponseWriter, *http.Request, string){
	"/request": request, "/a%20b/%C3%BC": request, "/echo": echo, "/length": length, "/ignored": ignored, "/large": large,
	"/status": status, "/fields": fields, "/many": many, "/stream": stream, "/hints": hints, "/fail": fail,
	"/fail-late": failLate, "/die": die, "/endless": endless, "/meet": meet, "/slow": slow, "/compute": compute, "/pid": pid,
	"/cwd": cwd, "/environment": environment, "/user": user, "/log": log,
}

func serve(w http.ResponseWriter, r *http.Request) {
	path, argument, _ := strings.Cut(r.RequestURI, "?")
	if page, found := pages[path]; found {
		page(w, r, argument)
	} else {
		http.NotFound(w, r)
	}
}
