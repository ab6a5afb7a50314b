def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"ben: {environ['PATH_INFO']}\n".encode()]
