package corral;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;

/** Serves one web application at a socket of this machine. */
public final class WebServer {
    /** Beyond those that run requests: those that handle the messages of WebSockets. */
    private static final int FURTHER_THREADS = 16;

    /** The greatest value of Corral's own limits of heads, and more fields than most responses have. */
    private static final int LARGEST_HEAD = 64 << 10;

    /** As many parts and parameters of a form as anybody sends. */
    private static final int MOST_PARAMETERS = 10_000;

    /** Characters that clients send although they should not; Corral has seen to those that are dangerous. */
    private static final String RELAXED = "\"<>[\\]^`{|}";

    /** Limits that are Corral's. The number of fields is bounded by their size. */
    private static final List<String> UNLIMITED = List.of(
        "connectionTimeout", "keepAliveTimeout", "maxConnections", "maxHeaderCount", "maxKeepAliveRequests", "maxSwallowSize");

    private WebServer() {}

    /** Returns when the server has ended. */
    public static void serve(Path webapp, int threads, List<String> classpath) throws Exception {
        Failure failure = Failure.watch();
        Path folder = Files.createTempDirectory("corral-java-");
        Tomcat tomcat = new Tomcat();
        // Sessions and the application's listeners are told, and temporary files removed.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(tomcat, folder)));
        tomcat.setBaseDir(folder.toString());
        tomcat.setAddDefaultWebXmlToWebapp(true);
        tomcat.enableNaming();
        StandardHost host = (StandardHost) tomcat.getHost();
        host.setContextClass(WebContext.class.getName());
        Files.createDirectories(folder.resolve(host.getAppBase()));
        host.setAutoDeploy(false);
        host.getPipeline().addValve(errorPages());
        tomcat.getEngine().getPipeline().addValve(new Client());
        Application application = new Application(tomcat, webapp, classpath);
        tomcat.start();
        if (application.state() != LifecycleState.STARTED) {
            throw failure.cause();
        }
        Connector connector = connector(threads);
        // Only now: what accepts connections is ready.
        tomcat.setConnector(connector);
        if (connector.getState() != LifecycleState.STARTED) {
            throw failure.cause();
        }
        failure.forget();
        tomcat.getServer().await();
    }

    private static Connector connector(int threads) {
        Connector connector = new Connector(Protocol.class.getName());
        connector.setProperty("unixDomainSocketPath", System.getenv("SOCKET_PATH"));
        connector.setProperty("maxThreads", Integer.toString(threads + FURTHER_THREADS));
        connector.setProperty("maxHttpHeaderSize", Integer.toString(LARGEST_HEAD));
        connector.setProperty("relaxedPathChars", RELAXED);
        connector.setProperty("relaxedQueryChars", RELAXED);
        // Corral knows how long a request may take, and how large it may be.
        for (String unlimited : UNLIMITED) {
            connector.setProperty(unlimited, "-1");
        }
        connector.setMaxPostSize(-1);
        connector.setMaxParameterCount(MOST_PARAMETERS);
        connector.setProperty("maxPartCount", Integer.toString(MOST_PARAMETERS));
        return connector;
    }

    /** They tell clients nothing of the program. */
    private static ErrorReportValve errorPages() {
        ErrorReportValve pages = new ErrorReportValve();
        pages.setShowReport(false);
        pages.setShowServerInfo(false);
        return pages;
    }

    private static void stop(Tomcat tomcat, Path folder) {
        java.util.logging.Logger.getLogger("org.apache").setLevel(Level.OFF);
        try {
            tomcat.stop();
            tomcat.destroy();
        } catch (Exception failed) {
            failed.printStackTrace();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException gone) {
            // Another process has removed it.
        }
    }
}
