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

/** The request of a {@code run} for its lock, for one of the permits of that name, or for the lock of its ticket. */
final class RunAttempt {

    private RunAttempt() {}

    /** Begins the attempt; cancelling the future withdraws it. */
    static CompletableFuture<Attempt<Lease>> begin(
            LockClient locks, RunTickets tickets, LockName name, @Nullable Duration maxWait) {
        CompletableFuture<Attempt<Lease>> resumed = tickets.resume(locks, maxWait);
        if (resumed != null) {
            return resumed;
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

    /** Whether the lock is held by one of these holders, or every permit of the name is. */
    static boolean isKeptBy(List<String> holders, LockAdmin admin, LockName name) {
        if (!name.isPermits()) {
            return admin.inspect(name)
                    .filter(holder -> holders.contains(holder.id()))
                    .isPresent();
        }
        return admin.permits(name)
                .filter(status -> status.held().size() >= status.count()
                        && status.held().stream()
                                .allMatch(permit ->
                                        holders.contains(permit.holder().id())))
                .isPresent();
    }

    /** The text about the present holder, or holders, for a line that shows what a run waits for. */
    static String holders(LockAdmin admin, LockName name) {
        if (!name.isPermits()) {
            return admin.inspect(name).map(RunAttempt::heldBy).orElse("");
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
        return (name.isPermits() ? "permits \"" : "lock \"") + name + "\"";
    }
}
