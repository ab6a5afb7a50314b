package corral;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Starts a web application: finds out which packages it is written for, and leaves the rest to {@link WebServer}, whose class loader
 * has the Tomcat for these.
 *
 * <p>{@code java -jar launcher.jar WEBAPP THREADS [CLASSPATH …]}, with the path of the socket to make in {@code SOCKET_PATH}.
 */
public final class Launcher {
    /** Tomcat's name for the archives without tag libraries and the like. */
    private static final String UNSCANNED = "tomcat.util.scan.StandardJarScanFilter.jarsToSkip";

    private Launcher() {}

    public static void main(String[] arguments) {
        Path webapp = Path.of(arguments[0]).toAbsolutePath();
        try {
            start(webapp, arguments);
        } catch (Throwable thrown) {
            Throwable failed = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            failed.printStackTrace();
            // The last words are what Corral passes on.
            System.err.println("the web application \"" + webapp + "\" cannot be started: " + causeOf(failed));
            System.exit(1);
        }
    }

    private static void start(Path webapp, String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[1]);
        List<String> classpath = List.of(arguments).subList(2, arguments.length);
        Level level = Level.of(webapp);
        System.getProperties().putIfAbsent(UNSCANNED, "ecj-*.jar,launcher.jar,tomcat-*.jar");
        ClassLoader loader = loader(level);
        Thread.currentThread().setContextClassLoader(loader);
        loader.loadClass("corral.WebServer")
            .getMethod("serve", Path.class, int.class, List.class)
            .invoke(null, webapp, threads, classpath);
    }

    private static Throwable causeOf(Throwable failed) {
        return failed.getCause() == null ? failed : causeOf(failed.getCause());
    }

    private static ClassLoader loader(Level level) throws Exception {
        Path launcher = Path.of(Launcher.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<URL> urls = new ArrayList<>();
        urls.add(launcher.toUri().toURL());
        for (Path jar : jars(launcher.resolveSibling(level.name()))) {
            urls.add(jar.toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    private static List<Path> jars(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
        }
    }
}
