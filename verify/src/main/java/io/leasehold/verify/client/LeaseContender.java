package io.leasehold.verify.client;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.ReentrantLockView;
import io.leasehold.simulator.history.HistorySink;
import io.leasehold.simulator.history.LeaseRecorder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The lock under test. */
final class LeaseContender implements SharedContender {

    private final StoreAccess.Opened opened;
    private final LockClient client;
    private final LeaseRecorder recorder;
    private final String process;
    private final HistorySink sink;
    private final InterruptedWaits waits = new InterruptedWaits();
    private long attempts;

    LeaseContender(StoreAccess access, Duration ttl, String process, HistorySink sink) {
        this.process = process;
        this.sink = sink;
        opened = access.connect(options(ttl), "chaos");
        client = opened.client();
        recorder = new LeaseRecorder(sink, process, System::nanoTime);
    }

    /** The options of clients in these runs. */
    static LockOptions options(Duration ttl) {
        return LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(500))
                .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(200)));
    }

    /** Creates a contender for another thread of the same process. */
    private LeaseContender(StoreAccess.Opened opened, String process, HistorySink sink) {
        this.process = process;
        this.sink = sink;
        this.opened = opened;
        this.client = opened.client();
        this.recorder = new LeaseRecorder(sink, process, System::nanoTime);
    }

    @Override
    public LeaseContender beside(String ofProcess) {
        return new LeaseContender(opened, ofProcess, sink);
    }

    @Override
    public void interrupt() {
        waits.interrupt();
    }

    @Override
    public @Nullable Held acquireBoth(String lock, String other, Duration patience) {
        MultiLease lease = waits.during(() -> client.all(lock, other).tryAcquire(patience));
        return lease == null ? null : MultiHeld.acquired(lease, lock, process, sink);
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) {
        if (++attempts % 4 == 0) {
            ReentrantLockView view = client.named(lock).asReentrantLock();
            return Boolean.TRUE.equals(waits.during(() -> view.tryLock(patience.toMillis(), TimeUnit.MILLISECONDS)))
                    ? ReentrantHeld.entered(view, lock, process, sink)
                    : null;
        }
        Lease lease = waits.during(() -> client.named(lock).tryAcquire(patience));
        if (lease == null) {
            return null;
        }
        recorder.acquired(lease);
        return new Held() {
            @Override
            public long token() {
                return lease.fencingToken();
            }

            @Override
            public boolean stillHolds() {
                return recorder.stillHolds(lease);
            }

            @Override
            public void release() {
                recorder.ended(lease, lease.isValid() ? "released" : "lost");
                recorder.released(lease, lease.release());
            }
        };
    }

    @Override
    public void close() {
        opened.close();
    }
}
