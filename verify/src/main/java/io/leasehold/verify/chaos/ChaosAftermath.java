package io.leasehold.verify.chaos;

import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.history.Violation;
import io.leasehold.verify.client.ClientMain;
import io.leasehold.verify.client.Names;
import io.leasehold.verify.client.StoreAccess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state when every client has ended. Within a ttl no lock is left (orphans), and each is granted on request
 * (liveness). The store keeps nothing of clients that were killed or left.
 */
final class ChaosAftermath {

    private static final Logger LOG = LoggerFactory.getLogger(ChaosAftermath.class);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration GONE_PATIENCE = Duration.ofSeconds(30);
    private static final Duration SWEEP_PATIENCE = Duration.ofSeconds(5);
    private static final Duration RETRYING = Duration.ofMinutes(2);

    private ChaosAftermath() {}

    static List<Violation> check(ChaosPlan plan, String uri, Remains remains) throws Exception {
        if (plan.control() != null && (plan.control().needsQuorum() || !usesOurKeys(plan))) {
            return List.of();
        }
        List<Violation> violations = new ArrayList<>();
        LockOptions options = LockOptions.defaults().ttl(plan.ttl());
        try (StoreAccess.Opened opened = retried(() -> plan.access(uri, 0).connect(options, "aftermath"))) {
            LockClient client = opened.client();
            List<LockAdmin.HeldLock> left = awaitNone(client, plan);
            for (LockAdmin.HeldLock lock : left) {
                violations.add(new Violation(
                        lock.name().text(), "orphan: still held by " + lock.holder() + " when all clients had ended"));
            }
            for (String name : names(plan)) {
                // A lock that is held permanently is not waited for.
                boolean stays =
                        left.stream().anyMatch(lock -> lock.name().text().equals(name));
                Duration most = stays ? plan.ttl().plusSeconds(1) : PATIENCE;
                if (!isGranted(client, plan.kind(), name, most)) {
                    violations.add(new Violation(
                            name, "liveness: not granted within " + most + " when all clients had ended"));
                }
            }
        }
        awaitGone(plan, uri, remains).forEach(what -> violations.add(new Violation("store", "left behind: " + what)));
        remains.wrongs().forEach(what -> violations.add(new Violation("store", what)));
        return violations;
    }

    private static List<String> names(ChaosPlan plan) {
        return Stream.concat(
                        IntStream.range(0, plan.locks()).mapToObj(Names::hot),
                        IntStream.range(0, plan.coolLocks()).mapToObj(Names::cool))
                .toList();
    }

    /**
     * Waits until the rest is gone: entries end with their session or lease, and rows when a client runs its
     * housekeeping, which a new one does soon.
     */
    private static List<String> awaitGone(ChaosPlan plan, String uri, Remains remains) throws Exception {
        if (!plan.store().keepsHouse()) {
            return leftWithin(GONE_PATIENCE, remains);
        }
        long start = System.nanoTime();
        while (true) {
            TimeUnit.NANOSECONDS.sleep(StoreKind.RETENTION.toNanos());
            try (StoreAccess.Opened opened =
                    retried(() -> plan.access(uri, 0).connect(LockOptions.defaults(), "sweep"))) {
                isGranted(opened.client(), LeaseKind.LOCKS, "sweep", PATIENCE);
                // Housekeeping comes after all requests of a client, and ends with it.
                List<String> left = leftWithin(SWEEP_PATIENCE, remains);
                if (left.isEmpty() || System.nanoTime() - start > GONE_PATIENCE.toNanos()) {
                    return left;
                }
            }
        }
    }

    private static List<String> leftWithin(Duration patience, Remains remains) throws Exception {
        long start = System.nanoTime();
        while (true) {
            List<String> left = remains.left();
            if (left.isEmpty() || System.nanoTime() - start > patience.toNanos()) {
                return left;
            }
            TimeUnit.MILLISECONDS.sleep(200);
        }
    }

    /** A busy machine may be too slow for the time limit of a connection or a request. */
    private static <T> T retried(Supplier<T> request) {
        long start = System.nanoTime();
        while (true) {
            try {
                return request.get();
            } catch (StoreUnavailableException e) {
                if (System.nanoTime() - start > RETRYING.toNanos()) {
                    throw e;
                }
            }
        }
    }

    /**
     * Whether the lock, or all permits of the name, are granted. A busy machine may exceed a node timeout; that is not a
     * refusal.
     */
    private static boolean isGranted(LockClient client, LeaseKind kind, String name, Duration most)
            throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            try {
                return kind == LeaseKind.PERMITS
                        ? isReleased(client.permits(name, ClientMain.PERMITS)
                                .several(ClientMain.PERMITS)
                                .tryAcquire(most))
                        : isReleased(client.named(name).tryAcquire(most));
            } catch (LockStoreException e) {
                if (System.nanoTime() - start > most.toNanos()) {
                    LOG.warn("{} is not granted", name, e);
                    return false;
                }
            }
        }
    }

    private static boolean isReleased(@Nullable Hold granted) {
        if (granted == null) {
            return false;
        }
        granted.close();
        return true;
    }

    private static boolean usesOurKeys(ChaosPlan plan) {
        return plan.control() != io.leasehold.verify.client.ControlKind.REDISSON;
    }

    /** Waits until every lease can have ended: ttl, its drift and the time that a store needs to notice. */
    private static List<LockAdmin.HeldLock> awaitNone(LockClient client, ChaosPlan plan) throws InterruptedException {
        long start = System.nanoTime();
        long mostNanos = plan.ttl().plusSeconds(plan.control() == null ? 15 : 2).toNanos();
        while (true) {
            List<LockAdmin.HeldLock> left = retried(() -> client.admin().list("*", 100));
            if (left.isEmpty() || System.nanoTime() - start > mostNanos) {
                return left;
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }
}
