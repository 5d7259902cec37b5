package io.leasehold.redis;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.admin.LockAdmin;
import java.time.Duration;
import java.util.Objects;

/**
 * A connection to one Redis or Valkey deployment for {@linkplain EfficiencyLock efficiency locks}.
 *
 * <pre>{@code
 * try (EfficiencyLocks locks = EfficiencyLocks.connect("redis://localhost:6379");
 *         Hold hold = locks.named("report:daily").tryAcquire(Duration.ZERO)) {
 *     if (hold != null) {
 *         work();
 *     }
 * }
 * }</pre>
 *
 * <p>Create one instance per process and server and share it: all threads may use it. It owns the timer of the
 * renewals, so a hold lives only as long as this object.
 */
public final class EfficiencyLocks implements AutoCloseable {

    private final LockClient client;

    private EfficiencyLocks(LockClient client) {
        this.client = client;
    }

    /**
     * Connects to the deployment of a {@code redis…://} URI with default options and checks that it answers.
     *
     * @throws IllegalArgumentException if the URI is malformed; the message repeats no secrets
     * @throws io.leasehold.LockStoreException if the server cannot be reached or refuses
     */
    public static EfficiencyLocks connect(String uri) {
        return over(RedisStore.at(uri), LockOptions.defaults());
    }

    /**
     * Connects to a server. All locks have these options unless {@link EfficiencyLock#with} changes them.
     *
     * @throws io.leasehold.LockStoreException if the server cannot be reached or refuses
     */
    public static EfficiencyLocks over(RedisStore server, LockOptions defaults) {
        Objects.requireNonNull(server, "server");
        return new EfficiencyLocks(
                Leasehold.builder().store(server::openPlain).defaults(defaults).connect());
    }

    /** The lock with this name; no I/O. */
    public EfficiencyLock named(LockName name) {
        return new PlainLock(client.named(name));
    }

    /**
     * The lock with exactly this name; no I/O.
     *
     * @throws IllegalArgumentException if the text is not a valid {@link LockName}
     */
    public EfficiencyLock named(String name) {
        return named(LockName.exactly(name));
    }

    /** Administrative operations. */
    public LockAdmin admin() {
        return client.admin();
    }

    /** Closes the connection with a patience of five seconds: see {@link #close(Duration)}. */
    @Override
    public void close() {
        client.close();
    }

    /** Closes the connection like {@link LockClient#close(Duration)}. */
    public void close(Duration patience) {
        client.close(patience);
    }

    /** The server for messages, without user and password. */
    @Override
    public String toString() {
        return "EfficiencyLocks[" + client.storeDescription() + "]";
    }
}
