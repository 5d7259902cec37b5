package io.leasehold.engine;

import io.leasehold.LeaseLostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * The concurrent actions of threads on a hold that readers share, and on a writer that becomes a reader. Outcomes of a
 * release: 1 released, 2 already lost, 3 unconfirmed.
 */
public final class ReaderRaces {

    private ReaderRaces() {}

    /** A hold with readers. */
    private static final class SharedHold {
        private final HeldLease lease = new HeldLease(HeldLease.NAME.asRead(), true);
        private final SharedLease hold = SharedLease.of(lease.handle);

        LeaseHandle reader() {
            hold.expect(1);
            return hold.shareExpected(null);
        }

        LeaseHandle join() {
            return hold.share(null);
        }

        static int release(LeaseHandle reader) {
            return HeldLease.number(reader.state().release());
        }
    }

    /** The last reader leaves while another one joins: it has the hold, or the hold is released without it. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "joined: the hold goes on")
    @Outcome(id = "0, 0, 1", expect = Expect.ACCEPTABLE, desc = "released: the reader needs another hold")
    @Outcome(expect = Expect.FORBIDDEN, desc = "joined a hold that was released, or kept one for nobody")
    public static class JoinAgainstLastRelease {
        private final SharedHold hold = new SharedHold();
        private final LeaseHandle last = hold.reader();
        private LeaseHandle joined;

        @Actor
        public void release() {
            SharedHold.release(last);
        }

        @Actor
        public void join() {
            joined = hold.join();
        }

        @Arbiter
        public void look(III_Result r) {
            r.r1 = joined == null ? 0 : 1;
            r.r2 = joined != null && joined.isValid() ? 1 : 0;
            r.r3 = hold.lease.store.releases.get();
        }
    }

    /** Two readers leave at the same time: both have released, the hold is released once, and nothing is left. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "released once, by the last")
    @Outcome(expect = Expect.FORBIDDEN, desc = "another outcome, two releases or none, or something left")
    public static class ReleaseAgainstRelease {
        private final SharedHold hold = new SharedHold();
        private final LeaseHandle one = hold.reader();
        private final LeaseHandle other = hold.reader();

        @Actor
        public void release() {
            SharedHold.release(one);
        }

        @Actor
        public void releaseToo() {
            SharedHold.release(other);
        }

        @Arbiter
        public void look(IIII_Result r) {
            r.r1 = SharedHold.release(one);
            r.r2 = SharedHold.release(other);
            r.r3 = hold.lease.store.releases.get();
            r.r4 = hold.lease.isLeft() ? 1 : 0;
        }
    }

    /** The last reader leaves while the hold is lost: one of them wins, and both sides agree on the winner. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 0, 0", expect = Expect.ACCEPTABLE, desc = "released first: no callback")
    @Outcome(id = "2, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "lost first, and told once")
    @Outcome(
            id = "2, 0, 0, 0",
            expect = Expect.ACCEPTABLE,
            desc = "lost while release was called: after that no callback")
    @Outcome(expect = Expect.FORBIDDEN, desc = "two ends, no end, or something left")
    public static class LastReleaseAgainstLoss {
        private final SharedHold hold = new SharedHold();
        private final LeaseHandle last = hold.reader();
        private final AtomicInteger told = new AtomicInteger();

        public LastReleaseAgainstLoss() {
            last.onLost(cause -> told.incrementAndGet());
        }

        @Actor
        public void release() {
            SharedHold.release(last);
        }

        @Actor
        public void lose() {
            hold.lease.lose();
        }

        @Arbiter
        public void look(IIII_Result r) {
            r.r1 = SharedHold.release(last);
            r.r2 = told.get();
            r.r3 = last.isValid() ? 1 : 0;
            r.r4 = hold.lease.isLeft() ? 1 : 0;
        }
    }

    /** A writer becomes a reader while its lease is lost: there is a read lease, or a loss, and never both. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 1, 0", expect = Expect.ACCEPTABLE, desc = "downgraded: the loss came too late")
    @Outcome(id = "2, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "lost first, and told once")
    @Outcome(
            id = "2, 0, 0, 0",
            expect = Expect.ACCEPTABLE,
            desc = "lost while downgrade was called: after that no callback")
    @Outcome(expect = Expect.FORBIDDEN, desc = "both, neither, or something left")
    public static class DowngradeAgainstLoss {
        private final HeldLease writer = new HeldLease();
        private final Attempts attempts =
                new Attempts(writer.context, writer.queues, Workers.of(writer.context.runtime(), null));
        private CompletableFuture<LeaseHandle> reader = new CompletableFuture<>();

        @Actor
        public void downgrade() {
            reader = attempts.downgrade(writer.handle);
        }

        @Actor
        public void lose() {
            writer.lose();
        }

        @Arbiter
        public void look(IIII_Result r) {
            LeaseHandle lease = reader.exceptionally(error -> null).getNow(null);
            r.r1 = lease != null ? 1 : isLost() ? 2 : 0;
            r.r2 = writer.told.get();
            r.r3 = lease != null && lease.isValid() ? 1 : 0;
            boolean isBoth = lease != null && writer.keeper.ask(GrantMachine::cause) != null;
            if (lease != null) {
                SharedHold.release(lease);
            }
            r.r4 = isBoth || writer.isLeft() ? 1 : 0;
        }

        private boolean isLost() {
            return reader.handle((lease, error) -> Futures.unwrapped(error) instanceof LeaseLostException)
                    .getNow(false);
        }
    }
}
