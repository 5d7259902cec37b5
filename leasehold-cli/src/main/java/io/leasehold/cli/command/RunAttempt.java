package io.leasehold.cli.command;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The request of a {@code run} for its lock, as a writer or a reader, for one of the permits of that name, or for the lock
 * of its ticket.
 */
final class RunAttempt {

    /** More readers than one looks at. */
    private static final int MAX_READERS = 10_000;

    private RunAttempt() {}

    /** Begins the attempt; cancelling the future withdraws it. */
    static CompletableFuture<Attempt<Lease>> begin(
            LockClient locks, RunTickets tickets, LockName name, @Nullable Duration maxWait) {
        CompletableFuture<Attempt<Lease>> resumed = tickets.resume(locks, maxWait);
        if (resumed != null) {
            return resumed;
        }
        if (name.isRead()) {
            return begun(locks.readWrite(name.asExclusive()).read(), maxWait);
        }
        return name.isPermits()
                ? begun(locks.permits(name, name.permitCount()), maxWait).thenApply(RunAttempt::asLease)
                : begun(locks.named(name), maxWait);
    }

    private static <L extends Lease> CompletableFuture<Attempt<L>> begun(
            Acquirable<L> lock, @Nullable Duration maxWait) {
        return maxWait == null ? lock.acquireAsync().thenApply(Attempt.Acquired::new) : lock.attemptAsync(maxWait);
    }

    private static Attempt<Lease> asLease(Attempt<? extends Lease> attempt) {
        if (attempt instanceof Attempt.Busy<? extends Lease> busy) {
            return new Attempt.Busy<>(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
        }
        return new Attempt.Acquired<>(attempt.orElseThrow());
    }

    /**
     * Whether one of these holders keeps the lock from this request: it holds the lock, is a reader of it and the request is
     * for a writer, or they have every permit of the name.
     */
    static boolean isKeptBy(List<String> holders, LockAdmin admin, LockName name) {
        if (!name.isPermits()) {
            Holder holder = admin.inspect(name.asExclusive()).orElse(null);
            return holder != null
                    && (holders.contains(holder.id())
                            || (holder.isReaders() && !name.isRead() && isReadBy(holders, admin, name)));
        }
        return admin.permits(name)
                .filter(status -> status.held().size() >= status.count()
                        && status.held().stream()
                                .allMatch(permit ->
                                        holders.contains(permit.holder().id())))
                .isPresent();
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
