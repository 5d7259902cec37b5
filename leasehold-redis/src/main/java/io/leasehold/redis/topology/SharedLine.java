package io.leasehold.redis.topology;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One connection for requests that several clients use. Each client has a part in it, a {@link SharedConnection}, which
 * behaves like a separate connection.
 *
 * <p>A client that closes its part harms no other client: the connection ends with the last part. If a client closes
 * its part because it doubts the server, this connection is not offered to further clients. Guarded by {@code this};
 * parts are notified outside of it.
 */
final class SharedLine {

    private final RedisUri server;
    private final RedisConnection connection;
    private final Set<SharedConnection> parts = new LinkedHashSet<>();
    private boolean retired;

    private SharedLine(RedisUri server, RedisConnection connection) {
        this.server = server;
        this.connection = connection;
    }

    /** Creates the line of a new connection; no client has a part yet. */
    static SharedLine of(RedisUri server, RedisConnection connection) {
        SharedLine line = new SharedLine(server, connection);
        connection.onEnd(line::ended);
        return line;
    }

    /** Whether further clients may use the connection. */
    synchronized boolean isOffered() {
        return !retired && connection.isOpen();
    }

    /** Whether a further client of this server may use the connection. */
    boolean isOfferedTo(RedisUri wanted) {
        return isOffered() && server.connectsLike(wanted);
    }

    /** Makes a part for a client; null if the connection is not offered any more. */
    synchronized @Nullable SharedConnection joined() {
        if (!isOffered()) {
            return null;
        }
        SharedConnection part = new SharedConnection(this, connection);
        parts.add(part);
        return part;
    }

    private void ended() {
        List<SharedConnection> all;
        synchronized (this) {
            retired = true;
            all = List.copyOf(parts);
            parts.clear();
        }
        all.forEach(SharedConnection::ended);
        if (!all.isEmpty()) {
            // A driver keeps a connection that ended by itself until it is closed.
            end();
        }
    }

    private void end() {
        Isolated.run(connection::close);
    }

    /**
     * Notes the end of a part, once; the last one ends the connection.
     *
     * @param doubted whether the client doubts the connection, so that no further client gets it
     */
    void left(SharedConnection part, boolean doubted) {
        boolean last;
        synchronized (this) {
            if (!parts.remove(part)) {
                // Its end has been noted. The listeners to that end close it again, and doubt nothing.
                return;
            }
            last = parts.isEmpty();
            retired |= last || doubted;
        }
        if (last) {
            end();
        }
    }
}
