import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

/** A stand-in for an application of Spring Boot: reads the variables that Spring Boot reads. */
public class Shop {
    public static void main(String[] arguments) throws Exception {
        var address = new InetSocketAddress(System.getenv("SERVER_ADDRESS"), Integer.parseInt(System.getenv("SERVER_PORT")));
        var server = HttpServer.create(address, 0);
        server.createContext("/", exchange -> {
            var client = exchange.getRequestHeaders().getFirst("X-Forwarded-For");
            var body = ("shop " + exchange.getRequestURI() + " for " + client + "\n").getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
