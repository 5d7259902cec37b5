package io.leasehold.spring.integration;

import io.leasehold.DistributedLock;
import io.leasehold.LeaseLostException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.UnaryOperator;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * Provides the locks of Spring Integration 6.5, 7.0 and 7.1 as renewed leases, at every store.
 *
 * <pre>{@code
 * LockRegistry lockRegistry(LockClient client) {
 *     return LeaseholdLockRegistry.over(client, "aggregator");
 * }
 * }</pre>
 *
 * <p><b>Guarantee.</b> Locks are reentrant per thread, without a round trip, as {@link ReentrantLockView} is. A lost
 * lock is never silently acquired again: in the thread that held it, {@code tryLock} returns false once, and
 * {@code lock} throws {@link LeaseLostException} once. Only then a new hold begins, with a larger fencing token. A
 * {@code LockRegistryLeaderInitiator} that lost its lock therefore revokes the leadership before it grants it again.
 *
 * <p><b>Threads.</b> Any thread may use it. The registry keeps no state for keys that are not held, so nothing needs to
 * expire.
 */
public final class LeaseholdLockRegistry implements RenewableLockRegistry, ExpirableLockRegistry {

    private final LockClient client;
    private final String template;
    private final UnaryOperator<LockOptions> change;

    private LeaseholdLockRegistry(LockClient client, String template, UnaryOperator<LockOptions> change) {
        this.client = client;
        this.template = template;
        this.change = change;
    }

    /**
     * Creates a registry for a client, which the caller closes.
     *
     * @param name the name of the registry: the lock of key {@code k} is <code>name:k</code>, for all registries of
     *     that name
     * @throws IllegalArgumentException if the name is blank or has a brace
     */
    public static LeaseholdLockRegistry over(LockClient client, String name) {
        Objects.requireNonNull(client, "client");
        if (name.isBlank() || name.contains("{") || name.contains("}")) {
            throw new IllegalArgumentException("the name \"" + name + "\" of a registry is blank or has a brace");
        }
        return new LeaseholdLockRegistry(client, name + ":{key}", UnaryOperator.identity());
    }

    /** Returns this registry with other options for its locks, in addition to those of earlier calls. */
    public LeaseholdLockRegistry with(UnaryOperator<LockOptions> change) {
        Objects.requireNonNull(change, "change");
        UnaryOperator<LockOptions> before = this.change;
        return new LeaseholdLockRegistry(client, template, options -> change.apply(before.apply(options)));
    }

    /**
     * The lock of a key, with the concepts that Spring Integration lacks: the fencing token, the validity, the loss.
     */
    public ReentrantLockView view(Object key) {
        DistributedLock lock = client.named(LockName.of(template, key));
        return lock.with(change).asReentrantLock();
    }

    @Override
    public Lock obtain(Object key) {
        return new LockOfKey(view(key));
    }

    /** Renews the lock now; a held lock is also renewed automatically. */
    @Override
    public void renewLock(Object key) {
        view(key).renew();
    }

    /**
     * Renews the lock now. The ttl is that of the lock's options, and the argument is ignored: a held lock is renewed
     * automatically until it is unlocked. Called by Spring Integration 7.
     */
    public void renewLock(Object key, Duration ttl) {
        renewLock(key);
    }

    /** Does nothing, since the registry keeps no unused locks. */
    @Override
    public void expireUnusedOlderThan(long age) {}

    /** The lock of a key. The view throws if its thread has lost the lock; {@code tryLock} returns false instead. */
    private record LockOfKey(ReentrantLockView view) implements Lock {

        @Override
        public void lock() {
            view.lock();
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            view.lockInterruptibly();
        }

        @Override
        public boolean tryLock() {
            try {
                return view.tryLock();
            } catch (LeaseLostException lost) {
                return false;
            }
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            try {
                return view.tryLock(time, unit);
            } catch (LeaseLostException lost) {
                return false;
            }
        }

        @Override
        public void unlock() {
            view.unlock();
        }

        @Override
        public Condition newCondition() {
            return view.newCondition();
        }
    }
}
