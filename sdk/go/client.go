package unit

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
)

// The client's address as Corral gives it, in a header that no client can send:
// Corral-Client: for="192.0.2.1:49152";by="192.0.2.9:443";proto=https
const clientField = "Corral-Client"

// Clients that come by a Unix socket.
const unixClient = "unix:"

// Has the handler see the client where net/http has the peer, which is Corral, and the request as Unit's package has it.
func introduce(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if said := r.Header.Get(clientField); said != "" {
			r.Header.Del(clientField)
			client, isSecure := parseClient(said)
			r.RemoteAddr = client
			if isSecure {
				r.TLS = &tls.ConnectionState{HandshakeComplete: true}
			}
		}
		// net/http moves it to a member of its own.
		if r.Host != "" {
			r.Header["Host"] = []string{r.Host}
		}
		handler.ServeHTTP(&response{ResponseWriter: w, request: wholeBody(r)}, r)
	})
}

// The address as net/http has it, and whether the client speaks TLS. Port 0 stands for one that was not named.
func parseClient(said string) (address string, isSecure bool) {
	address = unixClient
	for _, pair := range strings.Split(said, ";") {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "for" && strings.HasPrefix(value, `"`):
			address = strings.Trim(value, `"`)
			if _, err := netip.ParseAddrPort(address); err != nil {
				address += ":0"
			}
		case name == "proto":
			isSecure = value == "https"
		}
	}
	return address, isSecure
}
