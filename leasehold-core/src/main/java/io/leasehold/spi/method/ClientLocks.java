package io.leasehold.spi.method;

import io.leasehold.Acquirable;
import io.leasehold.DistributedLock;
import io.leasehold.Durations;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLock;
import io.leasehold.Permits;
import io.leasehold.SharedLock;
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

    /** Creates the exception with which an adapter refuses a method. */
    @FunctionalInterface
    public interface Refusal {

        /**
         * Creates the exception.
         *
         * @param problem the problem, as the rest of a sentence that begins with the method
         * @param cure the change to make, as a sentence
         */
        RuntimeException of(String problem, String cure);
    }

    /**
     * Creates the locks of one method; throws the refusal if the client does not support its options.
     *
     * @param commitGuard the minimum validity for a commit, or null for the default
     */
    public ClientLocks(LockClient client, OptionChanges changes, @Nullable Duration commitGuard, Refusal refusal) {
        this.client = client;
        this.holderId = client.holderId();
        LockOptions given = client.named("options").options();
        try {
            this.options = changes.of(given);
        } catch (IllegalArgumentException e) {
            throw refusal.of("has unsafe timings: " + e.getMessage(), "Change the options named above");
        }
        this.changed = !options.equals(given);
        Duration ttl = options.ttl().plus(options.lockDelay());
        if (ttl.compareTo(client.maxTtl()) > 0) {
            throw refusal.of(
                    "has a ttl of " + Durations.text(ttl) + ", and " + client.storeDescription() + " accepts at most "
                            + Durations.text(client.maxTtl()),
                    "Write a shorter ttl: a held lock renews itself");
        }
        Duration most = options.longestCheckable();
        if (commitGuard != null && commitGuard.compareTo(most) > 0) {
            throw refusal.of(
                    "has a commitGuard of " + Durations.text(commitGuard)
                            + ", and a healthy lease with a ttl of " + Durations.text(options.ttl())
                            + " is certain to have only " + Durations.text(most) + " left",
                    "Write a shorter commitGuard or a longer ttl");
        }
        this.commitGuard = commitGuard != null ? commitGuard : defaultGuard(options);
    }

    /** The default commit guard: 2 × node timeout, and never more than the validity of a healthy lease. */
    public static Duration defaultGuard(LockOptions options) {
        Duration most = options.longestCheckable();
        Duration guard = options.nodeTimeout().multipliedBy(2);
        return guard.compareTo(most) <= 0 ? guard : most.isNegative() ? Duration.ZERO : most;
    }

    /** The public id of the client, even if this has a proxy of it. */
    public String holderId() {
        return holderId;
    }

    /** The minimum validity for a commit. */
    public Duration commitGuard() {
        return commitGuard;
    }

    /** The lock of this name, its readers, or the permits of a name that says how many there are. */
    public Acquirable<? extends Lease> of(LockName name) {
        if (name.isRead()) {
            return readers(name.asExclusive());
        }
        return name.isPermits() ? permits(name) : one(name);
    }

    private Acquirable<Lease> readers(LockName name) {
        SharedLock lock = client.readWrite(name);
        return (changed ? lock.with(standard -> options) : lock).read();
    }

    DistributedLock one(LockName name) {
        DistributedLock lock = client.named(name);
        return changed ? lock.with(standard -> options) : lock;
    }

    private Permits permits(LockName name) {
        Permits permits = client.permits(name, name.permitCount());
        return changed ? permits.with(standard -> options) : permits;
    }

    /** Several locks, acquired together. */
    public MultiLock all(List<LockName> names) {
        MultiLock locks = client.all(names.toArray(LockName[]::new));
        return changed ? locks.with(standard -> options) : locks;
    }
}
