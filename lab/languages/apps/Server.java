// The contest's application in Java, with the server of the JDK, which serves on ports only.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

public class Server {
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] JSON =
        ("{\"text\":\"" + "x".repeat(16384 - 11) + "\"}").getBytes(StandardCharsets.US_ASCII);

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 4096);
        server.createContext("/hello", exchange -> answer(exchange, HELLO, "text/plain"));
        server.createContext("/json", exchange -> answer(exchange, JSON, "application/json"));
        server.createContext("/length", exchange -> answer(exchange, length(exchange), "text/plain"));
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }

    private static byte[] length(HttpExchange exchange) throws IOException {
        byte[] piece = new byte[65536];
        long total = 0;
        InputStream body = exchange.getRequestBody();
        for (int n = body.read(piece); n >= 0; n = body.read(piece)) {
            total += n;
        }
        return Long.toString(total).getBytes(StandardCharsets.US_ASCII);
    }

    private static void answer(HttpExchange exchange, byte[] body, String kind) throws IOException {
        exchange.getRequestBody().readAllBytes();
        exchange.getResponseHeaders().set("Content-Type", kind);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
