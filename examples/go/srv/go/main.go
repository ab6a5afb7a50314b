package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	listener, err := net.FileListener(os.NewFile(3, "http"))
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello", r.Header.Get("X-Forwarded-For"))
	})
	server := &http.Server{}
	go server.Serve(listener)
	ended, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	<-ended.Done()
	server.Shutdown(context.Background())
}
