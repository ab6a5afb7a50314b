package main

import (
	"net/http"

	"unit.nginx.org/go"
)

// By the module that takes the place of NGINX Unit's.
func main() {
	if err := unit.ListenAndServe(":8080", http.HandlerFunc(serve)); err != nil {
		panic(err)
	}
}
