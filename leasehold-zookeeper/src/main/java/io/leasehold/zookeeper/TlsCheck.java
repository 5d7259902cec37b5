package io.leasehold.zookeeper;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.toolkit.Failure;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.X509Exception;

/**
 * Finds the reason why TLS with the members fails. The driver retries forever, and only logs the reason.
 *
 * <p>Blocks for at most a few seconds for each member.
 */
final class TlsCheck {

    private static final int PATIENCE_MILLIS = (int) Duration.ofSeconds(3).toMillis();

    private TlsCheck() {}

    /**
     * Reads the files without connecting.
     *
     * @throws StoreAccessException if they cannot be used
     */
    static void requireFiles(ZooKeeperUri uri, ZKClientConfig config) {
        context(uri, config);
    }

    /**
     * Checks TLS with the members. Returns if a member accepts TLS and is accepted, or if no member can be reached,
     * which the driver detects.
     *
     * @throws StoreAccessException if the files cannot be used, or TLS fails with every member that was reached
     * @throws StoreUnavailableException if every member that was reached ended the handshake without a reason
     */
    static void require(ZooKeeperUri uri, ZKClientConfig config) {
        SSLContext context = context(uri, config);
        SSLException refusal = null;
        IOException cut = null;
        for (String server : uri.servers()) {
            try (Socket plain = connect(server)) {
                shakeHands(context.getSocketFactory(), plain, server);
                return;
            } catch (SSLException e) {
                if (e.getCause() instanceof EOFException || e.getCause() instanceof SocketException) {
                    cut = e;
                } else {
                    refusal = e;
                }
            } catch (ConnectException
                    | SocketTimeoutException
                    | NoRouteToHostException
                    | UnknownHostException unreachable) {
                // Another member may be up.
            } catch (IOException e) {
                cut = e;
            }
        }
        if (refusal != null) {
            throw new StoreAccessException(
                    "TLS with " + uri + " failed: " + Failure.reason(refusal)
                            + "; give the authority of its certificate with ca=FILE,"
                            + " and name the members as their certificates do",
                    refusal);
        }
        if (cut != null) {
            throw new StoreUnavailableException(
                    "TLS with " + uri + " failed: the member ended the handshake (" + Failure.reason(cut)
                            + "); name its secureClientPort, and see in its log whether it could read its"
                            + " ssl.keyStore and ssl.trustStore",
                    cut);
        }
    }

    private static SSLContext context(ZooKeeperUri uri, ZKClientConfig config) {
        try (ClientX509Util tls = new ClientX509Util()) {
            return tls.createSSLContext(config);
        } catch (X509Exception e) {
            throw new StoreAccessException(
                    "the TLS files for " + uri + " cannot be used: " + Failure.reason(e)
                            + "; check ca, caPassword, identity and identityPassword",
                    e);
        }
    }

    private static Socket connect(String server) throws IOException {
        Socket plain = new Socket();
        try {
            plain.connect(new InetSocketAddress(host(server), port(server)), PATIENCE_MILLIS);
            plain.setSoTimeout(PATIENCE_MILLIS);
            return plain;
        } catch (IOException e) {
            plain.close();
            throw e;
        }
    }

    private static void shakeHands(SSLSocketFactory sockets, Socket plain, String server) throws IOException {
        try (SSLSocket socket = (SSLSocket) sockets.createSocket(plain, host(server), port(server), true)) {
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            socket.setSSLParameters(parameters);
            socket.startHandshake();
        }
    }

    private static String host(String server) {
        return server.substring(0, server.lastIndexOf(':')).replaceAll("^\\[|]$", "");
    }

    private static int port(String server) {
        return Integer.parseInt(server.substring(server.lastIndexOf(':') + 1));
    }
}
