package unit

import (
	"io"
	"net/http"
)

// A body that is read as Unit's is, which is all there before the handler runs: one Read takes as much of it as there is
// room for, where net/http's gives what has arrived. A handler that answers while it reads gets it as it comes.
type body struct {
	io.ReadCloser
	isStream bool
}

func (b *body) Read(p []byte) (n int, err error) {
	if b.isStream {
		return b.ReadCloser.Read(p)
	}
	for n < len(p) && err == nil {
		var more int
		more, err = b.ReadCloser.Read(p[n:])
		n += more
	}
	return n, err
}

// Has the request's body read in one go; none where there is no body.
func wholeBody(r *http.Request) *body {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	whole := &body{ReadCloser: r.Body}
	r.Body = whole
	return whole
}
