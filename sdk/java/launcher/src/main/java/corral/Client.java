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
    /** The header of Corral, which clients cannot send: {@code Corral-Client: for="192.0.2.1:49152";by="192.0.2.9:443";proto=https}. */
    private static final String FIELD = "Corral-Client";

    /** An address, or one of IPv6 in brackets, and a port unless it is not known. */
    private static final String NODE = "(?:_unix|\"(?:\\[([0-9a-f:.]+)\\]|([0-9.]+))(?::([0-9]{1,5}))?\")";

    private static final Pattern VALUE = Pattern.compile("for=" + NODE + ";by=" + NODE + ";proto=(https?)");

    /** The name of Unix sockets in Unit. */
    private static final String UNIX = "unix:";

    /** A fact that Tomcat asks its connection for, unless it is known. There is no other way to say it. */
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
        String remote = address(said, 1);
        String local = address(said, 4);
        request.setRemoteAddr(remote);
        request.setRemoteHost(remote);
        REMOTE_PORT.set(request, port(said, 3));
        LOCAL_ADDRESS.set(request, local);
        LOCAL_NAME.set(request, local);
        LOCAL_PORT.set(request, port(said, 6));
        boolean isSecure = said.group(7).equals("https");
        wire.scheme().setString(said.group(7));
        request.setSecure(isSecure);
        if (isSecure && !namesPort(request.getHeader("Host"))) {
            request.setServerPort(443);
        }
    }

    private static String address(Matcher said, int group) {
        String ipv6 = said.group(group);
        String ipv4 = said.group(group + 1);
        return ipv6 != null ? ipv6 : ipv4 != null ? ipv4 : UNIX;
    }

    /** The port was not named where it is 0. */
    private static int port(Matcher said, int group) {
        return said.group(group) == null ? 0 : Integer.parseInt(said.group(group));
    }

    /** Where a host names no port, Tomcat has taken that of HTTP before it knew better. */
    private static boolean namesPort(String host) {
        return host != null && host.lastIndexOf(':') > host.lastIndexOf(']');
    }
}
