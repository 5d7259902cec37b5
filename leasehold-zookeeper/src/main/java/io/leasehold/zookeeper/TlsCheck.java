package io.leasehold.zookeeper;

import io.leasehold.StoreAccessException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.X509Exception;
import org.jspecify.annotations.Nullable;

/**
 * Tries TLS with the members once before the driver does, which would try again for ever and only log why it fails.
 *
 * <p>Blocks for at most a few seconds for each member.
 */
final class TlsCheck {

    private static final int PATIENCE_MILLIS = (int) Duration.ofSeconds(3).toMillis();

    private TlsCheck() {}

    /**
     * Returns if a member accepts TLS and is accepted, or if none can be reached: that is for the driver to find out.
     *
     * @throws StoreAccessException if the files cannot be used, or TLS fails with every member that was reached
     */
    static void require(ZooKeeperUri uri, ZKClientConfig config) {
        SSLContext context = context(uri, config);
        SSLException refusal = null;
        for (String server : uri.servers()) {
            try {
                shakeHands(context.getSocketFactory(), server);
                return;
            } catch (SSLException e) {
                refusal = e;
            } catch (IOException unreachable) {
                // Another member may be up.
            }
        }
        if (refusal != null) {
            throw new StoreAccessException(
                    "TLS with " + uri + " failed: " + reason(refusal)
                            + "; give the authority of its certificate with ca=FILE,"
                            + " and name the members as their certificates do",
                    refusal);
        }
    }

    private static SSLContext context(ZooKeeperUri uri, ZKClientConfig config) {
        try (ClientX509Util tls = new ClientX509Util()) {
            return tls.createSSLContext(config);
        } catch (X509Exception e) {
            throw new StoreAccessException(
                    "the TLS files for " + uri + " cannot be used: " + reason(e)
                            + "; check ca, caPassword, identity and identityPassword",
                    e);
        }
    }

    private static void shakeHands(SSLSocketFactory sockets, String server) throws IOException {
        int colon = server.lastIndexOf(':');
        String host = server.substring(0, colon).replaceAll("^\\[|]$", "");
        int port = Integer.parseInt(server.substring(colon + 1));
        try (Socket plain = new Socket()) {
            plain.connect(new InetSocketAddress(host, port), PATIENCE_MILLIS);
            plain.setSoTimeout(PATIENCE_MILLIS);
            try (SSLSocket socket = (SSLSocket) sockets.createSocket(plain, host, port, true)) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                socket.setSSLParameters(parameters);
                socket.startHandshake();
            }
        }
    }

    /** The innermost message: what was really wrong. */
    private static String reason(Throwable error) {
        @Nullable Throwable cause = error;
        String said = String.valueOf(error.getMessage());
        while (cause != null) {
            if (cause.getMessage() != null) {
                said = cause.getMessage();
            }
            cause = cause.getCause();
        }
        return said;
    }
}
