package io.leasehold.verify.client;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReentrantLockView;
import io.leasehold.testkit.history.HistorySink;
import io.leasehold.testkit.history.LeaseRecorder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The lock under test. */
final class LeaseContender implements Contender {

    private final StoreAccess.Opened opened;
    private final LockClient client;
    private final LeaseRecorder recorder;
    private final String process;
    private final HistorySink sink;
    private long attempts;

    LeaseContender(StoreAccess access, Duration ttl, String process, HistorySink sink) {
        this.process = process;
        this.sink = sink;
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(500))
                .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(200)));
        opened = access.connect(options, "chaos");
        client = opened.client();
        recorder = new LeaseRecorder(sink, process, System::nanoTime);
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
        if (++attempts % 4 == 0) {
            ReentrantLockView view = client.named(lock).asReentrantLock();
            return view.tryLock(patience.toMillis(), TimeUnit.MILLISECONDS)
                    ? ReentrantHeld.entered(view, lock, process, sink)
                    : null;
        }
        Lease lease = client.named(lock).tryAcquire(patience);
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
