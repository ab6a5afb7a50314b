"""A stand-in for Streamlit: serves HTTP and echoes WebSockets where the command line says."""

import base64
import hashlib
import http.server
import sys

options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv if "=" in word)


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        key = self.headers.get("Sec-WebSocket-Key")
        if key:
            return self.web_socket(key)
        body = f"streamlit {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def web_socket(self, key):
        accepted = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accepted).decode())
        self.end_headers()
        length = self.rfile.read(2)[1] & 127
        mask = self.rfile.read(4)
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))
        self.wfile.write(bytes([0x81, length]) + text)
        self.close_connection = True


http.server.ThreadingHTTPServer((options["server.address"], int(options["server.port"])), Page).serve_forever()
