// The contest's application in Go, wherever it is told to serve.
package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

var text = []byte(`{"text":"` + strings.Repeat("x", 16384-11) + `"}`)

func answer(w http.ResponseWriter, body []byte, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/hello":
		answer(w, []byte("Hello, World!"), "text/plain")
	case "/json":
		answer(w, text, "application/json")
	default:
		n, _ := io.Copy(io.Discard, r.Body)
		answer(w, []byte(strconv.FormatInt(n, 10)), "text/plain")
	}
}

func listener() (net.Listener, error) {
	if os.Getenv("LISTEN_FDS") != "" {
		return net.FileListener(os.NewFile(3, "http"))
	}
	if path := os.Getenv("SOCKET_PATH"); path != "" {
		return net.Listen("unix", path)
	}
	return net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
}

func main() {
	listener, err := listener()
	if err != nil {
		panic(err)
	}
	panic(http.Serve(listener, http.HandlerFunc(serve)))
}
