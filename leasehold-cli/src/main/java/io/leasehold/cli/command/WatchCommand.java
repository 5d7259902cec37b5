package io.leasehold.cli.command;

import io.leasehold.Durations;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.SafeText;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold watch}: polls and shows the held locks until the user quits. */
@Command(
        name = "watch",
        header = "Shows the holders of all locks, live.",
        description = {
            "On a terminal it repaints the screen, and q quits; elsewhere it prints one line",
            "for each change. If the store cannot be reached, it says so and continues."
        })
public final class WatchCommand implements Callable<Integer> {

    private static final Duration MIN_INTERVAL = Duration.ofMillis(100);
    private static final int LARGEST_PORT = 65_535;

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", arity = "0..1", paramLabel = "GLOB", description = ListCommand.GLOB)
    private String glob = "*";

    @Option(
            names = "--interval",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "The time between two polls (2s).")
    private Duration interval = Duration.ofSeconds(2);

    @Option(names = "--limit", paramLabel = "N", description = "Shows at most N locks (1000).")
    private int limit = 1000;

    @Option(names = "--count", paramLabel = "N", description = "Ends after N polls.")
    private long count = Long.MAX_VALUE;

    @Option(
            names = "--metrics",
            paramLabel = "PORT",
            description = "Serves metrics at 127.0.0.1:PORT/metrics, and looks for leaks every minute.")
    private @Nullable Integer metricsPort;

    @Option(names = "--json", description = "Writes one line of JSON for each change.")
    private boolean json;

    /** A command of this invocation. */
    public WatchCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() throws InterruptedException {
        if (limit < 1 || count < 1 || interval.compareTo(MIN_INTERVAL) < 0) {
            throw new IllegalArgumentException(
                    "--limit and --count must be at least 1, --interval at least " + Durations.text(MIN_INTERVAL));
        }
        try (LockClient locks = StoreAccess.openExisting(invocation, store);
                MetricsEndpoint endpoint =
                        metricsPort == null ? null : MetricsEndpoint.ofStore(checkedPort(metricsPort));
                WatchView view = WatchView.of(json, invocation)) {
            if (endpoint != null) {
                view.remark(endpoint.address());
            }
            for (long poll = 1; poll < count; poll++) {
                poll(locks, view, endpoint);
                if (view.awaitQuit(interval)) {
                    return ExitCode.OK.code();
                }
            }
            poll(locks, view, endpoint);
            view.leaveLast();
            return ExitCode.OK.code();
        }
    }

    static int checkedPort(int port) {
        if (port < 0 || port > LARGEST_PORT) {
            throw new IllegalArgumentException("--metrics is " + port + "; a port is 0 … " + LARGEST_PORT);
        }
        return port;
    }

    private void poll(LockClient locks, WatchView view, @Nullable MetricsEndpoint endpoint) {
        try {
            Listing listing = Listing.of(locks.admin(), glob, limit);
            List<HeldLock> held = listing.held();
            view.show(locks, listing);
            if (endpoint != null) {
                endpoint.storeAnswered(held.size());
                endpoint.lookForLeaksSometimes(locks, line -> view.remark(WatchView.now() + "  " + line));
            }
        } catch (StoreUnavailableException e) {
            if (endpoint != null) {
                endpoint.storeFailed();
            }
            view.storeIsDown(SafeText.line(String.valueOf(e.getMessage())));
        } catch (LockStoreException e) {
            if (endpoint != null) {
                endpoint.storeFailed();
            }
            throw e;
        }
    }
}
