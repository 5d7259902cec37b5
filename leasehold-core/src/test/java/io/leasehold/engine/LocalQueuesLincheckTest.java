package io.leasehold.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The local queue of a name is linearizable, and no attempt waits in it for a lock that this process does not hold.
 * Lincheck explores the interleavings of entering, of leaving, and of grants that begin and end.
 */
@Param(name = "waiter", gen = IntGen.class, conf = "0:2")
@Param(name = "grant", gen = IntGen.class, conf = "0:1")
@Tag("full")
public final class LocalQueuesLincheckTest {

    private final SilentStore[] stores = {new SilentStore(), new SilentStore(), new SilentStore()};
    private final AcquireAttempt[] waiters = new AcquireAttempt[3];
    private final HeldGrant[] grants = new HeldGrant[2];
    private final LocalQueues queues;

    public LocalQueuesLincheckTest() {
        StillRuntime runtime = new StillRuntime();
        Workshop workshop = new Workshop(runtime, new SilentStore());
        queues = workshop.queues;
        for (int i = 0; i < waiters.length; i++) {
            // Each waiter has its own store, which shows which waiter has begun to contend.
            EngineContext context = new Workshop(runtime, stores[i]).context;
            waiters[i] = new AcquireAttempt(Workshop.NAME, workshop.settings, Long.MAX_VALUE, context, queues, null);
        }
        for (int i = 0; i < grants.length; i++) {
            grants[i] = workshop.keeper();
        }
    }

    @Operation
    public void enter(@Param(name = "waiter") int waiter) {
        queues.enter(waiters[waiter]);
    }

    @Operation
    public void leave(@Param(name = "waiter") int waiter) {
        queues.leave(waiters[waiter]);
    }

    @Operation
    public void granted(@Param(name = "grant") int grant) {
        queues.granted(Workshop.NAME, grants[grant], 1);
    }

    @Operation
    public void ended(@Param(name = "grant") int grant) {
        queues.ended(Workshop.NAME, grants[grant]);
    }

    @Operation
    public int first() {
        LocalQueues.Contender first = queues.first(Workshop.NAME);
        for (int i = 0; i < waiters.length; i++) {
            if (waiters[i] == first) {
                return i;
            }
        }
        return -1;
    }

    @Operation
    public int held() {
        LocalQueues.Passable held = queues.held(Workshop.NAME);
        return held == null ? -1 : held == grants[0] ? 0 : 1;
    }

    /** The first attempt in the queue contends, unless a grant of this process may still be passed on to it. */
    @Validate
    public void nobodySleepsBesideALockThatIsNotHeld() {
        int first = first();
        if (first >= 0 && held() < 0 && stores[first].acquires().isEmpty()) {
            throw new IllegalStateException("waiter " + first + " is first in line, nothing is held, and it sleeps");
        }
        if (queues.isEmpty() != (first < 0 && held() < 0)) {
            throw new IllegalStateException("a desk without waiters and grants is left, or one with them is gone");
        }
    }

    /** The same operations on plain collections. */
    public static final class Plain {
        private final Deque<Integer> line = new ArrayDeque<>();
        private int held = -1;

        public void enter(int waiter) {
            line.addLast(waiter);
        }

        public void leave(int waiter) {
            line.removeFirstOccurrence(waiter);
        }

        public void granted(int grant) {
            held = grant;
        }

        public void ended(int grant) {
            held = held == grant ? -1 : held;
        }

        public int first() {
            Integer first = line.peekFirst();
            return first == null ? -1 : first;
        }

        public int held() {
            return held;
        }
    }

    @Test
    void isLinearizableAndLetsNobodySleep() {
        Lincheck.stress(LocalQueuesLincheckTest.class, Plain.class);
    }
}
