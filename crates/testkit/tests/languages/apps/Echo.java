// The suite's WebSocket for servlets: sends each message back.
import jakarta.websocket.OnMessage;
import jakarta.websocket.server.ServerEndpoint;
import java.nio.ByteBuffer;

@ServerEndpoint("/ws")
public class Echo {
    @OnMessage(maxMessageSize = 2_000_000)
    public String text(String message) {
        return message;
    }

    @OnMessage(maxMessageSize = 2_000_000)
    public ByteBuffer bytes(ByteBuffer message) {
        return message;
    }
}
