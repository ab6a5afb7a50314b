package unit

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The test's executable is the application, too.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_APPLICATION") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("LISTEN_PID") == "own" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %v %q", r.RemoteAddr, r.TLS != nil, r.Header["Corral-Client"])
	})
	if err := ListenAndServe(os.Getenv("TEST_ADDRESS"), nil); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("over")
}

// Starts the application with a listening socket as descriptor 3.
func start(t *testing.T, path string, pid string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	listener.SetUnlinkOnClose(false)
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var said strings.Builder
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "TEST_APPLICATION=1", "TEST_ADDRESS=256.0.0.1:1", "LISTEN_FDS=1", "LISTEN_FDNAMES=http", "LISTEN_PID="+pid)
	command.ExtraFiles = []*os.File{file}
	command.Stdout = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill() })
	return command, &said
}

func clientOf(path string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

func get(t *testing.T, client *http.Client, said string) (body, contentType string) {
	t.Helper()
	request, _ := http.NewRequest("GET", "http://localhost/", nil)
	if said != "" {
		request.Header.Set("Corral-Client", said)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), answer.Header.Get("Content-Type")
}

func TestItServesOnDescriptor3AndKnowsTheClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http")
	command, said := start(t, path, "own")
	client := clientOf(path)
	for field, expected := range map[string]string{
		`for="192.0.2.1:49152";by="192.0.2.9:443";proto=https`: `192.0.2.1:49152 true []`,
		`for="192.0.2.1";by="192.0.2.9:443";proto=https`:       `192.0.2.1:0 true []`,
		`for="[2001:db8::1]:9";by=_unix;proto=http`:            `[2001:db8::1]:9 false []`,
		`for="[2001:db8::1]";by="[2001:db8::2]:80";proto=http`: `[2001:db8::1]:0 false []`,
		`for=_unix;by=_unix;proto=http`:                        `unix: false []`,
		``:                                                     `@ false []`,
	} {
		body, contentType := get(t, client, field)
		if body != expected || contentType != "text/html; charset=utf-8" {
			t.Errorf("%s: %q of type %q", field, body, contentType)
		}
	}
	command.Process.Signal(syscall.SIGTERM)
	if err := command.Wait(); err != nil || said.String() != "over\n" {
		t.Errorf("%v: %s", err, said)
	}
}

func TestASocketForAnotherProcessIsLeftAlone(t *testing.T) {
	command, said := start(t, filepath.Join(t.TempDir(), "http"), "1")
	if err := command.Wait(); err == nil || !strings.Contains(said.String(), "256.0.0.1") {
		t.Errorf("it does not listen where it was told: %v: %s", err, said)
	}
}

func TestTypesAreThoseOfTheHandler(t *testing.T) {
	for name, check := range map[string]struct {
		handler  http.HandlerFunc
		expected string
	}{
		"own": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, "a{}")
		}, "text/css"},
		"default": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); io.WriteString(w, "{}") }, defaultType},
		"none":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, ""},
		"flushed": {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); io.WriteString(w, "{}") }, defaultType},
		"copied":  {func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, strings.NewReader("{}")) }, defaultType},
	} {
		recorder := httptest.NewRecorder()
		introduce(check.handler).ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
		if found := recorder.Result().Header.Get("Content-Type"); found != check.expected {
			t.Errorf("%s: %q", name, found)
		}
	}
}
