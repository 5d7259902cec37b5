package io.leasehold.cli.command;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Permits;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The request of a {@code run} for its lock, as a writer or a reader, for permits of that name, or for the lock of its
 * ticket.
 */
final class RunAttempt {

    /** More readers than one looks at. */
    private static final int MAX_READERS = 10_000;

    private RunAttempt() {}

    /**
     * Begins the attempt; cancelling the future withdraws it.
     *
     * @param take how many permits to take, for a name of permits; 0 for one
     */
    static CompletableFuture<Attempt<Lease>> begin(
            LockClient locks, RunTickets tickets, LockName name, int take, @Nullable Duration maxWait) {
        CompletableFuture<Attempt<Lease>> resumed = tickets.resume(locks, maxWait);
        if (resumed != null) {
            return resumed;
        }
        if (name.isRead()) {
            return begun(locks.readWrite(name.asExclusive()).read(), maxWait);
        }
        if (!name.isPermits()) {
            return begun(locks.named(name), maxWait);
        }
        Permits permits = locks.permits(name, name.permitCount());
        return take == 0
                ? begun(permits, maxWait).thenApply(attempt -> asLease(attempt, permit -> permit))
                : begun(permits.several(take), maxWait).thenApply(attempt -> asLease(attempt, LeaseOfPermits::new));
    }

    private static <L extends Hold> CompletableFuture<Attempt<L>> begun(
            Acquirable<L> lock, @Nullable Duration maxWait) {
        return maxWait == null ? lock.acquireAsync().thenApply(Attempt.Acquired::new) : lock.attemptAsync(maxWait);
    }

    private static <H extends Hold> Attempt<Lease> asLease(Attempt<H> attempt, Function<H, Lease> form) {
        if (attempt instanceof Attempt.Busy<H> busy) {
            return new Attempt.Busy<>(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
        }
        return new Attempt.Acquired<>(form.apply(attempt.orElseThrow()));
    }

    /**
     * Whether one of these holders keeps the lock from this request: it holds the lock, is a reader of it, or they have so
     * many permits of the name that too few are left. A reader keeps the lock from another reader if a writer waits in
     * between.
     *
     * @param take how many permits the request takes; 0 for one
     */
    static boolean isKeptBy(List<String> holders, LockAdmin admin, LockName name, int take) {
        if (!name.isPermits()) {
            Holder holder = admin.inspect(name.asExclusive()).orElse(null);
            return holder != null
                    && (holders.contains(holder.id()) || (holder.isReaders() && isReadBy(holders, admin, name)));
        }
        return admin.permits(name)
                .filter(status -> status.count() - heldBy(holders, status) < Math.max(1, take))
                .isPresent();
    }

    private static long heldBy(List<String> holders, PermitsStatus status) {
        return status.held().stream()
                .filter(permit -> holders.contains(permit.holder().id()))
                .count();
    }

    private static boolean isReadBy(List<String> holders, LockAdmin admin, LockName name) {
        return admin.readers(name, MAX_READERS).stream().anyMatch(reader -> holders.contains(reader.id()));
    }

    /** The text about the present holder, or holders, for a line that shows what a run waits for. */
    static String holders(LockAdmin admin, LockName name) {
        if (!name.isPermits()) {
            return admin.inspect(name.asExclusive()).map(RunAttempt::heldBy).orElse("");
        }
        List<PermitsStatus.HeldPermit> held =
                admin.permits(name).map(PermitsStatus::held).orElse(List.of());
        return held.isEmpty()
                ? ""
                : ": " + held.size() + " held, one by " + held.get(0).holder().id();
    }

    private static String heldBy(Holder holder) {
        return ": held by " + holder.id();
    }

    /** The lock or the permits, for messages. */
    static String what(LockName name) {
        if (name.isPermits()) {
            return "permits \"" + name + "\"";
        }
        return "lock \"" + name + (name.isRead() ? "\" for reading" : "\"");
    }
}
