package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Handles that became unreachable; the test acts as the garbage collector. */
@Tag("quick")
final class LeakWatchTest {

    private final List<String> found = new ArrayList<>();
    private final List<Object> handles = new ArrayList<>();
    private final LeakWatch watch = new LeakWatch(false);

    private Object handle() {
        Object handle = new Object();
        handles.add(handle);
        return handle;
    }

    private LeakWatch.Watched lease(String name, boolean held) {
        return new LeakWatch.Watched() {
            @Override
            public LockName name() {
                return LockName.exactly(name);
            }

            @Override
            public long token() {
                return 42;
            }

            @Override
            public boolean isLeaked() {
                return held;
            }

            @Override
            public void leaked() {
                found.add(name);
                if (name.equals("fails")) {
                    throw new InternalError("made by the test");
                }
            }
        };
    }

    private static String logged(Runnable step) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aDroppedHandleIsReportedOnce() {
        LeakWatch.Trace trace = watch.trace(handle(), lease("dropped", true), null);
        watch.report();
        assertThat(found).isEmpty();
        assertThat(trace.enqueue()).isTrue();
        watch.report();
        watch.report();
        assertThat(found).containsExactly("dropped");
    }

    @Test
    void theNextHandleFindsThoseThatWereDropped() {
        watch.trace(handle(), lease("dropped", true), null).enqueue();
        watch.trace(handle(), lease("next", true), null);
        assertThat(found).containsExactly("dropped");
    }

    @Test
    void aHandleWhoseLeaseHasEndedIsNoLeak() {
        LeakWatch.Trace ended = watch.trace(handle(), lease("ended", false), new Throwable("the stack"));
        ended.enqueue();
        assertThat(logged(watch::report)).isEmpty();
        assertThat(found).isEmpty();
    }

    @Test
    void aReportThatFailsCostsNoOther() {
        LeakWatch.Trace first = watch.trace(handle(), lease("fails", true), null);
        LeakWatch.Trace second = watch.trace(handle(), lease("fails", true), null);
        first.enqueue();
        second.enqueue();
        logged(watch::report);
        assertThat(found).containsExactly("fails", "fails");
    }

    @Test
    void aLeakIsLoggedWithItsStackWhereStacksAreRecorded() {
        LeakWatch recording = new LeakWatch(true);
        assertThat(watch.captureStack()).isNull();
        Throwable stack = recording.captureStack();
        assertThat(stack).hasMessage("the lease was acquired here");
        recording.trace(handle(), lease("dropped", true), stack).enqueue();
        assertThat(logged(recording::report))
                .contains("ERROR", "lock=dropped", "fencingToken=42", "\"dropped\" was dropped", "acquired here");
        watch.trace(handle(), lease("without", true), null).enqueue();
        assertThat(logged(watch::report)).isEmpty();
        assertThat(found).containsExactly("dropped", "without");
    }

    /** The holder is done with the lease, although it may still be held at the store. */
    @Test
    void aLeaseThatWasReleasedIsNoLeak() {
        StillRuntime runtime = new StillRuntime();
        Workshop shop = new Workshop(runtime, new SilentStore());
        LeaseHandle lease = shop.keeper().begin(shop.context.suspensions().mark(), null);
        assertThat(lease.state().isLeaked()).isTrue();
        assertThat(lease.releaseAsync()).isNotNull();
        assertThat(lease.state().isLeaked()).isFalse();
    }

    /** Renewals keep a dropped lease alive, so each renewal checks for dropped leases. */
    @Test
    void eachRenewalLooksForDroppedHandles() {
        StillRuntime runtime = new StillRuntime();
        Workshop shop = new Workshop(runtime, new SilentStore());
        LeaseHandle kept = shop.keeper().begin(shop.context.suspensions().mark(), null);
        shop.context.leaks().trace(handle(), lease("dropped", true), null).enqueue();
        assertThat(found).isEmpty();
        runtime.pass(java.time.Duration.ofSeconds(11));
        assertThat(found).containsExactly("dropped");
        assertThat(kept.state().isUnreleased()).isTrue();
    }
}
