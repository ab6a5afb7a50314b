package corral;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/** Has requests see the client where Tomcat has its peer, which is Corral. */
final class Client extends ValveBase {
    /** What Corral says, and no client can: {@code Corral-Client: for="192.0.2.1";by="192.0.2.9:443";proto=https}. */
    private static final String FIELD = "Corral-Client";

    private static final Pattern VALUE =
        Pattern.compile("for=(_unix|\"\\[?([^\"\\]]+)\\]?\");by=(_unix|\"\\[?([^\"]+?)\\]?:(\\d+)\");proto=(https?)");

    /** What Unix sockets are called in Unit. */
    private static final String UNIX = "unix:";

    /** What Tomcat asks its connection for, unless it is known. There is no other way to say it. */
    private static final VarHandle REMOTE_PORT = field("remotePort", int.class);

    private static final VarHandle LOCAL_ADDRESS = field("localAddr", String.class);
    private static final VarHandle LOCAL_NAME = field("localName", String.class);
    private static final VarHandle LOCAL_PORT = field("localPort", int.class);

    Client() {
        super(true);
    }

    @Override
    public void invoke(Request request, Response response) {
        Matcher said = VALUE.matcher(String.valueOf(request.getHeader(FIELD)));
        if (said.matches()) {
            tell(request.getCoyoteRequest(), request, said);
        }
        try {
            getNext().invoke(request, response);
        } catch (Exception thrown) {
            throw Client.<RuntimeException>asItIs(thrown);
        }
    }

    /** The exception of servlets is another class at each level: it cannot be named here. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T asItIs(Throwable thrown) throws T {
        throw (T) thrown;
    }

    private static VarHandle field(String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(Request.class, MethodHandles.lookup()).findVarHandle(Request.class, name, type);
        } catch (ReflectiveOperationException missing) {
            throw new IllegalStateException(missing);
        }
    }

    /** Addresses in the spelling of Corral. */
    private static void tell(org.apache.coyote.Request wire, Request request, Matcher said) {
        wire.getMimeHeaders().removeHeader(FIELD);
        String remote = said.group(2) == null ? UNIX : said.group(2);
        String local = said.group(4) == null ? UNIX : said.group(4);
        request.setRemoteAddr(remote);
        request.setRemoteHost(remote);
        REMOTE_PORT.set(request, 0);
        LOCAL_ADDRESS.set(request, local);
        LOCAL_NAME.set(request, local);
        LOCAL_PORT.set(request, said.group(5) == null ? 0 : Integer.parseInt(said.group(5)));
        boolean isSecure = said.group(6).equals("https");
        wire.scheme().setString(said.group(6));
        request.setSecure(isSecure);
        if (isSecure && !namesPort(request.getHeader("Host"))) {
            request.setServerPort(443);
        }
    }

    /** Where a host names no port, Tomcat has taken that of HTTP before it knew better. */
    private static boolean namesPort(String host) {
        return host != null && host.lastIndexOf(':') > host.lastIndexOf(']');
    }
}
