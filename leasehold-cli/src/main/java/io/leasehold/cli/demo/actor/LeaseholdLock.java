package io.leasehold.cli.demo.actor;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import java.time.Duration;
import java.util.Locale;
import java.util.stream.Collectors;

/** Ours. */
final class LeaseholdLock implements ActorLock {

    private final LockClient client;
    private final DistributedLock lock;

    LeaseholdLock(String storeUri, String name, Duration ttl, String label) {
        client = Leasehold.builder()
                .store(storeUri)
                .defaults(LockOptions.defaults().ttl(ttl))
                .label(label)
                .connect();
        lock = client.named(name);
    }

    @Override
    public Answer acquire(Duration patience, Interlude between) throws InterruptedException {
        try {
            Attempt<Lease> attempt = lock.attempt(patience);
            if (attempt instanceof Attempt.Busy<Lease> busy) {
                String votes = busy.votes().stream()
                        .map(LeaseholdLock::words)
                        .distinct()
                        .collect(Collectors.joining("; "));
                return new Denied(votes.isEmpty() ? "busy" : votes);
            }
            return new Granted(new Held(attempt.orElseThrow()));
        } catch (LockStoreException e) {
            // What each node said in full is more than a line can show.
            String message = String.valueOf(e.getMessage());
            int firstNode = message.indexOf(';');
            return new Denied(firstNode < 0 ? message : message.substring(0, firstNode));
        }
    }

    private static String words(NodeVote vote) {
        String answer = vote.answer().name().toLowerCase(Locale.ROOT);
        return vote.detail().isBlank() || vote.answer() == NodeVote.Answer.BUSY
                ? answer
                : answer + " (" + vote.detail() + ")";
    }

    @Override
    public void close() {
        client.close();
    }

    private static final class Held implements Hold {

        private final Lease lease;

        Held(Lease lease) {
            this.lease = lease;
        }

        @Override
        public long fencingToken() {
            return lease.fencingToken();
        }

        @Override
        public long remainingNanos() {
            return lease.remainingValidity().toNanos();
        }

        @Override
        public boolean isValidFor(Duration duration) {
            try {
                lease.ensureValidFor(duration);
                return true;
            } catch (LeaseLostException | LeaseAtRiskException e) {
                return false;
            }
        }

        @Override
        public void onLost(LossListener listener) {
            lease.onLost(cause -> listener.lost(cause.name()));
        }

        @Override
        public String release(Interlude between) throws InterruptedException {
            between.between("the decision to release");
            return lease.release().name();
        }
    }
}
