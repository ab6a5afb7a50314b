// The suite's application for servlets: README.md says what is at which path. Echo.java has the WebSocket.
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

@WebServlet("/")
public class Suite extends HttpServlet {
    private static final ThreadLocal<Integer> KEPT = ThreadLocal.withInitial(() -> 0);

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String argument = request.getQueryString() == null ? "" : request.getQueryString();
        OutputStream out = response.getOutputStream();
        switch (request.getRequestURI()) {
            case "/request", "/a%20b/%C3%BC" -> say(out, told(request, argument));
            case "/echo" -> out.write(request.getInputStream().readAllBytes());
            case "/length" -> say(out, request.getInputStream().readAllBytes().length);
            case "/ignored" -> say(out, "ignored");
            case "/large" -> large(out, Integer.parseInt(argument));
            case "/status" -> status(response, Integer.parseInt(argument));
            case "/fields" -> fields(response);
            case "/many" -> many(response, Integer.parseInt(argument));
            case "/stream" -> stream(response);
            case "/fail" -> throw new IllegalStateException("failed on purpose");
            case "/fail-late" -> {
                say(out, "begun");
                response.flushBuffer();
                throw new IllegalStateException("failed too late");
            }
            case "/die" -> die();
            case "/endless" -> endless(out);
            case "/meet" -> meet(out, Integer.parseInt(argument));
            case "/slow" -> {
                pause(Integer.parseInt(argument));
                say(out, pid());
            }
            case "/compute" -> compute(out);
            case "/kept" -> {
                KEPT.set(KEPT.get() + 1);
                say(out, KEPT.get());
            }
            case "/pid" -> say(out, pid());
            case "/cwd" -> say(out, Path.of("").toAbsolutePath());
            case "/environment" -> say(out, System.getenv().getOrDefault(argument, ""));
            case "/user" -> say(out, number("unix:uid") + " " + number("unix:gid"));
            case "/log" -> {
                System.out.println("said to standard output");
                System.err.println("said to standard error");
            }
            default -> response.setStatus(404);
        }
    }

    private static void say(OutputStream out, Object text) throws IOException {
        out.write(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    private static String pid() {
        return Long.toString(ProcessHandle.current().pid());
    }

    /** Waits for its end: a response that is sent before the signal arrives would count. */
    private static void die() throws IOException {
        new ProcessBuilder("kill", "-KILL", pid()).start().onExit().join();
    }

    private static Object number(String attribute) throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), attribute);
    }

    private static String told(HttpServletRequest request, String query) {
        String target = request.getRequestURI() + (request.getQueryString() == null ? "" : "?" + query);
        String headers = Collections.list(request.getHeaderNames()).stream()
            .map(name -> json(name.toLowerCase()) + ": " + json(joined(request, name)))
            .collect(Collectors.joining(", ", "{", "}"));
        return "{\"method\": " + json(request.getMethod()) + ", \"target\": " + json(target)
            + ", \"path\": " + json(request.getServletPath()) + ", \"query\": " + json(query)
            + ", \"scheme\": " + json(request.getScheme()) + ", \"client\": " + json(request.getRemoteAddr())
            + ", \"port\": " + request.getRemotePort() + ", \"headers\": " + headers + "}";
    }

    private static String joined(HttpServletRequest request, String name) {
        String separator = name.equalsIgnoreCase("cookie") ? "; " : ", ";
        return String.join(separator, Collections.list(request.getHeaders(name)));
    }

    private static String json(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static void large(OutputStream out, int n) throws IOException {
        byte[] block = new byte[25100];
        for (int i = 0; i < block.length; i++) {
            block[i] = (byte) (i % 251);
        }
        for (int i = 0; i < n; i++) {
            out.write(block);
        }
    }

    private static void status(HttpServletResponse response, int status) throws IOException {
        response.setStatus(status);
        say(response.getOutputStream(), "status " + status);
    }

    private static void fields(HttpServletResponse response) throws IOException {
        response.addHeader("X-Twice", "1");
        response.addHeader("X-Twice", "2");
        response.addHeader("Set-Cookie", "a=1");
        response.addHeader("Set-Cookie", "b=2");
        response.addHeader("X-Empty", "");
        say(response.getOutputStream(), "fields");
    }

    private static void many(HttpServletResponse response, int n) throws IOException {
        for (int i = 1; i <= n; i++) {
            response.setHeader("X-Field-" + i, "value " + i);
        }
        say(response.getOutputStream(), "many");
    }

    private static void stream(HttpServletResponse response) throws IOException {
        say(response.getOutputStream(), "first");
        response.flushBuffer();
        waitFor(() -> Files.exists(Path.of("go")));
        say(response.getOutputStream(), "second");
    }

    private static void endless(OutputStream out) {
        byte[] piece = "x".repeat(65536).getBytes(StandardCharsets.US_ASCII);
        try {
            while (true) {
                out.write(piece);
            }
        } catch (IOException gone) {
            System.err.println("the client is gone");
        }
    }

    private static void meet(OutputStream out, int n) throws IOException {
        Files.createFile(Path.of("meet", UUID.randomUUID().toString()));
        waitFor(() -> Path.of("meet").toFile().list().length >= n);
        say(out, pid());
    }

    private static void compute(OutputStream out) throws IOException {
        while (!Files.exists(Path.of("go"))) {
            Thread.onSpinWait();
        }
        say(out, pid());
    }

    private static void waitFor(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            pause(5);
        }
    }

    private static void pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
    }
}
