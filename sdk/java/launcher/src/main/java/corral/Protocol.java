package corral;

import org.apache.coyote.Processor;
import org.apache.coyote.UpgradeToken;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.SocketWrapperBase;

/** Tomcat's HTTP/1, whose WebSockets take messages as large as {@link Messages} has them. */
public final class Protocol extends Http11NioProtocol {
    @Override
    protected Processor createUpgradeProcessor(SocketWrapperBase<?> socket, UpgradeToken token) {
        try {
            // The type that the method returns is another class at each level: it cannot be named here.
            Messages.grow(UpgradeToken.class.getMethod("getHttpUpgradeHandler").invoke(token));
        } catch (ReflectiveOperationException missing) {
            throw new IllegalStateException(missing);
        }
        return super.createUpgradeProcessor(socket, token);
    }
}
