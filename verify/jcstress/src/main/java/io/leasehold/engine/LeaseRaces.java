package io.leasehold.engine;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.III_Result;

/** The concurrent actions of threads on one lease. Outcomes of a release: 1 released, 2 already lost, 3 unconfirmed. */
public final class LeaseRaces {

    private LeaseRaces() {}

    /** Release against loss: one of them wins, both sides agree on the winner, and no state is left. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 0, 0", expect = Expect.ACCEPTABLE, desc = "released first: no callback")
    @Outcome(id = "2, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "lost first, and told once")
    @Outcome(
            id = "2, 0, 0, 0",
            expect = Expect.ACCEPTABLE,
            desc = "lost while release was called: after that no callback")
    @Outcome(expect = Expect.FORBIDDEN, desc = "two ends, no end, or something left")
    public static class ReleaseAgainstLoss {
        private final HeldLease lease = new HeldLease();

        @Actor
        public void release() {
            lease.release();
        }

        @Actor
        public void lose() {
            lease.lose();
        }

        @Arbiter
        public void look(IIII_Result r) {
            r.r1 = lease.outcome();
            r.r2 = lease.told.get();
            r.r3 = lease.handle.isValid() ? 1 : 0;
            r.r4 = lease.isLeft() ? 1 : 0;
        }
    }

    /** A signal against the beginning: a lost lease is left in no table, and the caller notices the loss. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "lost, and nothing is left")
    @Outcome(id = "0, 1, 1", expect = Expect.ACCEPTABLE, desc = "held: the signal came before it")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, and something is left")
    public static class SignalAgainstBeginning {
        private final HeldLease lease = new HeldLease(HeldLease.NAME, false);

        @Actor
        public void begin() {
            lease.begin();
        }

        @Actor
        public void lose() {
            lease.loseIfFound();
        }

        @Arbiter
        public void look(III_Result r) {
            r.r1 = lease.keeper.ask(GrantMachine::cause) == null ? 0 : 1;
            r.r2 = lease.handle.isValid() ? 1 : 0;
            r.r3 = lease.isLeft() ? 1 : 0;
        }
    }

    /** Two threads release, or one releases and one closes: one outcome for both, and one request. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "the same outcome for both")
    @Outcome(expect = Expect.FORBIDDEN, desc = "different outcomes, or something left")
    public static class ReleaseAgainstClose {
        private final HeldLease lease = new HeldLease();

        @Actor
        public void release(IIII_Result r) {
            r.r1 = lease.handle.release().ordinal() + 1;
        }

        @Actor
        public void close(IIII_Result r) {
            lease.handle.close();
            r.r2 = lease.outcome();
        }

        @Arbiter
        public void look(IIII_Result r) {
            r.r3 = lease.handle.isValid() ? 1 : 0;
            r.r4 = lease.isLeft() ? 1 : 0;
        }
    }

    /**
     * Release against a renewal: whatever is in flight, no renewal is sent after the release, and the renewal is
     * answered.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0, 0", expect = Expect.ACCEPTABLE, desc = "released; the renewal was answered")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a renewal after the release, one without an answer, or something left")
    public static class ReleaseAgainstRenewal {
        private final HeldLease lease = new HeldLease();
        private java.util.concurrent.CompletableFuture<Void> renewal;

        @Actor
        public void release() {
            lease.release();
        }

        @Actor
        public void renew() {
            renewal = lease.keeper.renewByHand();
        }

        @Arbiter
        public void look(IIII_Result r) {
            r.r1 = lease.outcome();
            r.r2 = renewal.isDone() ? 1 : 0;
            r.r3 = lease.store.renewedAfterRelease ? 1 : 0;
            r.r4 = lease.isLeft() ? 1 : 0;
        }
    }

    /** A late success never revokes a loss: a renewal against a loss. */
    @JCStressTest
    @State
    @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "asked after the renewal, before the loss")
    @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "asked after the loss")
    @Outcome(expect = Expect.FORBIDDEN, desc = "valid after it was lost")
    public static class LossAgainstRenewal {
        private final HeldLease lease = new HeldLease();

        @Actor
        public void lose(III_Result r) {
            lease.lose();
            r.r1 = lease.handle.isValid() ? 1 : 0;
        }

        @Actor
        public void renew(III_Result r) {
            lease.keeper.renewByHand();
            r.r2 = lease.handle.isValid() ? 1 : 0;
        }

        @Arbiter
        public void look(III_Result r) {
            r.r3 = lease.handle.isValid() ? 1 : 0;
        }
    }

    /** A loss against a new listener: each callback is notified exactly once. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "both told once")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a callback not told, or told twice")
    public static class LossAgainstListening {
        private final HeldLease lease = new HeldLease();
        private final java.util.concurrent.atomic.AtomicInteger late = new java.util.concurrent.atomic.AtomicInteger();

        @Actor
        public void lose() {
            lease.lose();
        }

        @Actor
        public void listen() {
            lease.handle.onLost(cause -> late.incrementAndGet());
        }

        @Arbiter
        public void look(III_Result r) {
            r.r1 = lease.told.get();
            r.r2 = late.get();
            r.r3 = lease.isLeft() ? 1 : 0;
        }
    }

    /** interruptOnLoss: after the call of release, no interrupt is delivered. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "released, not interrupted")
    @Outcome(id = "2, 1, 0", expect = Expect.ACCEPTABLE, desc = "interrupted by the loss, before the release")
    @Outcome(id = "2, 0, 0", expect = Expect.ACCEPTABLE, desc = "lost during the release, not interrupted")
    @Outcome(expect = Expect.FORBIDDEN, desc = "interrupted after the release")
    public static class ReleaseAgainstInterrupt {
        private final HeldLease lease = new HeldLease();

        @Actor
        public void hold(III_Result r) {
            lease.handle.interruptOnLoss();
            lease.release();
            r.r2 = Thread.interrupted() ? 1 : 0;
            // From here on no interrupt may arrive.
            for (int i = 0; i < 50; i++) {
                Thread.onSpinWait();
            }
            r.r3 = Thread.interrupted() ? 1 : 0;
        }

        @Actor
        public void lose() {
            lease.lose();
        }

        @Arbiter
        public void look(III_Result r) {
            r.r1 = lease.outcome();
        }
    }
}
