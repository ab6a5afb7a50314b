package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// On the socket that is handed over, by net/http alone.
func main() {
	listener, err := net.FileListener(os.NewFile(3, "http"))
	if err != nil {
		panic(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(serve)}
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go server.Serve(listener)
	<-asked.Done()
	server.Shutdown(context.Background())
}
