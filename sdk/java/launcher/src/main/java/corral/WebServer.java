package corral;

import java.nio.file.Path;
import java.util.function.Supplier;
import org.eclipse.jetty.ee.WebAppClassLoading;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Serves one web application at a socket of this machine. */
public final class WebServer {
    /** Beyond those that run requests: Jetty's own, and those that handle the messages of WebSockets. */
    private static final int FURTHER_THREADS = 16;

    /** Unit's name for the option. */
    private static final String CONTEXT_PATH = "nginx.unit.context.path";

    /** Where the container's own tag libraries and initializers are. */
    private static final String CONTAINER_JARS = ".*/(javax|jakarta)\\.servlet\\.jsp\\.jstl[^/]*\\.jar";

    private WebServer() {}

    /** Returns when it accepts connections. */
    public static void serve(String level, Path webapp, int threads, String classpath) throws Exception {
        Server server = new Server(new QueuedThreadPool(threads + FURTHER_THREADS));
        server.addConnector(connector(server));
        WebAppClassLoading.addHiddenClasses(server, "corral.");
        server.setHandler(application(level, webapp, classpath));
        // Sessions and the application's listeners are told, and temporary files removed.
        server.setStopAtShutdown(true);
        server.start();
    }

    private static UnixDomainServerConnector connector(Server server) {
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.setSendServerVersion(false);
        configuration.addCustomizer(new Client());
        var connector = new UnixDomainServerConnector(server, 1, 1, new HttpConnectionFactory(configuration));
        connector.setUnixDomainPath(Path.of(System.getenv("SOCKET_PATH")));
        // It is Corral who knows how long a request may take.
        connector.setIdleTimeout(0);
        return connector;
    }

    /** The class is the level's own, and there are two of them; they have these methods in common. */
    private static Handler application(String level, Path webapp, String classpath) throws Exception {
        ClassLoader loader = WebServer.class.getClassLoader();
        Object context = loader.loadClass("org.eclipse.jetty." + level + ".webapp.WebAppContext").getConstructor().newInstance();
        set(context, "setWar", String.class, webapp.toString());
        set(context, "setContextPath", String.class, System.getProperty(CONTEXT_PATH, "/"));
        set(context, "setThrowUnavailableOnStartupException", boolean.class, true);
        if (!classpath.isEmpty()) {
            set(context, "setExtraClasspath", String.class, classpath);
        }
        context.getClass().getMethod("setAttribute", String.class, Object.class)
            .invoke(context, "org.eclipse.jetty.server.webapp.ContainerIncludeJarPattern", CONTAINER_JARS);
        return (Handler) (context instanceof Supplier<?> supplier ? supplier.get() : context);
    }

    private static void set(Object context, String method, Class<?> type, Object value) throws Exception {
        context.getClass().getMethod(method, type).invoke(context, value);
    }
}
