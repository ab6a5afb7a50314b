package unit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// The type of a response when the handler does not say: net/http would guess.
const defaultType = "text/html; charset=utf-8"

// A response with Unit's default type. Everything else is net/http's.
type response struct {
	http.ResponseWriter
	hasHead bool
	// The body that it answers; nil without one.
	request *body
}

func (r *response) WriteHeader(status int) {
	isFinal := status >= 200 || status == http.StatusSwitchingProtocols
	if isFinal && !r.hasHead {
		r.hasHead = true
		mayHaveBody := status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
		if _, hasType := r.Header()["Content-Type"]; mayHaveBody && !hasType {
			r.Header().Set("Content-Type", defaultType)
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) begin() {
	if !r.hasHead {
		r.WriteHeader(http.StatusOK)
	}
}

func (r *response) Write(data []byte) (int, error) {
	r.begin()
	return r.ResponseWriter.Write(data)
}

func (r *response) WriteString(text string) (int, error) {
	r.begin()
	return io.WriteString(r.ResponseWriter, text)
}

func (r *response) ReadFrom(source io.Reader) (int64, error) {
	r.begin()
	return io.Copy(r.ResponseWriter, source)
}

func (r *response) Flush() {
	r.begin()
	if flusher, ok := r.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, ok := r.ResponseWriter.(http.Hijacker); ok {
		return hijacker.Hijack()
	}
	return nil, nil, http.ErrNotSupported
}

// EnableFullDuplex is for http.ResponseController, of Go 1.21 and newer.
func (r *response) EnableFullDuplex() error {
	if r.request != nil {
		r.request.isStream = true
	}
	if duplex, ok := r.ResponseWriter.(interface{ EnableFullDuplex() error }); ok {
		return duplex.EnableFullDuplex()
	}
	return http.ErrNotSupported
}

// CloseNotify is what older handlers ask for.
func (r *response) CloseNotify() <-chan bool {
	if notifier, ok := r.ResponseWriter.(http.CloseNotifier); ok {
		return notifier.CloseNotify()
	}
	return make(chan bool)
}

// Unwrap is what http.ResponseController asks for.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
