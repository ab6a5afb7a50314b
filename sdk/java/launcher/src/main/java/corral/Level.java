package corral;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** The packages that a web application is written for. */
enum Level {
    /** {@code javax.servlet}, as in NGINX Unit. */
    ee8,
    /** {@code jakarta.servlet}. */
    ee10;

    /** The level when the application does not set one. */
    private static final String PROPERTY = "corral.ee";

    /** The application's own classes and pages decide; then web.xml; then its libraries. */
    static Level of(Path webapp) throws IOException {
        String said = System.getProperty(PROPERTY);
        if (said != null) {
            return valueOf("ee" + said);
        }
        if (Files.isDirectory(webapp)) {
            return of(webapp, new Votes());
        }
        try (FileSystem archive = FileSystems.newFileSystem(webapp)) {
            return of(archive.getPath("/"), new Votes());
        }
    }

    private static Level of(Path root, Votes votes) throws IOException {
        for (Path file : files(root)) {
            String path = root.relativize(file).toString();
            boolean isClass = path.startsWith("WEB-INF/classes/") && path.endsWith(".class");
            if (isClass || path.endsWith(".jsp")) {
                votes.count(Files.readAllBytes(file));
            }
        }
        Path descriptor = root.resolve("WEB-INF/web.xml");
        if (votes.areEqual() && Files.isRegularFile(descriptor)) {
            String text = new String(Files.readAllBytes(descriptor), StandardCharsets.ISO_8859_1);
            votes.jakarta += text.contains("jakarta.ee/xml/ns") ? 1 : 0;
            votes.javax += text.contains("jcp.org/xml/ns") || text.contains("java.sun.com") ? 1 : 0;
        }
        Path libraries = root.resolve("WEB-INF/lib");
        if (votes.areEqual() && Files.isDirectory(libraries)) {
            for (Path library : files(libraries)) {
                votes.countLibrary(library);
            }
        }
        return votes.jakarta > votes.javax ? ee10 : ee8;
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    /** How many files speak of each. */
    private static final class Votes {
        int javax;
        int jakarta;

        boolean areEqual() {
            return javax == jakarta;
        }

        /** Names in classes have slashes, those in pages dots. */
        void count(byte[] content) {
            String text = new String(content, StandardCharsets.ISO_8859_1);
            javax += text.contains("javax/servlet/") || text.contains("javax.servlet.") || text.contains("javax/websocket/") ? 1 : 0;
            jakarta += text.contains("jakarta/servlet/") || text.contains("jakarta.servlet.") || text.contains("jakarta/websocket/") ? 1 : 0;
        }

        void countLibrary(Path library) throws IOException {
            if (!library.toString().endsWith(".jar")) {
                return;
            }
            try (InputStream file = Files.newInputStream(library);
                    ZipInputStream archive = new ZipInputStream(new BufferedInputStream(file))) {
                for (ZipEntry entry = archive.getNextEntry(); entry != null; entry = archive.getNextEntry()) {
                    if (entry.getName().endsWith(".class")) {
                        count(archive.readAllBytes());
                    }
                }
            }
        }
    }
}
