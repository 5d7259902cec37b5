package io.leasehold.redis.topology;

import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The drivers over Lettuce of this process. Clients of the same servers with the same settings of connections share one
 * driver, with its threads and connections. The last client to close ends it. State is guarded by the list of drivers.
 */
public final class LettuceDrivers {

    private static final List<Use> OPEN = new ArrayList<>();

    private LettuceDrivers() {}

    /** A driver that is in use. */
    private static final class Use {
        private final Deployment where;
        private final List<Deployment> set;
        private final DriverThreads threads;
        private final SharedDriver.Shared shared;
        private int users;

        Use(Deployment where, List<Deployment> set, DriverThreads threads) {
            this.where = where;
            this.set = set;
            this.threads = threads;
            this.shared = new SharedDriver.Shared(LettuceDriver.of(where, threads));
        }
    }

    /** A driver for the servers of a deployment, which clients with equal settings share. */
    public static Driver of(Deployment where, LockRuntime runtime) {
        return of(where, List.of(where), runtime);
    }

    /**
     * A driver for the servers of one deployment of a set. The deployments of a set share threads; clients share a
     * driver if the whole sets are alike.
     */
    public static Driver of(Deployment where, List<Deployment> set, LockRuntime runtime) {
        synchronized (OPEN) {
            Use use = use(where, set);
            use.users++;
            AtomicBoolean closed = new AtomicBoolean();
            return new SharedDriver(use.shared, runtime, () -> {
                if (closed.compareAndSet(false, true)) {
                    release(use);
                }
            });
        }
    }

    private static Use use(Deployment where, List<Deployment> set) {
        DriverThreads threads = null;
        for (Use use : OPEN) {
            // If a provider supplies the logins, no two deployments are alike, but one may be the same object.
            if (use.set.equals(set) || Deployment.connectLike(use.set, set)) {
                if (use.where.connectsLike(where)) {
                    return use;
                }
                threads = use.threads;
            }
        }
        Use fresh = threads == null ? firstOf(where, set) : new Use(where, set, threads);
        OPEN.add(fresh);
        return fresh;
    }

    /** With threads of its own, which end if the driver cannot be made, for example without the file of certificates. */
    private static Use firstOf(Deployment where, List<Deployment> set) {
        DriverThreads threads = new DriverThreads();
        try {
            return new Use(where, set, threads);
        } catch (RuntimeException | Error e) {
            threads.use();
            threads.release();
            throw e;
        }
    }

    private static void release(Use use) {
        synchronized (OPEN) {
            if (--use.users > 0) {
                return;
            }
            OPEN.remove(use);
        }
        use.shared.close();
    }
}
