from flask import Flask, request

app = Flask(__name__)


@app.route("/hello/<name>")
def hello(name):
    return f"hello {name}, you are {request.remote_addr}"
