package unit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Answers with what one Read of a large buffer gives.
func readOnce(w http.ResponseWriter, r *http.Request) {
	n, err := r.Body.Read(make([]byte, 100_000))
	fmt.Fprintf(w, "%d %v", n, err)
}

func serverOf(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(introduce(handler))
	t.Cleanup(server.Close)
	return server
}

func TestOneReadTakesAWholeBody(t *testing.T) {
	server := serverOf(t, readOnce)
	for size, expected := range map[int]string{1: "1 EOF", 5000: "5000 EOF", 99_999: "99999 EOF", 100_000: "100000 EOF", 200_000: "100000 <nil>"} {
		answer, err := http.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(answer.Body); string(text) != expected {
			t.Errorf("%d bytes: %s", size, text)
		}
		answer.Body.Close()
	}
}

func TestWithoutABodyThereIsNothingToRead(t *testing.T) {
	server := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := r.Body.Read(make([]byte, 10))
		fmt.Fprintf(w, "%d %v %v", n, err, r.Body == http.NoBody)
	})
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != "0 EOF true" {
		t.Errorf("%s", text)
	}
}

func TestABodyThatIsCutIsAnErrorBehindWhatHasCome(t *testing.T) {
	found := make(chan error, 1)
	server := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := r.Body.Read(make([]byte, 100))
		if n != 4 {
			err = fmt.Errorf("%d bytes, %w", n, err)
		}
		found <- err
	})
	client, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
	client.Close()
	if err := <-found; err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

func TestFieldsHaveTheHost(t *testing.T) {
	server := serverOf(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q %s", r.Header["Host"], r.Host) })
	request, _ := http.NewRequest("GET", server.URL, nil)
	request.Host = "example.com:81"
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != `["example.com:81"] example.com:81` {
		t.Errorf("%s", text)
	}
}

// Methods of net/http's own responses are not lost.
func TestAResponseCanDoWhatThoseOfNetHttpCan(t *testing.T) {
	server := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, isNotifier := w.(http.CloseNotifier)
		_, isStringWriter := w.(io.StringWriter)
		_, isHijacker := w.(http.Hijacker)
		_, isFlusher := w.(http.Flusher)
		_, isReader := w.(io.ReaderFrom)
		fmt.Fprint(w, isNotifier, isStringWriter, isHijacker, isFlusher, isReader)
		notified := w.(http.CloseNotifier).CloseNotify()
		select {
		case <-notified:
			t.Error(errors.New("the client is still there"))
		default:
		}
	})
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != "true true true true true" {
		t.Errorf("%s", text)
	}
}
