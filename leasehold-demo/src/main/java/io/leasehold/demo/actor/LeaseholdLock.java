package io.leasehold.demo.actor;

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
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A lock of Leasehold. */
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
                return new Denied(busy.votes().size() < 2 ? "busy" : words(busy.votes()));
            }
            return new Granted(new Held(attempt.orElseThrow()));
        } catch (LockStoreException e) {
            return new Denied(e.votes().isEmpty() ? String.valueOf(e.getMessage()) : words(e.votes()));
        }
    }

    /** The number of nodes per reply: {@code 1 busy, 1 granted, 1 refused (may have forgotten what it granted)}. */
    private static String words(List<NodeVote> votes) {
        Map<String, Integer> counts = new TreeMap<>();
        for (NodeVote vote : votes) {
            String answer = vote.answer().name().toLowerCase(Locale.ROOT);
            boolean telling =
                    vote.answer() == NodeVote.Answer.REFUSED && !vote.detail().isBlank();
            counts.merge(telling ? answer + " (" + vote.detail() + ")" : answer, 1, Integer::sum);
        }
        return counts.entrySet().stream()
                .map(entry -> entry.getValue() + " " + entry.getKey())
                .collect(Collectors.joining(", "));
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
