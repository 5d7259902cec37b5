package io.leasehold.engine;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two waiters of this process behind a lease that may be handed to them: in every case, one of them continues. */
public final class QueueRaces {

    private QueueRaces() {}

    /** The lease ends while the first waiter leaves: the second must not sleep. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "the second contends")
    @Outcome(expect = Expect.FORBIDDEN, desc = "the second sleeps beside a lock that is not held")
    public static class EndAgainstLeaving {
        private final HeldLease lease = new HeldLease();
        private final AnsweringStore secondsStore = new AnsweringStore();
        private final AcquireAttempt first = lease.waiter(new AnsweringStore());
        private final AcquireAttempt second = lease.waiter(secondsStore);

        public EndAgainstLeaving() {
            lease.queues.enter(first);
            lease.queues.enter(second);
        }

        @Actor
        public void end() {
            lease.lose();
        }

        @Actor
        public void leave() {
            first.giveUp();
        }

        @Arbiter
        public void look(II_Result r) {
            r.r1 = secondsStore.asked ? 1 : 0;
            r.r2 = lease.holds.isEmpty() ? 0 : 1;
        }
    }

    /**
     * The lease is released while the first waiter gives up: the second acquires it, or contends; the release is
     * answered.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "handed to the second, or the second contends")
    @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "handed to the first, which gave it back to the second")
    @Outcome(expect = Expect.FORBIDDEN, desc = "an unanswered release, or a lock for nobody")
    public static class ReleaseAgainstGivingUp {
        private final HeldLease lease = new HeldLease();
        private final AnsweringStore secondsStore = new AnsweringStore();
        private final AcquireAttempt first = lease.waiter(new AnsweringStore());
        private final AcquireAttempt second = lease.waiter(secondsStore);

        public ReleaseAgainstGivingUp() {
            lease.queues.enter(first);
            lease.queues.enter(second);
        }

        @Actor
        public void release() {
            lease.release();
        }

        @Actor
        public void giveUp() {
            first.giveUp();
        }

        @Arbiter
        public void look(III_Result r) {
            boolean firstHadIt = !first.result().isCompletedExceptionally();
            boolean secondGoesOn = second.result().isDone() || secondsStore.asked;
            r.r1 = lease.outcome() == 1 ? 1 : 0;
            r.r2 = secondGoesOn && !firstHadIt ? 1 : 0;
            r.r3 = secondGoesOn && firstHadIt ? 1 : 0;
        }
    }
}
