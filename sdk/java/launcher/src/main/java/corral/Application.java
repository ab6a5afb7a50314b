package corral;

import java.io.File;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.WebResourceRoot;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.FileResourceSet;
import org.apache.catalina.webresources.StandardRoot;
import org.apache.tomcat.util.http.Rfc6265CookieProcessor;

/** The web application: where it is, what it sees beside its own classes, and its cookies. */
final class Application {
    /** Unit's name for the option. */
    private static final String CONTEXT_PATH = "nginx.unit.context.path";

    /** The attribute of cookies for requests from other sites, unless the application sets it. */
    private static final String SAME_SITE = "corral.cookies.same_site";

    private final StandardContext context;

    Application(Tomcat tomcat, Path webapp, List<String> classpath) throws Exception {
        String path = System.getProperty(CONTEXT_PATH, "/").replaceAll("/+$", "");
        context = (StandardContext) tomcat.addWebapp(path, webapp.toString());
        context.setFailCtxIfServletStartFails(true);
        context.setClearReferencesRmiTargets(false);
        // Kept sessions would be those of an earlier process.
        StandardManager sessions = new StandardManager();
        sessions.setPathname(null);
        context.setManager(sessions);
        String sameSite = System.getProperty(SAME_SITE);
        if (sameSite != null) {
            Rfc6265CookieProcessor cookies = new Rfc6265CookieProcessor();
            cookies.setSameSiteCookies(sameSite);
            context.setCookieProcessor(cookies);
        }
        WebResourceRoot resources = new StandardRoot(context);
        context.setResources(resources);
        List<URL> urls = new ArrayList<>();
        for (String entry : classpath) {
            if (entry.matches("[a-z]+:.*")) {
                urls.add(URI.create(entry).toURL());
            } else {
                add(resources, Path.of(entry).toAbsolutePath());
            }
        }
        context.setParentClassLoader(new Outside(urls));
    }

    LifecycleState state() {
        return context.getState();
    }

    /** As if it were the application's own, and behind what is. */
    private static void add(WebResourceRoot resources, Path path) {
        File file = path.toFile();
        String shown = file.getPath();
        if (Files.isDirectory(path)) {
            resources.addPostResources(new DirResourceSet(resources, "/WEB-INF/classes", shown, "/"));
        } else {
            resources.addPostResources(new FileResourceSet(resources, "/WEB-INF/lib/" + file.getName(), shown, "/"));
        }
    }

    /** The classes of its container that an application sees: not this launcher. */
    private static final class Outside extends URLClassLoader {
        Outside(List<URL> urls) {
            super(urls.toArray(URL[]::new), Application.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("corral.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }
}
