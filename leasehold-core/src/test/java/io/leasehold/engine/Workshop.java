package io.leasehold.engine;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.util.List;

/** The parts of one client, connected as in {@link EngineClient}, and accessible to a test. */
final class Workshop {

    static final LockName NAME = LockName.exactly("the-lock");

    final LockRuntime runtime;
    final TimerQueue timeline;
    final LocalQueues queues;
    final HoldTable holds = new HoldTable();
    final EngineContext context;
    final WaitSettings settings;

    Workshop(LockRuntime runtime, LockStore store) {
        this(runtime, store, LockOptions.defaults());
    }

    Workshop(LockRuntime runtime, LockStore store, LockOptions options) {
        this(runtime, store, options, List.of());
    }

    Workshop(LockRuntime runtime, LockStore store, LockOptions options, List<LockListener> listeners) {
        this.runtime = runtime;
        this.timeline = new TimerQueue(runtime);
        this.queues = new LocalQueues(timeline);
        this.settings = WaitSettings.of(options, store);
        this.context = new EngineContext(
                runtime,
                timeline,
                store,
                new Events(listeners),
                new ReleaseRetrier(runtime, timeline, store),
                new RenewalBatcher(runtime, timeline, store),
                holds,
                new SuspendWatch(runtime, timeline, holds),
                new LeakWatch(false),
                new ClientAnnouncer(runtime, timeline, store, holds, "host/1/test"),
                "host/1/test");
    }

    AcquireAttempt waiter() {
        return waiter(Long.MAX_VALUE);
    }

    AcquireAttempt waiter(long maxWaitNanos) {
        return new AcquireAttempt(NAME, settings, maxWaitNanos, context, queues, null);
    }

    /** Returns a grant of 64 tokens that starts now. */
    Grant grant() {
        return new Grant(OwnerToken.draw(runtime), TokenRange.of(1_000, 64), runtime.nanoTime(), Incarnation.DURABLE);
    }

    HeldGrant keeper() {
        return new HeldGrant(NAME, grant(), 0, 0, settings, context, queues);
    }
}
