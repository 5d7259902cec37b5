package io.leasehold.redis.topology;

import io.leasehold.redis.wire.PlainCommand;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Whether a connection is proved to lead to the server itself, so that it ends with the process at its other end.
 *
 * <p>The server reports the two ends of the connection as it sees them ({@code CLIENT INFO}). The proof is that this
 * side has a connection with the same two ends. A proxy has its own connection to the server, and address translation
 * changes the ends: then nothing is proved. The same holds if the server or the client library does not report the
 * ends. Safe for all threads.
 */
final class Directness {

    private final RedisConnection connection;
    private final AtomicReference<@Nullable CompletableFuture<Boolean>> proof = new AtomicReference<>();

    Directness(RedisConnection connection) {
        this.connection = connection;
    }

    /** Whether the proof exists by now. The first call asks the server, and does not use an answer that comes at once. */
    boolean isProved() {
        boolean asked = proof.get() != null;
        return proof().getNow(false) && asked;
    }

    /** The answer, which never fails. The first call asks the server. */
    CompletableFuture<Boolean> proof() {
        CompletableFuture<Boolean> known = proof.get();
        if (known != null) {
            return known;
        }
        CompletableFuture<Boolean> made = new CompletableFuture<>();
        if (proof.compareAndSet(null, made)) {
            try {
                connection.ask(PlainCommand.CLIENT_INFO).whenComplete((info, error) -> made.complete(shows(info)));
            } catch (RuntimeException | Error e) {
                made.complete(false);
            }
            return made;
        }
        return proof();
    }

    private boolean shows(@Nullable String info) {
        InetSocketAddress local = info == null ? null : address(info, "addr=");
        InetSocketAddress remote = info == null ? null : address(info, "laddr=");
        return local != null && remote != null && connection.hasEnds(local, remote);
    }

    /** Reads an address like {@code 127.0.0.1:6379} or {@code [::1]:6379}; null for anything else. */
    private static @Nullable InetSocketAddress address(String info, String field) {
        for (String part : info.split("\\s+", -1)) {
            int colon = part.lastIndexOf(':');
            if (part.startsWith(field) && colon > 0) {
                String host = part.substring(field.length(), colon);
                String port = part.substring(colon + 1);
                // Accept only numbers, so that no name is resolved.
                return host.matches("[0-9.]+|\\[[0-9a-fA-F:.]+]") && port.matches("[0-9]{1,5}")
                        ? address(host, Integer.parseInt(port))
                        : null;
            }
        }
        return null;
    }

    private static @Nullable InetSocketAddress address(String host, int port) {
        try {
            return new InetSocketAddress(InetAddress.getByName(host), port);
        } catch (UnknownHostException | IllegalArgumentException e) {
            return null;
        }
    }
}
