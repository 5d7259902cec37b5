package io.leasehold.cli.command;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Durations;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreAccessException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.process.SignalForwarder;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The tickets of one run: the one that it resumes, and the one that it writes when the command has ended well. */
final class RunTickets {

    private static final Duration UNDO_PATIENCE = Duration.ofSeconds(5);

    private static final Duration DEFAULT_CLAIM = Duration.ofMinutes(2);

    /** The patience of the close that a signal causes; an export may take half of it. */
    private static final Duration PATIENCE_AFTER_SIGNAL = Duration.ofSeconds(2);

    /**
     * The options.
     *
     * @param resume the file with the ticket to resume, {@code -} for standard input, or null to acquire the lock
     * @param export the file for the ticket to write, or null to release the lock
     * @param claim how long the store keeps the lock for that ticket; null for two minutes, or the largest ttl of the store
     *     if that is shorter
     */
    record Options(
            @Nullable String resume,
            @Nullable String export,
            @Nullable Duration claim) {}

    private final @Nullable LeaseTicket toResume;
    private final @Nullable TicketFile toWrite;
    private final Options options;

    private RunTickets(@Nullable LeaseTicket toResume, @Nullable TicketFile toWrite, Options options) {
        this.toResume = toResume;
        this.toWrite = toWrite;
        this.options = options;
    }

    /**
     * Reads the ticket to resume, and checks the file to write.
     *
     * @throws IllegalArgumentException if a file is missing, is no ticket, or is one of another lock
     * @throws StoreAccessException if a file may not be read or written
     */
    static RunTickets open(Options options, LockName lock) {
        LeaseTicket ticket = null;
        String source = options.resume();
        if (source != null) {
            ticket = accessed("--resume", source, () -> TicketFile.read(source));
            if (!ticket.lockName().equals(lock)) {
                throw new IllegalArgumentException(
                        "--resume: the ticket is of lock \"" + ticket.lockName() + "\", not of \"" + lock + "\"");
            }
        }
        String target = options.export();
        TicketFile file = target == null ? null : accessed("--export", target, () -> TicketFile.prepare(target));
        return new RunTickets(ticket, file, options);
    }

    private interface Access<T> {
        T use() throws IOException;
    }

    private static <T> T accessed(String option, String file, Access<T> access) {
        try {
            return access.use();
        } catch (AccessDeniedException e) {
            throw new StoreAccessException(option + ": access to " + file + " is denied", e);
        } catch (NoSuchFileException e) {
            throw new IllegalArgumentException(option + ": there is no " + e.getFile(), e);
        } catch (IOException e) {
            throw new IllegalArgumentException(option + ": " + file + ": " + e.getMessage(), e);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(option + ": " + e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(option + ": " + file + ": " + e.getMessage(), e);
        }
    }

    /** Refuses a store that cannot do what the options say, before the lock is held. */
    void check(LockClient locks) {
        if ((toResume != null || toWrite != null) && !locks.keepsTickets()) {
            throw new UnsafeStoreException(
                    "store " + locks.storeDescription() + " does not keep a lock for a ticket: --export and --resume"
                            + " need another store",
                    null);
        }
        if (toWrite != null && claim(locks).compareTo(locks.maxTtl()) > 0) {
            throw new IllegalArgumentException("--claim is " + Durations.text(claim(locks)) + "; store "
                    + locks.storeDescription() + " accepts at most " + Durations.text(locks.maxTtl()));
        }
    }

    private Duration claim(LockClient locks) {
        Duration wanted = options.claim();
        if (wanted != null) {
            return wanted;
        }
        return DEFAULT_CLAIM.compareTo(locks.maxTtl()) < 0 ? DEFAULT_CLAIM : locks.maxTtl();
    }

    /** Begins to resume the ticket; returns null if the run has none. */
    @Nullable
    CompletableFuture<Attempt<Lease>> resume(LockClient locks, @Nullable Duration maxWait) {
        return toResume == null
                ? null
                : locks.resumeAsync(toResume, maxWait == null ? toResume.claim() : maxWait)
                        .thenApply(Attempt.Acquired::new);
    }

    /**
     * Returns the failure of the attempt to resume. A later run has another client, which cannot continue the attempt:
     * so the text says when the lock is free.
     */
    Failure failure(Throwable problem, Duration ttl) {
        Failure failure = Failure.of(problem);
        LeaseTicket ticket = toResume;
        if (ticket == null || !(problem instanceof AmbiguousAcquireException)) {
            return failure;
        }
        Throwable cause = problem.getCause();
        return new Failure(
                failure.code(),
                "the store did not confirm the resumption of lock \"" + ticket.lockName() + "\"; "
                        + afterAnUnknownResume(ttl) + (cause == null ? "" : ": " + cause.getMessage()));
    }

    /** Returns the sentence about the lock after a request to resume that has no answer. */
    static String afterAnUnknownResume(Duration ttl) {
        return "if the ticket was used, the lock is free within " + Durations.text(ttl)
                + "; if not, another run can resume it within its claim";
    }

    boolean isResuming() {
        return toResume != null;
    }

    /**
     * Deletes the file of an earlier run, once the lock is held and before the command starts: from then on, the file
     * exists only with the ticket of this run.
     *
     * @throws IllegalArgumentException if it cannot be deleted
     * @throws StoreAccessException if it may not be deleted
     */
    void begin() {
        TicketFile file = toWrite;
        String target = options.export();
        if (file != null && target != null) {
            accessed("--export", target, () -> {
                file.deleteOld();
                return file;
            });
        }
    }

    /**
     * Exports the lease and writes the ticket, if the command has ended well and the run is to do so. A signal ends the
     * wait for the store: it closes the client.
     *
     * @return the end of the lock, if it is another one than that of the lease
     */
    @Nullable
    ReleaseOutcome export(
            LockClient locks,
            Lease lease,
            Duration ttl,
            RunReport report,
            SignalForwarder signals,
            Consumer<String> notes)
            throws InterruptedException {
        TicketFile file = toWrite;
        if (file == null || !report.isSuccess()) {
            return null;
        }
        LeaseTicket ticket;
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(claim(locks));
        signals.handTo(signal -> locks.close(PATIENCE_AFTER_SIGNAL));
        try {
            ticket = exported.get();
        } catch (ExecutionException e) {
            report.failed(Failure.of(e.getCause() == null ? e : e.getCause()));
            return null;
        } finally {
            signals.handTo(null);
        }
        try {
            file.write(ticket);
            notes.accept("lock \"" + lease.lockName() + "\" is kept for the ticket in " + options.export() + " for "
                    + Durations.text(claim(locks)));
            return null;
        } catch (IOException e) {
            ReleaseOutcome undone = undone(locks, ticket);
            // A request to resume that has no answer may arrive at the end of the claim, and begins a ttl.
            String end = undone == ReleaseOutcome.RELEASED
                    ? "was released"
                    : "is free within " + Durations.text(ticket.claim().plus(ttl));
            report.ended(
                    RunReport.Outcome.INTERNAL,
                    ExitCode.INTERNAL.code(),
                    "the ticket could not be written to " + options.export() + ": " + e.getMessage() + "; the lock "
                            + end);
            return undone;
        }
    }

    /** No other process has the ticket: the lock need not wait for the end of the claim. */
    private static ReleaseOutcome undone(LockClient locks, LeaseTicket ticket) throws InterruptedException {
        try {
            return locks.resume(ticket, UNDO_PATIENCE).release();
        } catch (RuntimeException e) {
            return ReleaseOutcome.UNCONFIRMED;
        }
    }
}
