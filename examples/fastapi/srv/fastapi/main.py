from fastapi import FastAPI, WebSocket

app = FastAPI()


@app.get("/items/{number}")
async def item(number: int):
    return {"number": number}


@app.websocket("/echo")
async def echo(socket: WebSocket):
    await socket.accept()
    while True:
        await socket.send_text(await socket.receive_text())
