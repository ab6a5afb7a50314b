module unit.nginx.org/go

go 1.19
