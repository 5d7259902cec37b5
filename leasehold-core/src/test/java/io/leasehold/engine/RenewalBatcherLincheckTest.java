package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The batcher loses no renewal that is due, and sends none after the release of its lease. Lincheck explores the
 * interleavings of renewals that become due, of the timer that sends them, and of releases.
 */
@Param(name = "grant", gen = IntGen.class, conf = "0:1")
@Tag("full")
public final class RenewalBatcherLincheckTest {

    private static final int GRANTS = 2;

    private final StillRuntime runtime = new StillRuntime();
    private final Watched store = new Watched(runtime);
    private final HeldGrant[] grants = new HeldGrant[GRANTS];
    private final ActiveLease[] leases = new ActiveLease[GRANTS];
    private final Queue<CompletableFuture<Void>> byHand = new ConcurrentLinkedQueue<>();

    public RenewalBatcherLincheckTest() {
        Workshop workshop = new Workshop(runtime, store);
        for (int i = 0; i < GRANTS; i++) {
            Grant grant = new Grant(
                    OwnerToken.fromHex(Integer.toString(i).repeat(40)),
                    TokenRange.of(1, 1),
                    runtime.nanoTime(),
                    Incarnation.DURABLE);
            LockName name = LockName.exactly("lock-" + i);
            grants[i] = new HeldGrant(name, grant, 0, 0, workshop.settings, workshop.context, workshop.queues);
            leases[i] =
                    grants[i].begin(workshop.context.suspensions().mark(), null).state();
        }
    }

    /** Records how often each grant was renewed, and a renewal after the release. */
    private static final class Watched implements LockStore, StoreAdmin {
        private final SilentStore rest = new SilentStore();
        private final StillRuntime runtime;
        private final int[] renewed = new int[GRANTS];
        private final boolean[] released = new boolean[GRANTS];
        private boolean renewedAfterRelease;

        Watched(StillRuntime runtime) {
            this.runtime = runtime;
        }

        private static int index(OwnerToken owner) {
            return owner.hex().charAt(0) - '0';
        }

        @Override
        public CompletableFuture<RenewReply> renew(RenewBatch batch) {
            List<RenewReply.Item> answers = new ArrayList<>();
            synchronized (this) {
                for (RenewBatch.Item item : batch.items()) {
                    renewed[index(item.owner())]++;
                    renewedAfterRelease |= released[index(item.owner())];
                    answers.add(new RenewReply.Renewed(runtime.nanoTime()));
                }
            }
            return CompletableFuture.completedFuture(new RenewReply(answers));
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            synchronized (this) {
                released[index(request.owner())] = true;
            }
            return CompletableFuture.completedFuture(new ReleaseReply.Released());
        }

        @Override
        public String description() {
            return rest.description();
        }

        @Override
        public io.leasehold.Guarantees guarantees() {
            return rest.guarantees();
        }

        @Override
        public void listen(io.leasehold.spi.StoreSignals signals) {}

        @Override
        public CompletableFuture<io.leasehold.spi.AcquireReply> acquire(io.leasehold.spi.AcquireRequest request) {
            return rest.acquire(request);
        }

        @Override
        public StoreAdmin admin() {
            return this;
        }

        @Override
        public CompletableFuture<java.util.Optional<io.leasehold.admin.LockAdmin.HeldLock>> describe(LockName name) {
            return rest.describe(name);
        }

        @Override
        public CompletableFuture<List<io.leasehold.admin.LockAdmin.HeldLock>> list(String glob, int limit) {
            return rest.list(glob, limit);
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, String holderId) {
            return rest.forceRelease(name, holderId);
        }

        @Override
        public void close() {}
    }

    /** A renewal that may wait for others to share its request. */
    @Operation
    public void renewSoon(@Param(name = "grant") int grant) {
        grants[grant].on(new GrantMachine.Suspended());
    }

    /** A renewal that is sent at once. */
    @Operation
    @SuppressWarnings("FutureReturnValueIgnored")
    public void renewNow(@Param(name = "grant") int grant) {
        byHand.add(grants[grant].renewByHand());
    }

    /** The timer thread. */
    @Operation(nonParallelGroup = "timer")
    public void time() {
        runtime.pass(Duration.ofMillis(60));
    }

    @Operation
    @SuppressWarnings("FutureReturnValueIgnored")
    public void release(@Param(name = "grant") int grant) {
        leases[grant].release();
    }

    /** No requested renewal is lost, none was sent after the release of its lease, and a held grant can be renewed. */
    @Validate
    public void noneIsLostAndNoneComesAfterTheRelease() {
        runtime.pass(Duration.ofMillis(200));
        for (HeldGrant grant : grants) {
            byHand.add(grant.renewByHand());
        }
        runtime.pass(Duration.ofMillis(200));
        if (!byHand.stream().allMatch(CompletableFuture::isDone)) {
            throw new IllegalStateException("a renewal was never answered");
        }
        if (store.renewedAfterRelease) {
            throw new IllegalStateException("a renewal was sent after the release");
        }
        for (int i = 0; i < GRANTS; i++) {
            if (!store.released[i] && store.renewed[i] == 0) {
                throw new IllegalStateException("grant " + i + " is held and was not renewed when it was asked to be");
            }
        }
    }

    @Test
    void losesNoneAndSendsNoneAfterTheRelease() {
        Lincheck.stress(RenewalBatcherLincheckTest.class);
    }
}
