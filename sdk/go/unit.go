// Package unit runs applications of NGINX Unit on Corral: its one function takes the place of http.ListenAndServe.
package unit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
)

// The socket that is handed over, as sd_listen_fds has it.
const (
	descriptor     = 3
	descriptorName = "http"
)

var isTaken atomic.Bool

// ListenAndServe serves the requests that Corral gives to this process, whatever addr says, and returns nil when Corral
// has said that it is over. Without Corral, and for a second server, it is http.ListenAndServe.
func ListenAndServe(addr string, handler http.Handler) error {
	if !isHandedOver() || isTaken.Swap(true) {
		return http.ListenAndServe(addr, handler)
	}
	listener, err := inheritedListener()
	if err != nil {
		return err
	}
	if handler == nil {
		handler = http.DefaultServeMux
	}
	return serve(listener, &http.Server{Handler: introduce(handler)})
}

func isHandedOver() bool {
	return os.Getenv("LISTEN_FDS") == "1" &&
		os.Getenv("LISTEN_FDNAMES") == descriptorName &&
		os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid())
}

func inheritedListener() (net.Listener, error) {
	file := os.NewFile(descriptor, descriptorName)
	// The listener has a descriptor of its own.
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("unit: use descriptor %d: %w", descriptor, err)
	}
	return listener, nil
}

// Serves until SIGTERM, which comes when there are no more requests, and then waits for those that there are all the same.
func serve(listener net.Listener, server *http.Server) error {
	over, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-over.Done():
		return server.Shutdown(context.Background())
	}
}
