package io.leasehold.verify.client;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.testkit.history.HistorySink;
import io.leasehold.testkit.history.LeaseRecorder;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The lock under test. */
final class LeaseContender implements Contender {

    private final LockClient client;
    private final LeaseRecorder recorder;

    LeaseContender(String uri, Duration ttl, String process, HistorySink sink) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(500))
                .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(200)));
        client = Leasehold.builder().store(uri).defaults(options).label("chaos").connect();
        recorder = new LeaseRecorder(sink, process, System::nanoTime);
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) throws InterruptedException {
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
                lease.close();
            }
        };
    }

    @Override
    public void close() {
        client.close();
    }
}
