package corral;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.server.ConnectionMetaData;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;

/** Has requests see the client where Jetty has its peer, which is Corral. */
final class Client implements HttpConfiguration.Customizer {
    /** What Corral says, and no client can: {@code Corral-Client: for="192.0.2.1";by="192.0.2.9:443";proto=https}. */
    private static final String FIELD = "Corral-Client";

    private static final Pattern VALUE =
        Pattern.compile("for=(_unix|\"\\[?([^\"\\]]+)\\]?\");by=(_unix|\"\\[?([^\"]+?)\\]?:(\\d+)\");proto=(https?)");

    @Override
    public Request customize(Request request, HttpFields.Mutable responseHeaders) {
        Matcher said = VALUE.matcher(String.valueOf(request.getHeaders().get(FIELD)));
        if (!said.matches()) {
            return request;
        }
        SocketAddress remote = address(said.group(2), "0");
        SocketAddress local = address(said.group(4), said.group(5));
        boolean isSecure = said.group(6).equals("https");
        HttpFields headers = HttpFields.build(request.getHeaders()).remove(FIELD).asImmutable();
        HttpURI uri = HttpURI.build(request.getHttpURI()).scheme(said.group(6)).asImmutable();
        ConnectionMetaData connection = new Connection(request.getConnectionMetaData(), remote, local, isSecure);
        return new Request.Wrapper(request) {
            @Override
            public HttpFields getHeaders() {
                return headers;
            }

            @Override
            public HttpURI getHttpURI() {
                return uri;
            }

            @Override
            public boolean isSecure() {
                return isSecure;
            }

            @Override
            public ConnectionMetaData getConnectionMetaData() {
                return connection;
            }
        };
    }

    /** In the spelling of Corral, which Jetty leaves alone if it is no address to it; Unix sockets are called as in Unit. */
    private static SocketAddress address(String ip, String port) {
        return ip == null
            ? InetSocketAddress.createUnresolved("unix:", 0)
            : InetSocketAddress.createUnresolved(ip, Integer.parseInt(port));
    }

    private static final class Connection extends ConnectionMetaData.Wrapper {
        private final SocketAddress remote;
        private final SocketAddress local;
        private final boolean isSecure;

        Connection(ConnectionMetaData wrapped, SocketAddress remote, SocketAddress local, boolean isSecure) {
            super(wrapped);
            this.remote = remote;
            this.local = local;
            this.isSecure = isSecure;
        }

        @Override
        public SocketAddress getRemoteSocketAddress() {
            return remote;
        }

        @Override
        public SocketAddress getLocalSocketAddress() {
            return local;
        }

        @Override
        public boolean isSecure() {
            return isSecure;
        }
    }
}
