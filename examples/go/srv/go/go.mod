module example.org/server

go 1.19
