package io.leasehold.spi.method;

import io.leasehold.DistributedLock;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLock;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The locks of a client with the options of one method.
 *
 * <p>Immutable; any thread may use it.
 */
public final class ClientLocks {

    private final LockClient client;
    private final String holderId;
    private final LockOptions options;
    private final boolean changed;
    private final Duration commitGuard;

    /** The exception by which an adapter refuses a method. */
    @FunctionalInterface
    public interface Refusal {

        /**
         * The exception.
         *
         * @param problem what is wrong, as the rest of a sentence that begins with the method
         * @param cure what to change, as a sentence
         */
        RuntimeException of(String problem, String cure);
    }

    /**
     * For one method; throws its refusal if the client cannot do what it asks for.
     *
     * @param commitGuard the validity that a commit needs, or null for the default
     */
    public ClientLocks(LockClient client, OptionChanges changes, @Nullable Duration commitGuard, Refusal refusal) {
        this.client = client;
        this.holderId = client.holderId();
        LockOptions given = client.named("options").options();
        try {
            this.options = changes.of(given);
        } catch (IllegalArgumentException e) {
            throw refusal.of("has unsafe timings: " + e.getMessage(), "Change what the message names");
        }
        this.changed = !options.equals(given);
        Duration ttl = options.ttl().plus(options.lockDelay());
        if (ttl.compareTo(client.maxTtl()) > 0) {
            throw refusal.of(
                    "has a ttl of " + ttl + ", and " + client.storeDescription() + " accepts at most "
                            + client.maxTtl(),
                    "Write a shorter ttl: a held lock renews itself");
        }
        Duration most = options.longestCheckable();
        if (commitGuard != null && commitGuard.compareTo(most) > 0) {
            throw refusal.of(
                    "has a commitGuard of " + commitGuard + ", and a healthy lease with a ttl of " + options.ttl()
                            + " is only sure to have " + most + " left",
                    "Write a shorter commitGuard or a longer ttl");
        }
        this.commitGuard = commitGuard != null ? commitGuard : defaultGuard(options);
    }

    /** 2 × node timeout, and never more than a healthy lease has. */
    public static Duration defaultGuard(LockOptions options) {
        Duration most = options.longestCheckable();
        Duration guard = options.nodeTimeout().multipliedBy(2);
        return guard.compareTo(most) <= 0 ? guard : most.isNegative() ? Duration.ZERO : most;
    }

    /** The public id of the client, whatever proxy of it this is. */
    public String holderId() {
        return holderId;
    }

    /** The validity that a commit needs. */
    public Duration commitGuard() {
        return commitGuard;
    }

    /** One lock. */
    public DistributedLock one(LockName name) {
        DistributedLock lock = client.named(name);
        return changed ? lock.with(standard -> options) : lock;
    }

    /** Several, acquired together. */
    public MultiLock all(List<LockName> names) {
        MultiLock locks = client.all(names.toArray(LockName[]::new));
        return changed ? locks.with(standard -> options) : locks;
    }
}
