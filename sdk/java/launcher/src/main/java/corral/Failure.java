package corral;

import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The exception of an application that cannot be started: Tomcat logs that, and says no more than that it has failed. */
final class Failure extends Handler {
    /** Kept, as loggers without a reference may be forgotten with their levels. */
    private static final Logger LOGGER = Logger.getLogger("org.apache");

    private Throwable thrown;
    private String message;

    /** Begins to listen, and silences all but failures unless the machine's options say otherwise. */
    static Failure watch() {
        boolean isConfigured = System.getProperty("java.util.logging.config.file") != null
            || System.getProperty("java.util.logging.config.class") != null;
        if (!isConfigured) {
            LOGGER.setLevel(Level.WARNING);
        }
        Failure failure = new Failure();
        LOGGER.addHandler(failure);
        return failure;
    }

    /** The first that was thrown says most. */
    @Override
    public synchronized void publish(LogRecord record) {
        if (record.getLevel().intValue() < Level.SEVERE.intValue()) {
            return;
        }
        if (thrown == null && record.getThrown() != null) {
            thrown = record.getThrown();
        }
        if (message == null) {
            message = record.getMessage();
        }
    }

    synchronized Exception cause() {
        return new IllegalStateException(message == null ? "it has not started" : message, thrown);
    }

    void forget() {
        LOGGER.removeHandler(this);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
}
