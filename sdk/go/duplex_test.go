//go:build go1.21

package unit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

func TestWhoAnswersWhileItReadsGetsABodyAsItComes(t *testing.T) {
	server := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		piece := make([]byte, 100)
		for {
			n, err := r.Body.Read(piece)
			w.Write(piece[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				return
			}
		}
	})
	client, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf")
	answer, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4)
	for _, expected := range []string{"half", "rest"} {
		if _, err := io.ReadFull(answer.Body, piece); err != nil || string(piece) != expected {
			t.Fatalf("%q: %v", piece, err)
		}
		io.WriteString(client, "rest")
	}
}
