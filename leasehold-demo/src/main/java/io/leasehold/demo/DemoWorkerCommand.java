package io.leasehold.demo;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.StoreOption;
import io.leasehold.demo.history.CounterFile;
import io.leasehold.demo.history.HistoryEvent.Kind;
import io.leasehold.demo.history.HistoryFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasehold demo-worker}: one of the processes of {@code leasehold demo}; not to be started by hand. */
@Command(name = "demo-worker", hidden = true, description = "One of the processes of demo.")
public final class DemoWorkerCommand implements Callable<Integer> {

    private final StoreOption store;

    @Option(names = "--name", required = true, description = "The worker's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--directory", required = true, description = "Where counter and history are.")
    @SuppressWarnings("NullAway.Init")
    private Path directory;

    @Option(names = "--ttl", required = true, converter = DurationConverter.class, description = "Of the lock.")
    @SuppressWarnings("NullAway.Init")
    private Duration ttl;

    @Option(names = "--pause", required = true, converter = DurationConverter.class, description = "In an increment.")
    @SuppressWarnings("NullAway.Init")
    private Duration pause;

    @Option(names = "--increments", required = true, description = "In one turn.")
    private int increments;

    @Option(names = "--without-lock", description = "Take no lock.")
    private boolean withoutLock;

    private final WorkerControl control = new WorkerControl();

    /** Creates a command that uses a lock in this store. */
    public DemoWorkerCommand(StoreOption store) {
        this.store = store;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        control.follow(System.in);
        HistoryFile history = new HistoryFile(directory, name);
        CounterFile counter = new CounterFile(directory);
        if (withoutLock) {
            compete(history, counter, null);
            return ExitCode.OK.code();
        }
        try (LockClient locks = Leasehold.builder()
                .store(store.uri(Map.of()))
                .defaults(LockOptions.defaults().ttl(ttl))
                .label(name)
                .connect()) {
            compete(history, counter, locks.named(DemoSettings.LOCK));
        }
        return ExitCode.OK.code();
    }

    private void compete(HistoryFile history, CounterFile counter, @Nullable DistributedLock lock)
            throws IOException, InterruptedException {
        append(history, Kind.READY, null, 0);
        control.awaitGo();
        while (!control.isStopped()) {
            append(history, Kind.WAITING, null, 0);
            if (lock == null) {
                turn(history, counter, null);
            } else {
                guardedTurn(history, counter, lock);
            }
            // Gives other processes their turn.
            Thread.sleep(pause.toMillis());
        }
    }

    private void guardedTurn(HistoryFile history, CounterFile counter, DistributedLock lock)
            throws IOException, InterruptedException {
        CompletableFuture<Lease> asked = lock.acquireAsync();
        CompletableFuture<Void> onStop = control.stopped().thenRun(() -> asked.cancel(false));
        try (Lease lease = asked.join()) {
            turn(history, counter, lease);
        } catch (CancellationException stopped) {
            return;
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        } finally {
            onStop.cancel(false);
        }
    }

    private void turn(HistoryFile history, CounterFile counter, @Nullable Lease lease)
            throws IOException, InterruptedException {
        append(history, Kind.ACQUIRED, lease, 0);
        try {
            for (int i = 0; i < increments || control.isKeeping(); i++) {
                long value = counter.read() + 1;
                Thread.sleep(pause.toMillis());
                if (lease != null) {
                    lease.ensureValidFor(pause);
                }
                append(history, Kind.WRITING, lease, value);
                counter.write(value);
                append(history, Kind.INCREMENTED, lease, value);
            }
            append(history, Kind.RELEASED, lease, 0);
        } catch (LeaseLostException | LeaseAtRiskException e) {
            append(history, Kind.LOST, lease, 0);
        }
    }

    /** The time is read first, so that it never overstates the validity. */
    private static void append(HistoryFile history, Kind kind, @Nullable Lease lease, long counter) throws IOException {
        long atNanos = System.nanoTime();
        if (lease == null) {
            history.append(atNanos, kind, 0, atNanos, counter);
        } else {
            long validUntilNanos = atNanos + lease.remainingValidity().toNanos();
            history.append(atNanos, kind, lease.fencingToken(), validUntilNanos, counter);
        }
    }
}
