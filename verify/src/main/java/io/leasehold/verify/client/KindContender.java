package io.leasehold.verify.client;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.WriteLease;
import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.history.HistorySink;
import io.leasehold.simulator.history.LeaseRecorder;
import io.leasehold.simulator.history.LeaseText;
import java.time.Duration;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Leases of a kind under test: readers and writers, permits, or locks that travel by tickets. */
final class KindContender implements SharedContender {

    private static final int MIN_CLAIM_MILLIS = 300;
    private static final int CLAIMS_MILLIS = 1_500;

    private final LeaseKind kind;
    private final StoreAccess.Opened opened;
    private final LockClient client;
    private final TicketFiles tickets;
    private final String process;
    private final HistorySink sink;
    private final LeaseRecorder recorder;
    private final SplittableRandom random;
    private final InterruptedWaits waits = new InterruptedWaits();

    /**
     * Creates a contender.
     *
     * @param process unique across restarts
     */
    KindContender(LeaseKind kind, StoreAccess.Opened opened, TicketFiles tickets, String process, HistorySink sink) {
        this.kind = kind;
        this.opened = opened;
        this.client = opened.client();
        this.tickets = tickets;
        this.process = process;
        this.sink = sink;
        this.recorder = new LeaseRecorder(sink, process, System::nanoTime);
        this.random = new SplittableRandom(process.hashCode());
    }

    @Override
    public KindContender beside(String ofProcess) {
        return new KindContender(kind, opened, tickets, ofProcess, sink);
    }

    @Override
    public void interrupt() {
        waits.interrupt();
    }

    @Override
    public @Nullable Held acquire(String lock, Duration patience) {
        TicketFiles.Issued issued = kind == LeaseKind.TICKETS ? tickets.any(lock, random) : null;
        if (issued != null) {
            Lease resumed = waits.during(() -> client.resume(issued.ticket(), patience));
            if (resumed == null) {
                return null;
            }
            Held held = held(resumed);
            tickets.resumed(issued, resumed.fencingToken(), process);
            return held;
        }
        Lease lease = waits.during(() -> attempt(lock, patience));
        return lease == null ? null : held(lease);
    }

    private @Nullable Lease attempt(String lock, Duration patience) throws InterruptedException {
        return switch (kind) {
            case READERS ->
                random.nextInt(3) == 0
                        ? client.readWrite(lock).write().tryAcquire(patience)
                        : client.readWrite(lock).read().tryAcquire(patience);
            case PERMITS -> client.permits(lock, ClientMain.PERMITS).tryAcquire(patience);
            case TICKETS, LOCKS -> client.named(lock).tryAcquire(patience);
        };
    }

    /** Several at once is for locks; here one of them. */
    @Override
    public @Nullable Held acquireBoth(String lock, String other, Duration patience) {
        return acquire(lock, patience);
    }

    private Held held(Lease lease) {
        recorder.acquired(lease);
        return new KindHeld(lease);
    }

    @Override
    public void close() {
        opened.close();
    }

    private final class KindHeld implements Held {
        private final Lease lease;

        KindHeld(Lease lease) {
            this.lease = lease;
        }

        @Override
        public long token() {
            return lease.fencingToken();
        }

        @Override
        public boolean stillHolds() {
            return recorder.stillHolds(lease);
        }

        @Override
        public boolean onlyReads() {
            return lease.lockName().isRead();
        }

        @Override
        public String resource(String lock) {
            return kind == LeaseKind.PERMITS ? LeaseText.of(lease) : lock;
        }

        @Override
        public void release() {
            recorder.ended(lease, lease.isValid() ? "released" : "lost");
            recorder.released(lease, lease.release());
        }

        @Override
        public @Nullable Held leave() {
            if (kind == LeaseKind.READERS && lease instanceof WriteLease writer && random.nextInt(3) == 0) {
                recorder.ended(lease, "downgraded");
                return downgraded(writer);
            } else if (kind == LeaseKind.TICKETS && random.nextBoolean()) {
                recorder.ended(lease, "exported");
                export();
                return null;
            }
            release();
            return null;
        }

        private @Nullable Held downgraded(WriteLease writer) {
            try {
                return held(writer.downgrade());
            } catch (LockStoreException | LeaseLostException | IllegalStateException lost) {
                return null;
            }
        }

        private void export() {
            LeaseTicket ticket;
            try {
                ticket = lease.export(Duration.ofMillis(MIN_CLAIM_MILLIS + random.nextInt(CLAIMS_MILLIS)));
            } catch (LockStoreException | LeaseLostException | IllegalStateException notExported) {
                return;
            }
            tickets.issued(ticket, lease.fencingToken(), process);
        }
    }
}
